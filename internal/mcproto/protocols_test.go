// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestEmbeddedTableCoversTheSupportedVersions(t *testing.T) {
	table, err := DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	want := []int32{766, 767, 768, 769, 770, 771, 772, 773, 774, 775, 776, 777}
	if got := table.Numbers(); !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	if table.Oldest().Number != 766 || table.Newest().Number != 777 {
		t.Fatalf("from %d to %d", table.Oldest().Number, table.Newest().Number)
	}
}

// The ids here are written down from the change notes of the versions, apart
// from the data the table was made of.
func TestEmbeddedTableHasTheKnownIDs(t *testing.T) {
	table, err := DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int32][14]int32{
		766: {0x69, 0x1d, 0x11, 0x6c, 0x10, 0x19, 0x26, 0x73, 0x2b, 0x0c, 0x04, 0x12, 0x18, 0x0a},
		768: {0x70, 0x1d, 0x11, 0x73, 0x10, 0x19, 0x27, 0x7a, 0x2c, 0x0e, 0x05, 0x14, 0x1a, 0x0c},
		769: {0x70, 0x1d, 0x11, 0x73, 0x10, 0x19, 0x27, 0x7a, 0x2c, 0x0e, 0x05, 0x14, 0x1a, 0x0c},
		770: {0x6f, 0x1c, 0x10, 0x72, 0x0f, 0x18, 0x26, 0x7a, 0x2b, 0x0e, 0x05, 0x14, 0x1a, 0x0c},
		772: {0x6f, 0x1c, 0x10, 0x72, 0x0f, 0x18, 0x26, 0x7a, 0x2b, 0x0f, 0x06, 0x15, 0x1b, 0x0d},
		774: {0x74, 0x20, 0x10, 0x77, 0x0f, 0x18, 0x2b, 0x7f, 0x30, 0x0f, 0x06, 0x15, 0x1b, 0x0d},
		775: {0x76, 0x20, 0x10, 0x79, 0x0f, 0x18, 0x2c, 0x81, 0x31, 0x10, 0x07, 0x16, 0x1c, 0x0e},
		776: {0x76, 0x20, 0x10, 0x79, 0x0f, 0x18, 0x2c, 0x81, 0x31, 0x10, 0x07, 0x16, 0x1c, 0x0e},
		777: {0x78, 0x20, 0x10, 0x7c, 0x0f, 0x18, 0x2d, 0x84, 0x32, 0x10, 0x07, 0x16, 0x1c, 0x0e},
	} {
		p, _ := table.Lookup(number)
		got := [14]int32{
			p.PlayClient.StartConfiguration, p.PlayClient.Disconnect, p.PlayClient.Commands, p.PlayClient.SystemChat,
			p.PlayClient.Suggestions, p.PlayClient.PluginMessage, p.PlayClient.KeepAlive, p.PlayClient.Transfer, p.PlayClient.Login,
			p.PlayServer.ConfigurationAck, p.PlayServer.ChatCommand, p.PlayServer.PluginMessage, p.PlayServer.KeepAlive,
			p.PlayServer.ClientInformation,
		}
		if got != want {
			t.Errorf("%d: got %#x, want %#x", number, got, want)
		}
	}
	newest, _ := table.Lookup(777)
	if c := newest.ConfigClient; c.Transfer != 0x0c || c.KnownPacks != 0x0f || c.RegistryData != 0x07 || c.StoreCookie != 0x0b {
		t.Errorf("777 in configuration: %+v", c)
	}
	oldest, _ := table.Lookup(766)
	if oldest.ConfigClient.ShowDialog != Absent || oldest.PlayServer.CustomClick != Absent {
		t.Errorf("766 has packets of later versions: %+v", oldest)
	}
}

// The tests of peers compare rows of this source with published data; nobody
// else has checked the others.
func TestTheFirstPageSaysWhichVersionsNobodyElseHasChecked(t *testing.T) {
	table, err := DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	oldest, published := table.Oldest(), table.Oldest()
	for _, number := range table.Numbers() {
		row, _ := table.Lookup(number)
		if strings.HasPrefix(row.Source, "minecraft-data ") {
			published = row
			continue
		}
		want := fmt.Sprintf("| %s (protocol %d) | no: nothing is published |", strings.Join(row.Versions, ", "), number)
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md has no row %q", want)
		}
	}
	last := published.Versions[len(published.Versions)-1]
	for _, want := range []string{
		fmt.Sprintf("clients from **%s** on", oldest.Versions[0]),
		fmt.Sprintf("| %s to %s (protocols %d to %d) | yes: `minecraft-data` |", oldest.Versions[0], last, oldest.Number, published.Number),
	} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}

func TestRowOfAConfigurationWinsOverTheEmbeddedOne(t *testing.T) {
	table, err := DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Replace(string(embeddedProtocols), `"protocol": 777`, `"protocol": 778`, 1)
	rows = strings.Replace(rows, `"keep_alive": "0x2d"`, `"keep_alive": "0x2f"`, 1)
	extra, err := ParseProtocols([]byte(rows))
	if err != nil {
		t.Fatal(err)
	}
	both := table.With(extra)
	p, ok := both.Lookup(778)
	if !ok || p.PlayClient.KeepAlive != 0x2f {
		t.Fatalf("778: %+v", p)
	}
	if _, ok := both.Lookup(777); !ok {
		t.Fatal("777 is gone")
	}
	if _, ok := table.Lookup(778); ok {
		t.Fatal("the first table was changed")
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"a packet is missing":       {`"cookie_request": "0x16", `, ``, "the id of cookie_request is missing"},
		"a packet is unknown":       {`"bundle": "0x00"`, `"bundle": "0x00", "bungle": "0x91"`, "packet bungle is unknown"},
		"an id is given twice":      {`"keep_alive": "0x2c"`, `"keep_alive": "0x00"`, "have the same id"},
		"an id is no number":        {`"keep_alive": "0x2c"`, `"keep_alive": "forty"`, "the id of keep_alive"},
		"nobody knows where from":   {`"source": "minecraft-data 3.119.0",`, ``, "source is missing"},
		"a row is there twice":      {`"protocol": 767`, `"protocol": 766`, "protocol 766 is listed twice"},
		"a snapshot":                {`"protocol": 767`, `"protocol": 1073741900`, "a released protocol number"},
		"the end of Success is new": {`"sessionID"`, `"surprise"`, `loginSuccess "surprise" is unknown`},
		"no JSON":                   {`[`, `{`, "read the protocol table"},
	} {
		t.Run(name, func(t *testing.T) {
			data := strings.Replace(string(embeddedProtocols), tc.from, tc.to, 1)
			if _, err := ParseProtocols([]byte(data)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func FuzzParseProtocols(f *testing.F) {
	f.Add(embeddedProtocols)
	f.Add([]byte(`[{"protocol":1,"versions":["x"],"source":"y","loginSuccess":"plain"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if table, err := ParseProtocols(data); err == nil && len(table.rows) > 0 && table.Newest() == nil {
			t.Fatal("a table with rows has no newest")
		}
	})
}
