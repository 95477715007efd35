// SPDX-License-Identifier: Apache-2.0

package ordinals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/ordinals"
)

func old(s *fleet.Server) { s.Spec = fleet.SpecOld }

func resized(s *fleet.Server) { s.Resize = fleet.ResizePending }

// nameless waits for a pod that has its name.
func nameless(s *fleet.Server) {
	s.Phase, s.Pod, s.ReadySince = v1alpha1.ServerPending, fleet.PodNameHeld, time.Time{}
}

func failedLongAgo(s *fleet.Server) {
	s.Phase, s.FailedAt = v1alpha1.ServerFailed, now.Add(-time.Minute)
}

func oldOnes(o ...int) []fleet.Server {
	servers := ready(o...)
	for i := range servers {
		servers[i].Spec = fleet.SpecOld
	}
	return servers
}

func unmakeable(in *ordinals.Input) { in.Unmakeable = "a mount is invalid" }

func TestARequiredOrdinalGoesOnlyToComeBack(t *testing.T) {
	soon := now.Add(40 * time.Second)
	type want struct{ takeDown, reason, note string }
	updates := func(name string) want { return want{name, "RollingOut", name + " is taken down"} }
	resizes := func(name string) want { return want{name, "StorageResized", ""} }
	waits := func(note string) want { return want{note: note} }
	twin := server(1, v1alpha1.ServerPending)
	twin.Name = "survival-by-hand"
	tests := map[string]struct {
		in   ordinals.Input
		want want
	}{
		"the highest of an old spec":                    {group(3, oldOnes(0, 1, 2)), updates("survival-2")},
		"one that is current is left alone":             {group(3, with(oldOnes(0, 1, 2), 2, func(s *fleet.Server) { s.Spec = fleet.SpecCurrent })), updates("survival-1")},
		"a surplus before it":                           {group(2, oldOnes(0, 1, 2)), want{"survival-2", "SurplusOrdinal", "survival-1 waits for survival-2, which is taken down"}},
		"one whose node leaves before it":               {group(2, with(oldOnes(0, 1), 0, departs, in(v1alpha1.ServerReady))), want{"survival-0", "NodeDraining", "survival-1 waits for survival-0, which is taken down"}},
		"not while another starts":                      {group(2, with(oldOnes(0, 1), 0, in(v1alpha1.ServerStarting))), waits("survival-1 waits: survival-0 has to be Ready first")},
		"not while one of the new spec starts":          {group(2, with(with(oldOnes(0, 1), 1, in(v1alpha1.ServerStarting)), 1, func(s *fleet.Server) { s.Spec = fleet.SpecCurrent })), waits("survival-0 waits: survival-1 has to be Ready first")},
		"not while another drains":                      {group(2, with(oldOnes(0, 1), 0, in(v1alpha1.ServerDraining))), waits("survival-1 waits: survival-0 is on its way out")},
		"not while another retires":                     {group(2, with(oldOnes(0, 1), 0, func(s *fleet.Server) { s.Retire = v1alpha1.RetireRequested })), waits("survival-1 waits: survival-0 is on its way out")},
		"not while a delete is not seen":                {group(2, oldOnes(0, 1), expecting(ordinals.Expected{Deletes: []string{"survival-0"}})), waits("survival-1 waits: survival-0 is on its way out")},
		"not while an ordinal is missing":               {group(3, oldOnes(0, 1)), waits("survival-1 waits: ordinal 2 has no server yet")},
		"not while a create is not seen":                {group(3, oldOnes(0, 1), expecting(ordinals.Expected{Creates: []int{2}})), waits("survival-1 waits: ordinal 2 has no server yet")},
		"a failed one of the old spec is passed":        {group(2, with(oldOnes(0, 1), 1, failedLongAgo)), updates("survival-0")},
		"and so is one that waits for its name":         {group(2, with(oldOnes(0, 1), 1, nameless)), updates("survival-0")},
		"and one that waits for its claim, of any spec": {group(2, with(with(oldOnes(0, 1), 1, worldless), 1, func(s *fleet.Server) { s.Spec = fleet.SpecCurrent })), updates("survival-0")},
		"both at once":                                  {group(3, with(with(oldOnes(0, 1, 2), 1, nameless), 2, failedLongAgo)), updates("survival-0")},
		"a failed one of the new spec stops it": {group(2, with(with(oldOnes(0, 1), 1, failedLongAgo), 1, func(s *fleet.Server) { s.Spec = fleet.SpecCurrent })), waits(
			"survival-0 waits: survival-1, which is of the group's spec, failed at 2026-09-18T19:59:00Z. Mend the spec or put the old one back; a Server that you delete is made of the group's spec all the same")},
		"one of the new spec that waits for its name, too": {group(2, with(with(oldOnes(0, 1), 1, nameless), 1, func(s *fleet.Server) { s.Spec = fleet.SpecCurrent })), waits("survival-0 waits: survival-1 has to be Ready first")},
		"a failed one is not taken down for it":            {group(1, with(oldOnes(0), 0, failedLongAgo)), waits("those left are of an old spec and do not serve; they are of the new one when they are made again")},
		"a duplicate is not, either":                       {group(2, append(oldOnes(0, 1), twin)), updates("survival-0")},
		"not before a back-off window ends":                {group(2, oldOnes(0, 1), gate(fleet.WaitUntil(soon))), waits("survival-1 waits: starts have failed, and nothing is made before 2026-09-18T20:00:40Z")},
		"not in a group that gave up":                      {group(2, oldOnes(0, 1), gate(fleet.GivenUp())), waits("survival-1 waits: too many starts have failed, and nothing is made until the group is edited or told to retry")},
		"not while it could not be made again":             {group(2, oldOnes(0, 1), unmakeable), waits("survival-1 waits: a mount is invalid")},

		"not while its claim is being deleted": {group(1, with(oldOnes(0), 0, endsWithItsPod)), waits(
			"survival-0 stays as it is: its claim is being deleted, and its world is there only as long as its pod")},
		"the others go on beside it": {group(2, with(oldOnes(0, 1), 1, endsWithItsPod)), updates("survival-0")},
		"nor for its file system":    {group(1, with(ready(0), 0, resized, endsWithItsPod)), waits("")},
		"not where only its node could take it again": {group(1, with(oldOnes(0), 0, heldByNode)), waits(
			"survival-0 stays as it is: its node takes no new pods, and no other node can mount its volume. " +
				"Uncordon the node, or delete the Server to stop its world until then")},
		"the others go on beside that one": {group(2, with(oldOnes(0, 1), 1, heldByNode)), updates("survival-0")},
		"nor does its file system ask":     {group(1, with(ready(0), 0, resized, heldByNode)), waits("")},

		"the highest whose file system is to grow":    {group(3, with(with(ready(0, 1, 2), 0, resized), 1, resized)), resizes("survival-1")},
		"an old spec before it":                       {group(2, with(with(ready(0, 1), 0, old), 1, resized)), updates("survival-0")},
		"a surplus before it, too":                    {group(1, with(ready(0, 1), 0, resized)), want{"survival-1", "SurplusOrdinal", ""}},
		"it waits for the others":                     {group(2, with(with(ready(0, 1), 0, resized), 1, in(v1alpha1.ServerStarting))), waits("")},
		"also for one that failed":                    {group(2, with(with(ready(0, 1), 0, resized), 1, failedLongAgo)), waits("")},
		"one that does not serve grows as it returns": {group(1, with(ready(0), 0, resized, failedLongAgo)), waits("")},
		"nor is it begun in a group that gave up":     {group(1, with(ready(0), 0, resized), gate(fleet.GivenUp())), waits("")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := ordinals.DecidePersistentSize(tt.in)
			got := want{note: plan.Update.Note}
			if down := plan.TakeDown; down != nil {
				got.takeDown, got.reason = down.Name, down.Reason
				if !strings.Contains(down.Note, "claim stays") {
					t.Errorf("the note does not say what becomes of the world: %q", down.Note)
				}
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARestartThatAWindowHoldsUpIsLookedAtWhenItEnds(t *testing.T) {
	soon := now.Add(40 * time.Second)
	for name, servers := range map[string][]fleet.Server{
		"an old spec": oldOnes(0), "a file system": with(ready(0), 0, resized), "a node": with(ready(0), 0, departs),
	} {
		if plan := ordinals.DecidePersistentSize(group(1, servers, gate(fleet.WaitUntil(soon)))); !plan.Recheck.Equal(soon) {
			t.Errorf("%s: looks again at %v, want %v", name, plan.Recheck, soon)
		}
	}
}

func TestTheProgressOfAnUpdateCountsRequiredOrdinals(t *testing.T) {
	servers := append(oldOnes(0, 1, 2, 7), server(3, v1alpha1.ServerReady), server(4, v1alpha1.ServerPending))
	servers = with(with(servers, 2, in(v1alpha1.ServerDraining)), 4, old)
	got := ordinals.DecidePersistentSize(group(6, servers)).Update
	if want := (ordinals.Update{Updated: 2, Old: 2, Leaving: 1, Note: got.Note}); got != want {
		t.Errorf("progress %+v, want %+v", got, want)
	}
}

func TestWhoDoesNotServeIsNamedWithWhatComesNext(t *testing.T) {
	soon := now.Add(40 * time.Second)
	made := func(s *fleet.Server) { s.CreatedAt = now.Add(-time.Hour) }
	begun := func(s *fleet.Server) { s.StartedAt = now.Add(-time.Minute) }
	kept := func(in *ordinals.Input) { in.Retention, in.LastFailureAt = time.Hour, now.Add(-time.Minute) }
	tests := map[string]struct {
		in   ordinals.Input
		want []string
	}{
		"nobody while all serve":       {group(2, ready(0, 1)), nil},
		"nor anybody above replicas":   {group(1, append(ready(0), server(1, v1alpha1.ServerFailed))), nil},
		"a duplicate of one that does": {group(1, append(ready(0), server(0, v1alpha1.ServerPending))), nil},
		"one that is made":             {group(1, nil), []string{"ordinal 0 is being made"}},
		"one that was ordered":         {group(1, nil, expecting(ordinals.Expected{Creates: []int{0}})), []string{"ordinal 0 is being made"}},
		"one that starts":              {group(1, with(ready(0), 0, in(v1alpha1.ServerStarting), begun)), []string{"survival-0 has been starting since 2026-09-18T19:59:00Z"}},
		"one that has no clock yet":    {group(1, with(ready(0), 0, in(v1alpha1.ServerPending))), []string{"survival-0 is being made"}},
		"one that leaves":              {group(1, with(ready(0), 0, in(v1alpha1.ServerDraining))), []string{"survival-0 is on its way out"}},
		"one whose name is held": {group(1, with(ready(0), 0, nameless, made)), []string{
			"survival-0, made at 2026-09-18T19:00:00Z, waits for a pod that has its name; its Server's condition Accepted says which, and what to do",
		}},
		"one that failed": {group(1, with(ready(0), 0, failedLongAgo), kept), []string{
			"survival-0 failed at 2026-09-18T19:59:00Z and is kept until 2026-09-18T20:59:00Z, or until you delete it; then it is tried again with the same claim",
		}},
		"one that failed for the last time": {group(1, with(ready(0), 0, failedLongAgo), kept, gate(fleet.GivenUp())), []string{
			"survival-0 failed at 2026-09-18T19:59:00Z and is kept until 2026-09-18T20:59:00Z, or until you delete it; then its ordinal waits, its claim untouched: " +
				"mend what it lacks, then edit the group or give its annotation spawnery.cloud/retry another value",
		}},
		"one that a window holds back": {group(2, ready(0), kept, gate(fleet.WaitUntil(soon))), []string{
			"ordinal 1 waits since a start failed at 2026-09-18T19:59:00Z, and is tried again at 2026-09-18T20:00:40Z",
		}},
		"one that is given up": {group(2, ready(0), kept, gate(fleet.GivenUp())), []string{
			"ordinal 1 waits since starts have failed too often, the last at 2026-09-18T19:59:00Z; its claim is untouched: " +
				"mend what it lacks, then edit the group or give its annotation spawnery.cloud/retry another value",
		}},
		"one that silence holds back": {group(1, nil, func(in *ordinals.Input) { in.Channel = fleet.ChannelDegraded }), []string{
			"ordinal 0 waits until the agents are heard again",
		}},
		"one that cannot be made":   {group(1, nil, unmakeable), []string{"ordinal 0 waits: a mount is invalid"}},
		"several, the lowest first": {group(3, ready(1)), []string{"ordinal 0 is being made", "ordinal 2 is being made"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ordinals.DecidePersistentSize(tt.in).Unready); diff != "" {
				t.Errorf("unready (-want +got):\n%s", diff)
			}
		})
	}
}

func endsWithItsPod(s *fleet.Server) { s.Claim = fleet.ClaimEnding }

func heldByNode(s *fleet.Server) { s.Node = fleet.NodeHolding }

// worldless waits for a claim that cannot be mounted.
func worldless(s *fleet.Server) {
	nameless(s)
	s.Pod = fleet.PodWorldHeld
}
