// SPDX-License-Identifier: Apache-2.0

package players

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/msmp"
	"github.com/spawnery/spawnery-operator/internal/seats"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

var (
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	alice = msmp.Player{ID: uuid.MustParse("aaaaaaaa-0000-0000-0000-000000000000"), Name: "Alice"}
	bob   = msmp.Player{ID: uuid.MustParse("bbbbbbbb-0000-0000-0000-000000000000"), Name: "Bob"}
)

// at is a moment some seconds after noon.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func started(players ...msmp.Player) msmp.Status {
	return msmp.Status{Started: true, Players: players, Version: msmp.Version{Protocol: 775}}
}

func joined(p msmp.Player) msmp.Notification {
	return msmp.Notification{Event: msmp.EventJoined, Player: p}
}

func left(p msmp.Player) msmp.Notification {
	return msmp.Notification{Event: msmp.EventLeft, Player: p}
}

func unreachable(t *tracker)  { t.managementRefused(managementUnreachable) }
func unauthorized(t *tracker) { t.managementRefused(managementUnauthorized) }

// connected is a tracker with a management connection and one answer.
func connected(players ...msmp.Player) *tracker {
	t := &tracker{port: 25565}
	t.managementOpened()
	t.asking()
	t.answered(at(0), started(players...))
	return t
}

func TestWhatTheGameShows(t *testing.T) {
	tests := map[string]struct {
		steps  []func(*tracker)
		after  int
		want   Presence
		detail string
	}{
		"nothing was tried":     {nil, 0, Absent, "nothing listens on port 25565 yet"},
		"nothing listens":       {[]func(*tracker){unreachable, (*tracker).refused}, 0, Absent, "nothing listens"},
		"a port that is silent": {[]func(*tracker){unreachable, (*tracker).unanswered}, 0, Loading, "the game is loading"},
		"the world is loading": {
			[]func(*tracker){(*tracker).managementOpened, func(t *tracker) { t.answered(at(0), msmp.Status{}) }},
			0, Loading, "the game is loading",
		},
		"a status that says started": {
			[]func(*tracker){(*tracker).managementOpened, func(t *tracker) { t.answered(at(0), started()) }},
			10, Answering, "",
		},
		"a status that has grown old": {
			[]func(*tracker){(*tracker).managementOpened, func(t *tracker) { t.answered(at(0), started()) }},
			11, Silent, "the game has not answered since 12:00:00 UTC",
		},
		"a ping": {
			[]func(*tracker){unreachable, func(t *tracker) { t.pinged(at(0), slp.Status{}) }},
			10, Answering, "",
		},
		"a ping that has grown old": {
			[]func(*tracker){unreachable, func(t *tracker) { t.pinged(at(0), slp.Status{}) }, (*tracker).unanswered},
			11, Silent, "has not answered since",
		},
		"a ping because the secret is wrong": {
			[]func(*tracker){unauthorized, func(t *tracker) { t.pinged(at(0), slp.Status{}) }},
			0, Answering, "management-server-secret in server.properties",
		},
		"a goodbye": {
			[]func(*tracker){
				(*tracker).managementOpened,
				func(t *tracker) { t.answered(at(0), started()) },
				func(t *tracker) { t.notified(at(1), msmp.Notification{Event: msmp.EventStopping}) },
				func(t *tracker) { t.answered(at(2), started()) },
			},
			2, Stopping, "the game is stopping",
		},
		"an end": {
			[]func(*tracker){
				(*tracker).managementOpened,
				func(t *tracker) { t.answered(at(0), started()) },
				(*tracker).managementLost, unreachable, (*tracker).refused,
			},
			1, Absent, "nothing listens",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tracked := &tracker{port: 25565}
			for _, step := range test.steps {
				step(tracked)
			}
			got := tracked.observe(at(test.after))
			if got.Presence != test.want || !strings.Contains(got.Detail, test.detail) {
				t.Errorf("presence %d, %q, want %d, %q", got.Presence, got.Detail, test.want, test.detail)
			}
		})
	}
}

