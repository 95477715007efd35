// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// recovers is how long the traces of a trouble may last: a write without an
// answer is believed for half a minute.
const recovers = 40 * time.Second

// promise is something that holds in every run. It looks at what happens, and
// says how it was broken.
type promise struct {
	name string
	look func(c *check, h *happening) string
}

// promises are written apart from the rules, by what a network owner would see.
var promises = []promise{
	{"nobody is dropped before the deadline of a drain", dropsNobody},
	{"no server is given up while somebody may be on it", givesUpTheEmpty},
	{"what is empty stays for the stabilisation time", keepsTheEmpty},
	{"an outage of a group orders one server", guessesOnce},
	{"nothing is decided while most agents are silent", waitsOutSilence},
	{"a new leader decides nothing before it has heard", listensFirst},
	{"the ceiling holds", keepsTheCeiling},
	{"a shortage is not over-answered", ordersNoMore},
	{"a shortage is answered within one pass", answers},
	{"spareSlots are free again after a boot and a pass", keepsSpare},
	{"failed starts are spaced", spacesFailures},
	{"a lost pod is no failure", blamesNobody},
	{"at constant load nothing starts after a stop", startsForAReason},
	{"at constant load nothing stops after a start", stopsForAReason},
	{"a changeover keeps to maxUnavailable", keepsItsBudget},
	{"a changeover leaves enough to join", keepsAvailable},
	{"WhenEmpty sends nobody away", waitsForTheEmpty},
	{"what nobody needs goes", wastesNothing},
}

// checks hold a run against the promises.
type checks struct {
	groups map[*group]*check
	// broken is the first promise that was.
	broken *violation
	// stirred is how often anything was when it was last looked at, deafSince
	// since when most agents of the network are silent.
	stirred   int
	deafSince time.Time
}

// violation is a broken promise.
type violation struct {
	at      time.Time
	group   string
	promise string
	how     string
}

// String says when and how a promise was broken.
func (v *violation) String() string {
	return fmt.Sprintf("%s: group %s broke the promise that %s: %s", v.at.Format("Mon 15:04:05.000"), v.group, v.promise, v.how)
}

// check is what is remembered of one group.
type check struct {
	all *checks
	w   *World
	g   *group
	// seen is how often the group was stirred when it was last looked at.
	seen int
	// truth, now and known are how it stands at the end of an instant, by what
	// there is and by what the manager may know.
	truth      truth
	now, known sizes
	// before is how it stood when the present pass began, made how many servers
	// that made.
	before truth
	made   int
	// extras is how many servers a group's very first start took too many.
	extras int
	// shortSince, tightSince and wasteSince are the clocks of what may not last,
	// free and need what the second compares with.
	shortSince, tightSince, wasteSince time.Time
	free, need                         int
	// blindSince is since when all agents of the group are silent, guesses the
	// creates since then.
	blindSince time.Time
	guesses    int
	// failed counts the rounds that failed in a row under a generation of the
	// group, failedAt is when the last of them began to fail.
	failed    int
	failedAt  time.Time
	failedFor int64
	// troubles counts what is a reason to start or stop a server at any load.
	started, stopped move
	troubles         int
}

// move is a start or a stop, and what was so then.
type move struct {
	at time.Time
	// load is how many seats are taken and wanted, offered how many there are.
	load, offered int
	troubles      int
	sizes         sizes
}

func newChecks(w *World) *checks {
	c := &checks{groups: map[*group]*check{}}
	for _, g := range w.groups {
		c.groups[g] = &check{all: c, w: w, g: g}
	}
	return c
}

func (c *checks) see(w *World, h *happening) {
	switch {
	case c.broken != nil:
	case h.group != nil:
		c.look(c.groups[h.group], h)
	default:
		c.listen(w)
		for _, g := range w.groups {
			c.look(c.groups[g], h)
		}
	}
}

// listen follows the silence of the whole network.
func (c *checks) listen(w *World) {
	stirred := 0
	for _, g := range w.groups {
		stirred += g.stirred
	}
	if stirred != c.stirred {
		c.stirred = stirred
		c.deafSince = since(c.deafSince, w.now, w.mostSilent())
	}
}

