// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// soon is what the ways between the parts of a healthy network add up to.
const soon = 3 * time.Second

// truth is how a group really stands, whatever the manager knows of it.
type truth struct {
	// alive are Servers that nobody told to go and that did not fail, starting
	// those of them that were never Ready, fresh those of these that are of the
	// group's spec.
	alive, starting, fresh int
	// old are those of an old spec that nobody told to go, joinable those that
	// players can get to, free the seats they could take now.
	old, joinable, free int
	// serving are those of the group's spec that were Ready, retiring those told
	// to go for a changeover.
	serving, retiring int
	// doomed is true while one is on its way that will not get there.
	doomed bool
	// established are those that should report, heard those that do.
	established, heard int
}

// blind is true when none of those that should report does.
func (t *truth) blind() bool { return t.established > 0 && t.heard == 0 }

func (g *group) truth() truth {
	var t truth
	for _, s := range g.servers {
		if s.written != nil {
			t.add(s)
		}
	}
	return t
}

func (t *truth) add(s *server) {
	if s.written.Spec.RetireReason == v1alpha1.RetireChangeover {
		t.retiring++
	}
	if s.returning() {
		t.hear(s)
	}
	if s.leaving() {
		return
	}
	t.alive++
	if s.old() {
		t.old++
	}
	if s.firstStart() {
		t.start(s)
		return
	}
	if !s.old() {
		t.serving++
	}
	t.hear(s)
	if s.joinable() {
		t.joinable++
		t.free += max(0, s.pod.seats().Playable-len(s.pod.players)-s.pod.coming)
	}
}

func (t *truth) start(s *server) {
	t.starting++
	if !s.old() {
		t.fresh++
	}
	if p := s.pod; p != nil {
		t.doomed = t.doomed || p.fate != Starts || p.node == nil || p.node.dead || p.state == notAnswering || p.ended()
	}
}

func (t *truth) hear(s *server) {
	t.established++
	if s.pod != nil && s.pod.heardNow() {
		t.heard++
	}
}

// short is how many seats are missing, those on order counted in.
func (t *truth) short(s *sizes, waiting int) int {
	return s.spare + min(waiting, s.capacity) - t.free - t.starting*s.capacity
}

func (s *server) leaving() bool {
	if s.departing() || s.written.DeletionTimestamp != nil || s.written.Spec.RetireReason != v1alpha1.RetireNone {
		return true
	}
	switch s.written.Status.Phase {
	case v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed:
		return true
	case v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady:
	}
	return false
}

// departing is true for a server whose node is drained while another one could
// take it.
func (s *server) departing() bool {
	return s.pod != nil && s.pod.node != nil && s.pod.node.leaving &&
		slices.ContainsFunc(s.group.w.nodes, func(n *node) bool { return !n.leaving })
}

// returning is true for a server that was taken back and does not know yet.
func (s *server) returning() bool {
	return s.written.Status.Phase == v1alpha1.ServerRetiring && s.written.Spec.RetireReason == v1alpha1.RetireNone
}

func (s *server) failed() bool { return s.written.Status.Phase == v1alpha1.ServerFailed }

// old is true for a server of another spec than the group's.
func (s *server) old() bool { return s.written.Spec.PodHash != s.group.podHash }

// firstStart is true until a Server was Ready once.
func (s *server) firstStart() bool { return s.written.Status.ReadySince == nil }

// joinable is true when a player could get in by their own choice.
func (s *server) joinable() bool {
	return is(s.written.Status.Registered) && s.pod != nil && s.pod.seemsUp() && !s.pod.shut && s.pod.heardNow()
}

// awaited is true while somebody is on it, or has had a seat for long enough
// that the manager must know.
func (s *server) awaited() bool {
	return len(s.pod.players)+s.pod.coming > 0 && s.group.w.now.Sub(s.pod.seatAt) > soon
}

// heardNow is true when the present leader may rely on what the agent said.
func (p *pod) heardNow() bool { return p.agent.heard != nil && !p.agent.stale }

func is(flag *bool) bool { return flag != nil && *flag }

// mostSilent is true while more than half, and at least three, of the agents
// that should be heard are not.
func (w *World) mostSilent() bool {
	if w.now.Sub(w.manager.leaderSince) < fleet.LeaderPatience {
		return false
	}
	agents, silent := 0, 0
	for _, s := range w.servers {
		if s.written == nil || s.pod == nil || s.pod.is != podReady || s.pod.deleting || !is(s.written.Status.WasRegistered) {
			continue
		}
		agents++
		if !s.pod.heardNow() {
			silent++
		}
	}
	return silent >= 3 && 2*silent > agents
}

// sizes are the numbers a group is held to.
type sizes struct {
	floor, ceiling, spare, capacity int
	stabilization                   time.Duration
	pinned                          bool
}

func sizesOf(spec *v1alpha1.ServerGroupSpec, effect boosts.Effect) sizes {
	s := sizes{
		floor:         int(*spec.Scaling.MinReplicas) + effect.Added,
		ceiling:       int(spec.Scaling.MaxReplicas),
		spare:         int(*spec.Scaling.SpareSlots),
		capacity:      fleet.Capacity(int(spec.PlayableSlots), int(spec.MaxPlayers)),
		stabilization: time.Duration(*spec.Scaling.ScaleDownStabilizationSeconds) * time.Second,
		pinned:        effect.Pin.Holds(),
	}
	if s.pinned {
		s.ceiling = min(s.ceiling, effect.Pin.Replicas)
		s.floor = s.ceiling
	}
	return s
}

// sizes are those by what the API server has, and those by what the manager may
// know.
func (g *group) sizes() (sizes, sizes) {
	now := sizesOf(&g.written.Spec, boosts.At(g.w.now, g.written.Spec.Type, g.boosts))
	known := sizesOf(&g.shown.Spec, boosts.At(g.w.now, g.shown.Spec.Type, g.shownBoosts))
	return now, known
}