func TestPingsCountOnlyWhileTheManagementProtocolIsNotThere(t *testing.T) {
	tests := map[string]struct {
		steps []func(*tracker)
		want  bool
	}{
		"before it was tried":   {nil, false},
		"unreachable":           {[]func(*tracker){unreachable}, true},
		"unauthorized":          {[]func(*tracker){unauthorized}, true},
		"connected":             {[]func(*tracker){unreachable, (*tracker).managementOpened}, false},
		"silent from the start": {[]func(*tracker){(*tracker).managementTimedOut}, true},
		"silent after it worked": {[]func(*tracker){
			(*tracker).managementOpened, func(t *tracker) { t.answered(at(0), started()) },
			(*tracker).managementLost, (*tracker).managementTimedOut,
		}, false},
		"lost, which may be hung": {[]func(*tracker){(*tracker).managementOpened, (*tracker).managementLost}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tracked := &tracker{}
			for _, step := range test.steps {
				step(tracked)
			}
			if got := tracked.mayPing(); got != test.want {
				t.Errorf("mayPing() = %t, want %t", got, test.want)
			}
		})
	}
}

func names(o Observation) []string {
	var list []string
	for _, p := range o.Sample.Players {
		list = append(list, p.Name)
	}
	return list
}

func TestNotificationsKeepTheRosterBetweenTwoAnswers(t *testing.T) {
	tracked := connected(alice)
	tracked.notified(at(2), joined(bob))
	got := tracked.observe(at(2))
	if diff := cmp.Diff([]string{"Alice", "Bob"}, names(got)); diff != "" || !got.Sample.At.Equal(at(2)) {
		t.Errorf("roster at %s (-want +got):\n%s", got.Sample.At, diff)
	}
	tracked.notified(at(3), left(alice))
	if diff := cmp.Diff([]string{"Bob"}, names(tracked.observe(at(3)))); diff != "" {
		t.Errorf("roster (-want +got):\n%s", diff)
	}
}

func TestAnAnswerDoesNotUndoWhatWasSaidAfterItsQuestion(t *testing.T) {
	tracked := connected(alice)
	tracked.asking()
	tracked.notified(at(6), joined(bob))
	tracked.notified(at(6), left(alice))
	// The game put this together before either happened.
	tracked.answered(at(5), started(alice))
	if diff := cmp.Diff([]string{"Bob"}, names(tracked.observe(at(6)))); diff != "" {
		t.Errorf("roster (-want +got):\n%s", diff)
	}
	tracked.asking()
	tracked.answered(at(10), started(alice))
	if diff := cmp.Diff([]string{"Alice"}, names(tracked.observe(at(10)))); diff != "" {
		t.Errorf("the next answer holds (-want +got):\n%s", diff)
	}
}

func TestANotificationBeforeTheFirstAnswerCountsNobody(t *testing.T) {
	tracked := &tracker{}
	tracked.managementOpened()
	tracked.asking()
	tracked.notified(at(0), joined(bob))
	if got := tracked.observe(at(0)); got.Counted {
		t.Errorf("counted %+v, want unknown", got.Sample)
	}
	tracked.answered(at(0), started(alice))
	if diff := cmp.Diff([]string{"Alice", "Bob"}, names(tracked.observe(at(0)))); diff != "" {
		t.Errorf("roster (-want +got):\n%s", diff)
	}
}

func TestASilenceIsTheEndOfKnowingAndNotOfPlayers(t *testing.T) {
	tracked := connected(alice)
	tracked.managementLost()
	got := tracked.observe(at(11))
	if got.Presence != Silent || !got.Counted || got.Sample.Online != 1 || !got.Sample.At.Equal(at(0)) {
		t.Errorf("observed %+v, want the old sample with its time", got)
	}
}

func TestARunEndsWhenTheGameGoes(t *testing.T) {
	gone := func(t *tracker) {
		t.managementLost()
		unreachable(t)
		t.refused()
	}
	tests := map[string]struct {
		steps   func(*tracker)
		run     int
		renewed bool
	}{
		"it stays":                    {func(*tracker) {}, 0, false},
		"its connection is made anew": {func(t *tracker) { t.managementLost(); t.managementOpened() }, 0, true},
		"it goes":                     {gone, 1, false},
		"it goes and stays away":      {func(t *tracker) { gone(t); t.refused(); t.refused() }, 1, false},
		"it goes and comes back":      {func(t *tracker) { gone(t); t.managementOpened() }, 1, true},
		"it stops, and the end was unseen": {func(t *tracker) {
			t.notified(at(1), msmp.Notification{Event: msmp.EventStopping})
			t.managementOpened()
		}, 1, true},
		"it stops and answers pings after": {
			func(t *tracker) {
				t.notified(at(1), msmp.Notification{Event: msmp.EventStopping})
				unreachable(t)
				t.pinged(at(2), slp.Status{})
			}, 1, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tracked := connected(alice)
			before := tracked.observe(at(0))
			test.steps(tracked)
			got := tracked.observe(at(2))
			if got.Run != test.run || got.Contact > before.Contact != test.renewed {
				t.Errorf("run %d, contact %d after %d, want run %d, renewed %t", got.Run, got.Contact, before.Contact, test.run, test.renewed)
			}
		})
	}
}

