// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/scaling"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

var update = flag.Bool("update", false, "write the golden stories anew")

func TestMain(m *testing.M) {
	err := errors.Join(flag.Set("rapid.checks", "1000"), flag.Set("rapid.nofailfile", "true"))
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const (
	pass = 5 * time.Second
	// boot is how long a game takes to start, or to fail.
	boot = 40 * time.Second
	// stop is how long a pod takes to go.
	stop = 10 * time.Second
	// crash is an image whose game does not start.
	crash = "broken"
)

// world plays a group. Phases, failures, size and changeovers are decided by
// the packages that decide them in production; the world only carries the
// decisions out, and lets players come and go.
type world struct {
	t       *testing.T
	clock   time.Time
	group   *v1alpha1.ServerGroup
	servers []*running
	made    int
	// stay is how long a player stays; arriving is how many come in a pass.
	stay     time.Duration
	arriving int

	told         []string
	lastNote     string
	lastLimit    string
	refused      int
	disconnected int
}

// running is one server with its pod and its players.
type running struct {
	fleet.Server
	image string
	// bootedAt is when its game is done starting; leaves are when its players go.
	bootedAt  time.Time
	stoppedAt time.Time
	leaves    []time.Time
}

// newWorld has as many servers of the image "old" as the group wants at least,
// with so many players on each. As many come as go.
func newWorld(t *testing.T, servers, players int) *world {
	w := &world{t: t, clock: now, group: ephemeral(), stay: time.Duration(servers*players) * pass, arriving: min(1, players)}
	w.group.Spec.Image = "old"
	w.group.Spec.Scaling.MinReplicas = new(int32(servers))
	w.group.Spec.Scaling.ScaleDownStabilizationSeconds = new(int32(300))
	w.group.Status.FirstRegisteredAt = sighting.Stamp(now)
	for i := range servers {
		w.create()
		s := w.servers[i]
		s.Phase, s.Registration, s.bootedAt, s.CreatedAt = v1alpha1.ServerReady, fleet.Registered, now, now.Add(-time.Hour)
		s.StartedAt, s.ReadySince = s.CreatedAt, s.CreatedAt
		for player := range players {
			s.leaves = append(s.leaves, now.Add(time.Duration(player*servers+i+1)*pass))
		}
	}
	return w
}

func (w *world) create() {
	w.servers = append(w.servers, &running{
		Server: fleet.Server{
			Name: fmt.Sprintf("hub-%c", 'a'+w.made), Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerPending,
			Pod: fleet.PodSeen, CreatedAt: w.clock, Seats: fleet.Seats{Slots: 50, Playable: 50},
		},
		image: w.group.Spec.Image, bootedAt: w.clock.Add(boot),
	})
	w.made++
}

// play lets so much time pass.
func (w *world) play(d time.Duration) {
	for range int(d / pass) {
		w.clock = w.clock.Add(pass)
		w.move()
		for _, s := range w.servers {
			w.live(s)
		}
		w.servers = slices.DeleteFunc(w.servers, func(s *running) bool {
			return !s.stoppedAt.IsZero() && !w.clock.Before(s.stoppedAt)
		})
		w.decide()
	}
}

// move lets players leave, and others come to the emptiest server there is.
func (w *world) move() {
	for _, s := range w.servers {
		s.leaves = slices.DeleteFunc(s.leaves, func(at time.Time) bool { return !w.clock.Before(at) })
	}
	w.observe()
	for range w.arriving {
		if !w.place(w.clock.Add(w.stay)) {
			w.refused++
		}
	}
}

// place puts a player on the emptiest server, and is false where none has a
// seat.
func (w *world) place(leaves time.Time) bool {
	open := slices.DeleteFunc(slices.Clone(w.servers), func(s *running) bool { return s.FreeSeats() == 0 })
	if len(open) == 0 {
		return false
	}
	to := slices.MinFunc(open, func(a, b *running) int { return len(a.leaves) - len(b.leaves) })
	to.leaves = append(to.leaves, leaves)
	w.observe()
	return true
}

// observe is what the agents and the API server show.
func (w *world) observe() {
	for _, s := range w.servers {
		s.Spec = fleet.SpecCurrent
		if s.image != w.group.Spec.Image {
			s.Spec = fleet.SpecOld
		}
		if s.Phase == v1alpha1.ServerPending || s.Phase == v1alpha1.ServerStarting {
			continue
		}
		s.Counts = fleet.Fresh(len(s.leaves), w.clock)
		s.EmptySince = s.Presence.EmptySince(s.EmptySince, w.clock)
	}
}

// live moves one server as far as it goes in this pass.
func (w *world) live(s *running) {
	for range 7 {
		d := phase.Decide(phase.Input{
			Now: w.clock, Phase: s.Phase, Acceptance: phase.Accepted, Presence: s.Presence, Clocks: s.Clocks,
			Deletion: s.Deletion, Retire: s.Retire, Spec: s.Spec,
			Limits: phase.Limits{Startup: 300 * time.Second, Drain: time.Minute, Retention: time.Hour},
			Pod:    w.pod(s), Agent: w.agent(s),
		})
		if d.Effects.Has(phase.Register) {
			s.Registration = fleet.Registered
		}
		if d.Effects.Has(phase.Deregister) {
			s.Registration = fleet.Deregistered
		}
		if d.Effects.Has(phase.MovePlayers) {
			s.leaves = slices.DeleteFunc(s.leaves, w.place)
		}
		if d.Next == v1alpha1.ServerTerminating && s.stoppedAt.IsZero() {
			s.stoppedAt = w.clock.Add(stop)
			w.disconnected += len(s.leaves)
		}
		if d.Next != s.Phase && d.Next != v1alpha1.ServerStarting {
			w.tell("%s is %s", s.Name, d.Next)
		}
		moved := d.Next != s.Phase
		s.Phase, s.Clocks = d.Next, d.Clocks
		if !moved {
			return
		}
	}
}

func (w *world) pod(s *running) phase.Pod {
	switch {
	case !s.stoppedAt.IsZero():
		return phase.PodTerminating
	case w.clock.Before(s.bootedAt):
		return phase.PodRunning
	case s.image == crash:
		return phase.PodGameExited
	}
	return phase.PodReady
}

func (w *world) agent(s *running) phase.Agent {
	if w.clock.Before(s.bootedAt) {
		return phase.AgentNotReady
	}
	return phase.AgentReady
}

// decide makes the group's pass, and carries the plan out.
func (w *world) decide() {
	w.observe()
	in := Input{Now: w.clock, Trigger: scaling.OnTick, Group: w.group, LeaderSince: now.Add(-time.Hour)}
	for _, s := range w.servers {
		in.Servers = append(in.Servers, s.Server)
	}
	plan := Decide(in)
	streak := plan.Failures.Streak
	w.group.Status.ConsecutiveFailures = new(int32(streak.Failures))
	w.group.Status.LastFailureAt = sighting.Stamp(streak.LastFailureAt)
	w.group.Status.ObservedGeneration = new(w.group.Generation)
	if note := plan.Changeover.Note; note != w.lastNote {
		p := plan.Changeover.Progress
		w.tell("%d of %d updated: %s", p.Updated, p.Total(), cmp.Or(note, "done"))
		w.lastNote = note
	}
	if limit := plan.Limit.Note; limit != w.lastLimit {
		w.tell("limited: %s", cmp.Or(limit, "no more"))
		w.lastLimit = limit
	}
	w.carryOut(plan)
}

func (w *world) carryOut(plan Plan) {
	for _, one := range plan.Withdraw {
		w.tell("withdraw: %s", one.Note)
		w.named(one.Name).Retire = v1alpha1.RetireNone
	}
	for _, one := range plan.Retire {
		w.tell("retire: %s", one.Note)
		w.named(one.Name).Retire = one.Reason
	}
	for _, one := range plan.Remove {
		w.tell("remove: %s", one.Note)
		w.named(one.Name).Deletion = fleet.DeletionAsked
	}
	for range plan.Create {
		w.tell("create hub-%c", 'a'+w.made)
		w.create()
	}
}

func (w *world) named(name string) *running {
	at := slices.IndexFunc(w.servers, func(s *running) bool { return s.Name == name })
	if at < 0 {
		w.t.Fatalf("the plan names %s, which is not there", name)
	}
	return w.servers[at]
}

// edit changes the spec as its owner does.
func (w *world) edit(what string, change func(*v1alpha1.ServerGroupSpec)) {
	w.tell("-- %s", what)
	change(&w.group.Spec)
	w.group.Generation++
}

func (w *world) tell(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf("%6s  ", w.clock.Sub(now))+fmt.Sprintf(format, args...))
}

func (w *world) of(image string) int {
	n := 0
	for _, s := range w.servers {
		if s.image == image && s.Phase != v1alpha1.ServerFailed {
			n++
		}
	}
	return n
}

// golden compares what was told with a file.
func (w *world) golden(name string) {
	w.t.Helper()
	file := filepath.Join("testdata", "stories", name+".txt")
	got := strings.Join(w.told, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		w.t.Errorf("the story changed (-want +got):\n%s", diff)
	}
}
