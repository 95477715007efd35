// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// playing is a Ready server of the hub with players.
func playing(name string, players int, edits ...func(*fleet.Server)) fleet.Server {
	s := fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerReady, Pod: fleet.PodSeen,
		Seats:     fleet.Seats{Slots: 50, Playable: 50},
		Presence:  fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(players, now)},
		Clocks:    fleet.Clocks{ReadySince: now.Add(-time.Hour)},
		CreatedAt: now.Add(-time.Hour),
	}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func departs(s *fleet.Server) { s.Node = fleet.NodeDeparting }

func toldToLeave(s *fleet.Server) {
	s.Retire, s.Phase, s.Registration = v1alpha1.RetireNodeDraining, v1alpha1.ServerRetiring, fleet.Deregistered
}

// drained is a hub whose servers are these, and that has had servers before.
func drained(servers ...fleet.Server) Input {
	in := of(ephemeral())
	in.Servers = servers
	in.Group.Status.FirstRegisteredAt = new(metav1.NewTime(now.Add(-time.Hour)))
	return in
}

func TestServersOnDepartingNodesAreReplacedAndThenGo(t *testing.T) {
	in := drained(playing("a", 5, departs), playing("b", 0, departs))
	got := Decide(in)
	if len(got.Create) != 2 {
		t.Errorf("creates %d in place of two, want 2", len(got.Create))
	}
	if diff := cmp.Diff([]Removal{{"b", "b is empty, on a node that leaves"}}, got.Remove); diff != "" {
		t.Errorf("removals (-want +got):\n%s", diff)
	}
	if got.NodeWait != "a waits for ready servers on other nodes: 0 of 2" || len(got.Retire) > 0 {
		t.Errorf("waits %q, retires %v", got.NodeWait, got.Retire)
	}
	got = Decide(drained(playing("a", 5, departs), playing("c", 0), playing("d", 0)))
	if len(got.Remove) != 1 || got.Remove[0].Name != "a" || got.NodeWait != "" || len(got.Create) > 0 {
		t.Errorf("plan %+v, want a to go and nothing else", got)
	}
}

// The players who are moved find the seats that are kept free for others still
// free when they have arrived.
func TestSeatsAreOrderedForWhoIsMoved(t *testing.T) {
	in := drained(playing("a", 30, departs), playing("c", 10), playing("d", 40))
	got := Decide(in)
	if len(got.Create) != 1 {
		t.Errorf("creates %d, want 1: 50 seats are free, 30 are kept and 30 needed", len(got.Create))
	}
	if want := "provisional 50, spare 30, waiting 0, to move 30, wanted 1,"; !strings.HasPrefix(got.Note, want) {
		t.Errorf("the note is %q, want %q: nobody waits", got.Note, want)
	}
	in.Servers[0] = playing("a", 20, departs)
	if got := Decide(in); len(got.Create) != 0 {
		t.Errorf("creates %d, want none: 50 seats are free, 30 are kept and 20 needed", len(got.Create))
	}
}

func TestAServerThatIsTakenBackIsNotReplaced(t *testing.T) {
	got := Decide(drained(playing("a", 5, toldToLeave), playing("b", 5)))
	if len(got.Withdraw) != 1 || got.Withdraw[0].Name != "a" || len(got.Create) > 0 || len(got.Remove) > 0 {
		t.Errorf("plan %+v, want a to be taken back and nothing else", got)
	}
}

func TestAServerThatAPinGivesBackLeavesItsNodeAllTheSame(t *testing.T) {
	pinned := func(s *fleet.Server) { s.Retire, s.Phase = v1alpha1.RetirePin, v1alpha1.ServerRetiring }
	got := Decide(drained(playing("a", 5, pinned, departs), playing("c", 0), playing("d", 0)))
	if len(got.Remove) != 1 || got.Remove[0].Name != "a" || len(got.Withdraw) > 0 {
		t.Errorf("plan %+v, want a to go and nobody to be taken back", got)
	}
}
