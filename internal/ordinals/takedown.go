// SPDX-License-Identifier: Apache-2.0

package ordinals

import (
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// takeDown picks the one server that may go now. Servers are in the order of
// their ordinals, so that the last of several is the highest.
func (p *Plan) takeDown(in *Input, held map[int]int) {
	p.surplus(in, held)
	p.departing(in, held)
	p.update(in, held)
	p.resize(in, held)
}

// going is true for a server on its way out, also where only its deletion is
// known and not shown yet.
func going(in *Input, s *fleet.Server) bool {
	return s.Leaving() || slices.Contains(in.Expected.Deletes, s.Name)
}

// leaver names a server that is on its way out, empty for none.
func leaver(in *Input) string {
	for i := range in.Servers {
		if going(in, &in.Servers[i]) {
			return in.Servers[i].Name
		}
	}
	return ""
}

// surplus is the highest ordinal at or above replicas, unless somebody of the
// group is leaving already.
func (p *Plan) surplus(in *Input, held map[int]int) {
	if leaver(in) != "" {
		return
	}
	for i := range in.Servers {
		if s := &in.Servers[i]; s.Ordinal >= in.Replicas && held[s.Ordinal] == 1 {
			p.TakeDown = &TakeDown{
				Name: s.Name, Reason: v1alpha1.ReasonSurplusOrdinal,
				Note: fmt.Sprintf("ordinal %d is not below the %d replicas wanted; its claim stays", s.Ordinal, in.Replicas),
			}
		}
	}
}

// required is true for a server that one alone carries a required ordinal by.
func required(in *Input, held map[int]int, s *fleet.Server) bool {
	return s.Ordinal >= 0 && s.Ordinal < in.Replicas && held[s.Ordinal] == 1
}

// serves is true for a server that players can count on.
func serves(in *Input, s *fleet.Server) bool {
	return s.Phase == v1alpha1.ServerReady && !going(in, s)
}

// progress counts the servers of required ordinals by their spec. One whose pod
// is still to be made gets the group's.
func progress(in *Input) Update {
	var u Update
	for i := range in.Servers {
		switch s := &in.Servers[i]; {
		case s.Ordinal < 0 || s.Ordinal >= in.Replicas:
		case s.Current():
			u.Updated++
		case going(in, s):
			u.Leaving++
		default:
			u.Old++
		}
	}
	return u
}

// update takes down the highest ordinal of an old spec, to be made again of the
// group's.
func (p *Plan) update(in *Input, held map[int]int) {
	next, stays := outdated(in, held)
	switch {
	case next == nil && stays != "":
		p.Update.Note = stays
	case next == nil && p.Update.Leaving > 0:
		p.Update.Note = leaver(in) + " is on its way out"
	case next == nil && p.Update.Old > 0:
		p.Update.Note = "those left are of an old spec and do not serve; they are of the new one when they are made again"
	case next == nil:
	case p.TakeDown != nil:
		p.Update.Note = fmt.Sprintf("%s waits for %s, which is taken down", next.Name, p.TakeDown.Name)
	default:
		p.restart(in, next, TakeDown{
			Name: next.Name, Reason: v1alpha1.ReasonRollingOut,
			Note: next.Name + " is of an old spec, and is made again of the new one; its claim stays",
		}, &p.Update.Note)
	}
}

// outdated is the highest ordinal of an old spec that may be made again, nil for
// none, and why another one may not.
func outdated(in *Input, held map[int]int) (*fleet.Server, string) {
	var next *fleet.Server
	stays := ""
	for i := range in.Servers {
		s := &in.Servers[i]
		switch {
		case !required(in, held, s) || !serves(in, s) || s.Current():
		case s.Claim == fleet.ClaimEnding:
			stays = s.Name + worldEnds
		case s.Node == fleet.NodeHolding:
			stays = s.Name + nodeHolds
		default:
			next = s
		}
	}
	return next, stays
}

// Why a server is left as it is, after its name.
const (
	worldEnds = " stays as it is: its claim is being deleted, and its world is there only as long as its pod"
	nodeHolds = " stays as it is: its node takes no new pods, and no other node can mount its volume. " +
		"Uncordon the node, or delete the Server to stop its world until then"
)

// resize takes down the highest ordinal whose file system grows when it is
// mounted anew.
func (p *Plan) resize(in *Input, held map[int]int) {
	if p.TakeDown != nil {
		return
	}
	var next *fleet.Server
	for i := range in.Servers {
		s := &in.Servers[i]
		if required(in, held, s) && serves(in, s) && s.Resize == fleet.ResizePending &&
			s.Claim == fleet.ClaimStays && s.Node != fleet.NodeHolding {
			next = s
		}
	}
	if next != nil {
		p.restart(in, next, TakeDown{
			Name: next.Name, Reason: v1alpha1.ReasonStorageResized,
			Note: "the volume of " + next.Name + " has grown, and its file system does so when it is mounted anew; its claim stays",
		}, new(string))
	}
}

// restart takes a server down that is to come back, unless the others hold it up.
func (p *Plan) restart(in *Input, next *fleet.Server, down TakeDown, said *string) {
	if what := obstacle(in); what != "" {
		*said, p.Recheck = next.Name+" waits: "+what, fleet.Earliest(p.Recheck, in.Gate.OpensAt())
		return
	}
	p.TakeDown, *said = &down, next.Name+" is taken down"
}

// obstacle is why no required ordinal may go now: every other one has to be
// Ready, and this one has to come back. Empty for no reason.
func obstacle(in *Input) string {
	if name := leaver(in); name != "" {
		return name + " is on its way out"
	}
	if why := shut(in); why != "" {
		return why
	}
	for ordinal := range in.Replicas {
		carried := slices.DeleteFunc(slices.Clone(in.Servers), func(s fleet.Server) bool { return s.Ordinal != ordinal })
		switch {
		case len(carried) == 0:
			return fmt.Sprintf("ordinal %d has no server yet", ordinal)
		case slices.ContainsFunc(carried, func(s fleet.Server) bool { return s.Phase == v1alpha1.ServerReady }):
			continue
		}
		for i := range carried {
			if what := holdsUp(&carried[i]); what != "" {
				return what
			}
		}
	}
	return ""
}

// holdsUp says why a server that is not Ready stops the others. One that failed
// under the old spec, or waits for its name since then, says nothing about the
// new one, and may never be Ready again; one that failed under the new spec says
// all there is to know. One whose claim cannot be mounted waits for a person, and
// says nothing about any spec.
func holdsUp(s *fleet.Server) string {
	stuck := s.Phase == v1alpha1.ServerFailed || (s.Phase == v1alpha1.ServerPending && s.Pod == fleet.PodNameHeld)
	switch {
	case stuck && s.Spec == fleet.SpecOld, worldHeld(s):
		return ""
	case s.Phase == v1alpha1.ServerFailed:
		return fmt.Sprintf("%s, which is of the group's spec, failed at %s. Mend the spec or put the old one back; "+
			"a Server that you delete is made of the group's spec all the same", s.Name, stamp(s.FailedAt))
	}
	return s.Name + " has to be Ready first"
}

func worldHeld(s *fleet.Server) bool {
	return s.Phase == v1alpha1.ServerPending && s.Pod == fleet.PodWorldHeld
}

// shut says why a server that went could not be made again now.
func shut(in *Input) string {
	switch in.Gate.State() {
	case fleet.GateWaiting:
		return "starts have failed, and nothing is made before " + stamp(in.Gate.OpensAt())
	case fleet.GateGivenUp:
		return "too many starts have failed, and nothing is made until the group is edited or told to retry"
	case fleet.GateOpen:
	}
	return in.Unmakeable
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