func TestAPingNamesThoseItKnows(t *testing.T) {
	tracked := &tracker{}
	unreachable(tracked)
	tracked.pinged(at(0), slp.Status{Online: 3, Protocol: 763, Sample: []slp.Player{
		{ID: alice.ID.String(), Name: "Alice"},
		{ID: uuid.Nil.String(), Name: "Anonymous Player"},
		{ID: "hello", Name: "§aWelcome"},
	}})
	got := tracked.observe(at(0))
	want := []seats.Player{{UUID: alice.ID, Name: "Alice"}}
	if diff := cmp.Diff(want, got.Sample.Players); diff != "" || got.Sample.Online != 3 || got.Protocol != 763 {
		t.Errorf("observed %+v (-want +got):\n%s", got, diff)
	}
}

// A game that is paused because nobody is on it goes on answering the same.
func TestAnAnswerThatSaysTheSameIsANewSample(t *testing.T) {
	pinged := &tracker{port: 25565}
	unreachable(pinged)
	for source, answer := range map[string]func(seconds int) Observation{
		"the management protocol": func(seconds int) Observation {
			t := connected()
			t.asking()
			t.answered(at(seconds), started())
			return t.observe(at(seconds))
		},
		"pings": func(seconds int) Observation {
			pinged.pinged(at(seconds), slp.Status{})
			return pinged.observe(at(seconds))
		},
	} {
		for _, seconds := range []int{5, 600} {
			if got := answer(seconds); !got.Counted || !got.Sample.At.Equal(at(seconds)) || got.Presence != Answering {
				t.Errorf("%s: after %d s of the same answer %+v", source, seconds, got)
			}
		}
	}
}

func TestWhatAPluginSaysCountsInPlaceOfPings(t *testing.T) {
	push := func(seconds, online int) func(*tracker) {
		return func(t *tracker) { t.pushed(ledger.Sample{At: at(seconds), Online: online}) }
	}
	ping := func(seconds, online int) func(*tracker) {
		return func(t *tracker) { t.pinged(at(seconds), slp.Status{Online: online}) }
	}
	tests := map[string]struct {
		steps      []func(*tracker)
		wantOnline int
		wantAt     int
		want       Presence
	}{
		"at once":                      {[]func(*tracker){unreachable, ping(0, 9), push(1, 3)}, 3, 1, Answering},
		"over a later ping":            {[]func(*tracker){unreachable, ping(0, 9), push(1, 3), ping(11, 9)}, 3, 1, Answering},
		"for ten seconds":              {[]func(*tracker){unreachable, ping(0, 9), push(1, 3), ping(12, 9)}, 9, 12, Answering},
		"but not for readiness":        {[]func(*tracker){unreachable, push(1, 3)}, 0, 0, Absent},
		"and not in the next run":      {[]func(*tracker){unreachable, ping(0, 9), push(1, 3), (*tracker).refused, ping(3, 0)}, 0, 3, Answering},
		"and not beside the protocol":  {[]func(*tracker){func(t *tracker) { *t = *connected() }, push(1, 3)}, 0, 0, Answering},
		"said before the first answer": {[]func(*tracker){unreachable, push(1, 3), ping(2, 9)}, 3, 1, Answering},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tracked := &tracker{}
			for _, step := range test.steps {
				step(tracked)
			}
			got := tracked.observe(at(test.wantAt))
			if got.Sample.Online != test.wantOnline || got.Presence != test.want || got.Counted && !got.Sample.At.Equal(at(test.wantAt)) {
				t.Errorf("observed %+v", got)
			}
		})
	}
}
