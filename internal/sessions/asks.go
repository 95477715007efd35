// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// asksKept is how many asks of a server are remembered, so that one that
	// comes again is not carried out again.
	asksKept = 256
	// asksOpen is how many of them may wait at once.
	asksOpen = 64
	// longestAskID bounds what an agent may choose as an id.
	longestAskID = 64
	// askEvery and askBurst bound how often a server may ask for anything but
	// the move of a player, sendEvery and sendBurst how often for that: when a
	// round is over all of its players go at once.
	askEvery  = 3 * time.Second
	askBurst  = 10
	sendEvery = 200 * time.Millisecond
	sendBurst = 100
)

// Asked is an ask, and whose it is: a server's, or else of a player on a proxy.
type Asked struct {
	Pod ServerPod
	Ask *agentv1alpha1.Ask

	Proxy ProxyPod
	Cloud *agentv1alpha1.CloudAsk
}

// group is the one the ask is about.
func (a Asked) group() types.NamespacedName {
	if a.Cloud != nil {
		return types.NamespacedName{Namespace: a.Proxy.Pod.Namespace, Name: subject(a.Cloud)}
	}
	return types.NamespacedName{Namespace: a.Pod.Server.Namespace, Name: a.Pod.Group}
}

// ask is one of a server's, and what became of it.
type ask struct {
	id     string
	answer *agentv1alpha1.Answer
	// told is true once the answer was sent; the same ask again takes it back.
	told bool
}

// askedFor is what the plugins of one server ask for.
type askedFor struct {
	asks []*ask
	// pace is that of everything but moves of players, sends that of those.
	pace, sends *rate.Limiter
	// ordered are the moves of players that were ordered lately.
	ordered []ordered
}

// alone is true for what must not run beside others of its group: bounds are
// counted on what there is.
func (a Asked) alone() bool {
	if a.Cloud != nil {
		return subject(a.Cloud) != ""
	}
	return a.Ask.GetConnect() == nil
}

// questions are the asks that wait for somebody who carries them out. Those of
// one group are carried out one after the other, but for moves of players.
type questions struct {
	waiting []Asked
	busy    map[types.NamespacedName]bool
	ring    chan struct{}
}

// lasting is true for an answer that holds for whoever asks the same again.
// What nobody carried out may succeed the next time.
func (a *ask) lasting() bool {
	verdict := a.answer.GetVerdict()
	return verdict != agentv1alpha1.Verdict_VERDICT_TOO_OFTEN && verdict != agentv1alpha1.Verdict_VERDICT_FAILED
}

// asked takes in an ask. One that is known is answered again and not queued
// again, unless it is known for an answer that was told and does not last.
func (s *Store) asked(by *server, said *agentv1alpha1.Ask, now time.Time) error {
	id := said.GetId()
	if id == "" || len(id) > longestAskID {
		return fmt.Errorf("the id of an ask has %d bytes, and has to have 1 to %d", len(id), longestAskID)
	}
	at := slices.IndexFunc(by.asks, func(known *ask) bool { return known.id == id })
	switch {
	case at < 0:
	case by.asks[at].told && !by.asks[at].lasting():
		by.asks = slices.Delete(by.asks, at, at+1)
	default:
		by.asks[at].told = false
		by.notify()
		return nil
	}
	pace, every := by.paceOf(said)
	open := 0
	for _, known := range by.asks {
		if known.answer == nil {
			open++
		}
	}
	taken := &ask{id: id}
	switch {
	case open >= asksOpen:
		taken.answer = tooOften(id, fmt.Sprintf("%d questions of this server wait for an answer already; ask again later", open))
	case !pace.AllowN(now, 1):
		taken.answer = tooOften(id, fmt.Sprintf("this server asks too often: once every %s in the long run", every))
	default:
		s.questions.waiting = append(s.questions.waiting, Asked{Pod: by.pod, Ask: said})
		notify(s.questions.ring)
	}
	by.remember(taken)
	by.notify()
	return nil
}

// paceOf is how often a server may ask for such a thing.
func (a *askedFor) paceOf(said *agentv1alpha1.Ask) (*rate.Limiter, time.Duration) {
	if a.pace == nil {
		a.pace = rate.NewLimiter(rate.Every(askEvery), askBurst)
		a.sends = rate.NewLimiter(rate.Every(sendEvery), sendBurst)
	}
	if said.GetConnect() != nil {
		return a.sends, sendEvery
	}
	return a.pace, askEvery
}

func tooOften(id, why string) *agentv1alpha1.Answer {
	return &agentv1alpha1.Answer{Id: id, Verdict: agentv1alpha1.Verdict_VERDICT_TOO_OFTEN, Detail: why}
}

// remember keeps an ask in the place of the oldest answered one.
func (a *askedFor) remember(taken *ask) {
	a.asks = append(a.asks, taken)
	if len(a.asks) <= asksKept {
		return
	}
	if oldest := slices.IndexFunc(a.asks, func(known *ask) bool { return known.answer != nil }); oldest >= 0 {
		a.asks = slices.Delete(a.asks, oldest, oldest+1)
	}
}

// pickAnswer returns the next answer that the agent lacks.
func (a *askedFor) pickAnswer() *agentv1alpha1.Answer {
	for _, known := range a.asks {
		if known.answer != nil && !known.told {
			known.told = true
			return known.answer
		}
	}
	return nil
}

// NextAsk waits for something to carry out. Whoever takes it has to Answer it:
// until then nothing else of its group is handed out but moves of players.
func (s *Store) NextAsk(ctx context.Context) (Asked, error) {
	for {
		if next, found := s.takeAsk(); found {
			return next, nil
		}
		select {
		case <-ctx.Done():
			return Asked{}, context.Cause(ctx)
		case <-s.questions.ring:
		}
	}
}

func (s *Store) takeAsk() (Asked, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := &s.questions.waiting
	at := slices.IndexFunc(*waiting, func(a Asked) bool { return !a.alone() || !s.questions.busy[a.group()] })
	if at < 0 {
		return Asked{}, false
	}
	next := (*waiting)[at]
	*waiting = slices.Delete(*waiting, at, at+1)
	if next.alone() {
		s.questions.busy[next.group()] = true
	}
	if len(*waiting) > 0 {
		// Somebody else may take what is left.
		notify(s.questions.ring)
	}
	return next, true
}

// release lets the next ask of a group be handed out. The caller holds the lock.
func (s *Store) release(asked Asked) {
	if asked.alone() {
		delete(s.questions.busy, asked.group())
	}
	notify(s.questions.ring)
}

// Answer says what became of an ask that NextAsk handed out. The agent is told
// on the session that stands, or on the next one when it asks again.
func (s *Store) Answer(asked Asked, answer *agentv1alpha1.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(asked)
	by, ok := s.servers[asked.Pod.UID]
	if !ok {
		return
	}
	for _, known := range by.asks {
		if known.id == asked.Ask.GetId() && known.answer == nil {
			answer.Id = known.id
			known.answer = answer
			by.notify()
		}
	}
}
