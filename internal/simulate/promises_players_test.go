// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// dropsNobody looks at the deletes of pods. Who is on one loses their place,
// which a drain allows at its deadline only.
func dropsNobody(c *check, h *happening) string {
	if h.what != podDeleted || len(h.server.pod.players) == 0 {
		return ""
	}
	limit := time.Duration(c.g.shown.Spec.Drain.TimeoutSeconds) * time.Second
	if started := h.server.written.Status.DrainStartedAt; started != nil && !c.w.now.Before(started.Add(limit)) {
		return ""
	}
	return fmt.Sprintf("the pod of %s is deleted under %d players", h.server.name, len(h.server.pod.players))
}

// givesUpTheEmpty looks at what the group deletes: servers known to be empty,
// and those that failed. A seat given a moment ago may not be known yet.
func givesUpTheEmpty(c *check, h *happening) string {
	if h.what != removed || h.server.failed() || h.server.pod == nil {
		return ""
	}
	p := h.server.pod
	switch {
	case h.server.departing():
		return c.displaces(h)
	case h.server.awaited():
		return fmt.Sprintf("%s is given up with %d players on it and %d on the way", h.server.name, len(p.players), p.coming)
	case is(h.server.written.Status.WasRegistered) && !p.heardNow() && !c.agreed(h.server):
		return h.server.name + " is given up, and nobody knows whether it is empty"
	}
	return ""
}

// displaces looks at a server with players that goes because its node does: one
// at a time, and to where there are others. Whoever is on one whose drain is over
// is past moving; a door that closes at this moment nobody has heard of yet.
func (c *check) displaces(h *happening) string {
	s := h.server
	if !s.awaited() {
		return ""
	}
	for _, other := range c.g.servers {
		if other != s && other.written != nil && other.written.DeletionTimestamp != nil &&
			other.written.Status.Phase != v1alpha1.ServerTerminating &&
			other.departing() && other.pod.up() && len(other.pod.players) > 0 {
			return fmt.Sprintf("%s is cleared off its node while %s still has %d players", s.name, other.name, len(other.pod.players))
		}
	}
	if free, _ := seatsKnown(h.pass); free == 0 && c.g.truth().joinable == 0 {
		return fmt.Sprintf("%s is cleared off its node, and its %d players can go nowhere", s.name, len(s.pod.players))
	}
	return ""
}

// agreed is true when the proxies have said for long enough that nobody is
// there.
func (c *check) agreed(s *server) bool {
	since, ok := c.w.manager.NobodySince(s.key, nil)
	return ok && c.w.now.Sub(since) >= fleet.RosterConfirms
}

// keepsTheEmpty looks at what goes for lack of demand: it has been empty, in
// truth, for the stabilisation time.
func keepsTheEmpty(c *check, h *happening) string {
	if h.what != removed || h.server.pod == nil || h.server.firstStart() || h.server.leaving() {
		return ""
	}
	now, known := c.g.sizes()
	if t := c.g.truth(); t.alive > min(now.ceiling, known.ceiling) {
		return ""
	}
	empty := c.w.now.Sub(h.server.pod.emptyFrom)
	if stabilization := min(now.stabilization, known.stabilization); empty < stabilization-time.Second {
		return fmt.Sprintf("%s is given up after it could have been joined for %s", h.server.name, empty)
	}
	return ""
}

// keepsItsBudget looks at how many are on their way out for a changeover.
func keepsItsBudget(c *check, h *happening) string {
	if !retiredFor(h, v1alpha1.RetireChangeover) {
		return ""
	}
	t := c.g.truth()
	if allowed := max(1, int(c.g.shown.Spec.Update.MaxUnavailable)); t.retiring > allowed {
		return fmt.Sprintf("%d servers retire where %d may", t.retiring, allowed)
	}
	return ""
}

// keepsAvailable looks at what a changeover leaves: one of the new spec that
// serves, and minAvailable that can be joined.
func keepsAvailable(c *check, h *happening) string {
	if !retiredFor(h, v1alpha1.RetireChangeover) {
		return ""
	}
	t := c.g.truth()
	switch least := int(c.g.shown.Spec.Update.MinAvailable); {
	case t.serving == 0:
		return h.server.name + " retires, and no server of the new spec has ever been Ready"
	case t.joinable < least:
		return fmt.Sprintf("%d servers can be joined where minAvailable is %d", t.joinable, least)
	}
	return ""
}

func waitsForTheEmpty(c *check, h *happening) string {
	if retiredFor(h, v1alpha1.RetireChangeover) && c.g.shown.Spec.Update.Strategy == v1alpha1.UpdateWhenEmpty &&
		h.server.pod != nil && h.server.awaited() {
		return fmt.Sprintf("%s retires with %d players", h.server.name, len(h.server.pod.players))
	}
	return ""
}

func retiredFor(h *happening, reason v1alpha1.RetireReason) bool {
	return h.what == retired && h.server.written.Spec.RetireReason == reason
}
