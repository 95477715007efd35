// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

const (
	starting     = agentv1alpha1.GameState_GAME_STATE_STARTING
	ready        = agentv1alpha1.GameState_GAME_STATE_READY
	notAnswering = agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING
)

const (
	// grace is how long a pod may take to stop.
	grace = time.Minute
	// timedOut is when clients of a game that hangs give up.
	timedOut = 30 * time.Second
	// evictedAfter is when the pods of a dead node are told to go.
	evictedAfter = 5 * time.Minute
)

// pod is a game with its agent.
type pod struct {
	uid    types.UID
	server *server
	node   *node
	// is what became of it, shown what the cache shows while it is inCache.
	is, shown                 phase.Pod
	inCache, deleting, gone   bool
	graceEnds, shownGraceEnds time.Time
	// fate is how its start ends.
	fate Fate

	state   agentv1alpha1.GameState
	players []*player
	// coming are those with a seat who are not there yet.
	coming int
	// slots is what the game lets in, playable what its plugin set.
	slots, playable int
	shut            bool // its door, for a round
	counting        bool // the countdown of a round
	// emptyFrom is since when nobody was there although somebody could have been.
	emptyFrom time.Time
	// seatAt is when the last seat was given, saving is true while the world is
	// saved for a delete.
	seatAt        time.Time
	saving, saved bool

	agent agent
}

// node is where pods run.
type node struct {
	name string
	dead bool
	// leaving is true while it is drained, leavingShown is what the cache shows.
	leaving, leavingShown bool
}

func newNode(i int) *node { return &node{name: fmt.Sprint("node-", i+1)} }

// schedule picks the node with the fewest pods.
func (w *World) schedule() *node {
	load := map[*node]int{}
	for _, s := range w.servers {
		if s.pod != nil && !s.pod.gone {
			load[s.pod.node]++
		}
	}
	var best *node
	for _, n := range w.nodes {
		if !n.dead && !n.leaving && (best == nil || load[n] < load[best]) {
			best = n
		}
	}
	return best
}

// start makes the pod of a Server, or finds the one that is there.
func (s *server) start() *pod {
	if s.pod != nil && !s.pod.gone {
		return s.pod
	}
	w := s.group.w
	w.made++
	spec := &s.group.shown.Spec
	p := &pod{
		uid: types.UID(fmt.Sprint("pod-", w.made)), server: s, node: w.schedule(),
		is: phase.PodWaiting, state: starting, slots: int(spec.MaxPlayers),
	}
	s.pod = p
	w.pods[p.uid] = p
	p.changed(phase.PodWaiting, "")
	image := s.group.image(spec.Image)
	p.fate = image.Fate
	if p.node != nil {
		p.boot(image)
	}
	return p
}

// boot plans a start: most of it is the game's own.
func (p *pod) boot(image Image) {
	w := p.server.group.w
	if image.Fate == Missing {
		return
	}
	takes := image.Boot.draw(w.chance)
	w.in(takes/5, func() { p.run(image) })
	w.in(takes, func() {
		switch {
		case p.is != phase.PodRunning || p.node.dead:
		case image.Fate == Starts:
			p.state, p.emptyFrom = ready, w.now
			p.changed(phase.PodReady, "its game takes players")
			p.news()
		case image.Fate == Exits:
			p.end(phase.PodGameExited, "its game exits")
		}
	})
}

// run begins the game, and with it what the agent says.
func (p *pod) run(image Image) {
	switch {
	case p.is != phase.PodWaiting || p.node.dead:
	case image.Fate == Refuses:
		p.end(phase.PodPrepareFailed, "preparing its game fails")
	default:
		p.changed(phase.PodRunning, "")
		p.agent.speak(p)
	}
}

// up is true while the game runs and somebody can play.
func (p *pod) up() bool {
	return !p.gone && !p.deleting && (p.is == phase.PodReady || p.is == phase.PodRunning) && p.state == ready
}

// seemsUp is true for a game that hangs, too.
func (p *pod) seemsUp() bool {
	return !p.gone && !p.deleting && (p.is == phase.PodReady || p.is == phase.PodRunning) && (p.state == ready || p.state == notAnswering)
}