func (c *checks) look(one *check, h *happening) {
	if h.what == passed {
		if one.seen == one.g.stirred {
			return
		}
		one.seen = one.g.stirred
	}
	one.prepare(h)
	for i := range promises {
		if how := promises[i].look(one, h); how != "" {
			c.broken = &violation{one.w.now, one.g.plan.Name, promises[i].name, how}
			return
		}
	}
}

// prepare notes what promises compare with.
func (c *check) prepare(h *happening) {
	switch h.what {
	case decided:
		c.before = c.g.truth()
		c.now, c.known = c.g.sizes()
		c.made = 0
	case created:
		c.made++
	case turned, lost, podChanged:
		c.troubles++
	case removed:
		if h.server.departing() {
			c.troubles++
		}
	case retired:
		if h.server.written.Spec.RetireReason != v1alpha1.RetireConsolidation {
			c.troubles++
		}
	case wrote:
		c.noteStatus(h.server)
	case passed:
		c.truth = c.g.truth()
		c.now, c.known = c.g.sizes()
		c.blindSince = since(c.blindSince, c.w.now, c.truth.blind())
		if c.blindSince.IsZero() {
			c.guesses = 0
		}
	case settled, withdrawn, podDeleted, gone, seated, joined, left, held, refused:
	}
}

// noteStatus follows failures, and what went or lost its place by itself.
func (c *check) noteStatus(s *server) {
	switch s.written.Status.Phase {
	case v1alpha1.ServerFailed:
		c.troubles++
		c.noteFailure()
	case v1alpha1.ServerReady:
		if !s.old() {
			c.failed = 0
		}
	case v1alpha1.ServerStarting:
		if !s.firstStart() {
			c.troubles++
		}
	case v1alpha1.ServerTerminating:
		if s.written.DeletionTimestamp == nil && s.written.Spec.RetireReason == v1alpha1.RetireNone {
			c.troubles++
		}
	case v1alpha1.ServerPending, v1alpha1.ServerRetiring, v1alpha1.ServerDraining:
	}
}

// noteFailure counts a round; what fails during a wait belongs to it.
func (c *check) noteFailure() {
	if c.failedFor != c.g.written.Generation {
		c.failed, c.failedFor = 0, c.g.written.Generation
	}
	if c.failed == 0 || !c.w.now.Before(c.failedAt.Add(c.delay())) {
		c.failed++
		c.failedAt = c.w.now
	}
}

// since keeps the instant from which something holds without a break.
func since(was, now time.Time, holds bool) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case was.IsZero():
		return now
	}
	return was
}

// lasted is true when a clock has run for longer than it may.
func (c *check) lasted(since time.Time, limit time.Duration) bool {
	return !since.IsZero() && c.w.now.Sub(since) > limit
}

// undisturbed is true while nothing keeps the manager from its work.
func (c *check) undisturbed() bool {
	m := &c.w.manager
	return m.leading && !c.w.now.Before(c.w.troubled.Add(recovers)) &&
		!c.w.now.Before(m.leaderSince.Add(fleet.LeaderPatience+soon)) && c.now == c.known && c.all.deafSince.IsZero()
}

// excused is true while the manager need not answer a shortage.
func (c *check) excused() bool {
	return !c.undisturbed() || c.holdsBack() || c.truth.blind() || c.w.manager.channelKnown == fleet.ChannelDegraded
}

// holdsBack is true while failed starts hold creates back.
func (c *check) holdsBack() bool {
	status := &c.g.written.Status
	if status.ConsecutiveFailures == nil {
		return false
	}
	streak := backoff.Streak{Failures: int(*status.ConsecutiveFailures)}
	if status.LastFailureAt != nil {
		streak.LastFailureAt = status.LastFailureAt.Time
	}
	switch backoff.DecideBackoff(streak, c.w.now).State {
	case backoff.BackingOff, backoff.GaveUp:
		return true
	case backoff.Calm, backoff.Retrying:
	}
	return false
}
