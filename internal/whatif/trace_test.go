// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(hour, minute int) time.Time {
	return friday.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

func TestATraceIsReadHoweverItsTimesAreWritten(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want Trace
	}{
		"clock past midnight": {"time,players\n23:30,4\n00:30,5\n", Trace{Counts: []Count{{at(23, 30), 4}, {at(24, 30), 5}}}},
		"clock with seconds":  {"time,players\n10:00:30,4\n10:01:00,5\n", Trace{Counts: []Count{{at(10, 0).Add(30 * time.Second), 4}, {at(10, 1), 5}}}},
		"date and clock":      {"time,players\n2026-09-18 10:00,4\n2026-09-18 11:00,5\n", Trace{Counts: []Count{{at(10, 0), 4}, {at(11, 0), 5}}}},
		"RFC 3339":            {"time,players\n2026-09-18T10:00:00Z,4\n2026-09-18T11:00:00Z,5\n", Trace{Counts: []Count{{at(10, 0), 4}, {at(11, 0), 5}}}},
		"seconds":             {"time,players\n0,4\n60,5\n", Trace{Counts: []Count{{at(0, 0), 4}, {at(0, 1), 5}}}},
		"Unix time":           {"time,players\n1789718400,4\n1789718460,5\n", Trace{Counts: []Count{{at(8, 0), 4}, {at(8, 1), 5}}}},
		"comings and goings": {
			"time,joins,leaves\n10:00,5,0\n10:05,2,7\n",
			Trace{Flows: []Flow{{at(10, 0), 5, 0}, {at(10, 5), 2, 7}}},
		},
		"comments, blanks and a mark of byte order": {"\ufeffTime, Players\n# an evening\n\n10:00, 4\n11:00, 5\n", Trace{Counts: []Count{{at(10, 0), 4}, {at(11, 0), 5}}}},
	} {
		t.Run(name, func(t *testing.T) {
			trace, err := ReadTrace("evening.csv", strings.NewReader(row.text))
			if err != nil {
				t.Fatal(err)
			}
			row.want.Name = "trace evening.csv"
			if diff := cmp.Diff(&row.want, trace); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestABadTraceIsRefusedWithItsLine(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"empty":             {"", "evening.csv: the trace is empty"},
		"no header":         {"10:00,4\n", `evening.csv:1: the first line is "10:00,4"; it must be time,players or time,joins,leaves`},
		"header alone":      {"time,players\n", "evening.csv: a trace needs two lines with times at least"},
		"one line":          {"time,players\n10:00,4\n", "evening.csv: a trace needs two lines with times at least"},
		"no number":         {"time,players\n10:00,4\n10:05,many\n", `evening.csv:3: "many" is no whole number from 0 to 20000`},
		"negative":          {"time,players\n10:00,-1\n", `evening.csv:2: "-1" is no whole number from 0 to 20000`},
		"half a player":     {"time,players\n10:00,1.5\n", `evening.csv:2: "1.5" is no whole number from 0 to 20000`},
		"no time":           {"time,players\nnoon,4\n", `evening.csv:2: "noon" is no time: write 2026-09-18T17:00:00Z, 2026-09-18 17:00, 17:00 or seconds`},
		"another time":      {"time,players\n10:00,4\n2026-09-18 11:00,5\n", `evening.csv:3: "2026-09-18 11:00" is no time like those before, which are written 15:04`},
		"not seconds":       {"time,players\n0,4\n10:00,5\n", `evening.csv:3: "10:00" is no number of seconds like those before`},
		"backwards":         {"time,players\n2026-09-18 10:00,4\n2026-09-18 09:00,4\n", "evening.csv:3: time 2026-09-18 09:00 is not after the line before"},
		"the same time":     {"time,players\n10:00,4\n10:00,4\n", "evening.csv:3: time 10:00 is not after the line before"},
		"too long":          {"time,players\n2026-09-18 10:00,4\n2027-09-18 09:00,4\n", "evening.csv:3: time 2027-09-18 09:00 is more than 31 days after the first"},
		"a field too many":  {"time,players\n10:00,4,5\n", "evening.csv:2: wrong number of fields"},
		"a quote":           {"time,players\n10:00,\"4\n", `evening.csv:2: extraneous or missing " in quoted-field`},
		"who was not there": {"time,joins,leaves\n10:00,2,0\n10:05,0,3\n", "evening.csv:3: 3 leave, but only 2 are online"},
		"too many":          {"time,joins,leaves\n10:00,20000,0\n10:05,1,0\n", "evening.csv:3: 20001 are online now; 20000 are the most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTrace("evening.csv", strings.NewReader(row.text))
			if err == nil || err.Error() != row.want {
				t.Errorf("%v\nwant %s", err, row.want)
			}
		})
	}
}

func FuzzReadTrace(f *testing.F) {
	for _, text := range []string{
		"time,players\n23:30,4\n00:30,5\n", "time,joins,leaves\n0,5,0\n60.5,2,7\n", "time,players\n1789718400,4\n1789718460,5\n",
		"time,players\n2026-09-18T10:00:00+02:00,4\n2026-09-18T10:00:00Z,5\n", "time,players\n1e300,1\n", "\"\n", "time,players\n0001-01-01 00:00,1\n9999-01-01 00:00,1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ReadTrace("evening.csv", strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "evening.csv:") {
				t.Errorf("%q does not name the file", err)
			}
			return
		}
		from, to := trace.span()
		if !to.After(from) || to.Sub(from) > longest+time.Hour {
			t.Errorf("from %s to %s", from, to)
		}
		for i := range trace.Counts[min(1, len(trace.Counts)):] {
			if !trace.Counts[i+1].At.After(trace.Counts[i].At) {
				t.Errorf("line %d does not go forward", i+2)
			}
		}
	})
}