// ended is true once the game runs no more.
func (p *pod) ended() bool {
	return p.gone || (p.is != phase.PodWaiting && p.is != phase.PodRunning && p.is != phase.PodReady)
}

// changed has the cache show what became of a pod.
func (p *pod) changed(is phase.Pod, note string) {
	p.is = is
	w := p.server.group.w
	if note != "" {
		w.tell(&happening{what: podChanged, group: p.server.group, server: p.server, note: note})
	}
	p.reveal()
}

func (p *pod) reveal() {
	p.server.group.stirred++
	w := p.server.group.w
	is, ends, gone := p.is, p.graceEnds, p.gone
	if p.deleting && is != phase.PodEvicted {
		is = phase.PodTerminating
	}
	w.show(func() {
		p.shown, p.shownGraceEnds, p.inCache = is, ends, !gone
		p.server.viewed = false
		w.manager.hearNetwork()
		w.manager.wakeServer(p.server)
		// A group does not watch pods; its next look shows them.
	})
}

// end is the end of the game by itself, or by its node.
func (p *pod) end(is phase.Pod, note string) {
	if p.ended() {
		return
	}
	p.agent.fall(p)
	p.changed(is, note)
	p.loseAll()
}

// loseAll has everybody on it, or on the way there, look for another server.
func (p *pod) loseAll() {
	lostOnes := p.players
	p.players = nil
	if len(lostOnes) > 0 {
		p.emptyFrom = p.server.group.w.now
	}
	for _, one := range lostOnes {
		p.server.group.w.proxy.onLost(one, p)
	}
	p.news()
}

// stop is the delete of a pod: the game saves and goes, unless its node is dead.
func (p *pod) stop() {
	if p.deleting || p.gone {
		return
	}
	w := p.server.group.w
	p.deleting, p.graceEnds = true, w.now.Add(grace).Truncate(time.Second)
	p.reveal()
	if p.node == nil || !p.node.dead {
		w.in(w.pace.Stop.draw(w.chance), p.vanish)
	}
}

// vanish is the end of a pod.
func (p *pod) vanish() {
	if p.gone {
		return
	}
	w := p.server.group.w
	p.gone = true
	p.agent.fall(p)
	p.loseAll()
	delete(w.pods, p.uid)
	p.reveal()
}

// seat answers a proxy that asks for one. A closed door refuses nobody who was
// sent; an agent that is down answers nobody.
func (p *pod) seat(claim routing.Claim) bool {
	limit := p.slots
	if claim == routing.ByChoice {
		limit = p.seats().Playable
	}
	return p.up() && !p.agent.down && len(p.players)+p.coming < limit
}

func (p *pod) seats() fleet.Seats {
	return fleet.NewSeats(fleet.Figures{
		Plugin: p.playable, Group: int(p.server.group.shown.Spec.PlayableSlots), Slots: p.slots,
	})
}

// enter puts a player into the world, and begins the countdown of a round.
func (p *pod) enter(one *player) {
	p.players = append(p.players, one)
	p.news()
	round := p.server.group.plan.Round
	if round.Players == 0 || p.counting || len(p.players) < round.Players {
		return
	}
	p.counting = true
	w := p.server.group.w
	w.in(round.Countdown, func() {
		p.shut = true
		w.tell(&happening{what: podChanged, group: p.server.group, server: p.server, note: "its door closes for a round"})
		p.news()
		w.in(round.Length.draw(w.chance), p.finish)
	})
}

// exit takes a player out of the world.
func (p *pod) exit(one *player) {
	at := slices.Index(p.players, one)
	if at < 0 {
		return
	}
	last := len(p.players) - 1
	p.players[at] = p.players[last]
	p.players = p.players[:last]
	p.emptyFrom = p.server.group.w.now
	p.news()
	p.server.group.w.proxy.room()
}

// finish ends a round: everybody goes back, then the game exits.
func (p *pod) finish() {
	if p.ended() {
		return
	}
	w := p.server.group.w
	for _, one := range slices.Clone(p.players) {
		w.proxy.nextStop(one)
	}
	w.in(5*time.Second, func() { p.end(phase.PodFinished, "its round has ended") })
}
