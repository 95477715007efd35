// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// cloudEvery and cloudBurst bound how often the players of one proxy may ask
	// the manager for something.
	cloudEvery = 500 * time.Millisecond
	cloudBurst = 30
	// longestName is that of anything in a network, longestPlayer that of a
	// player.
	longestName, longestPlayer = 253, 64
	// mostNamed is how many players are named in one answer.
	mostNamed = 1000
)

// cloudAsk is what a player on a proxy wants, and what became of it.
type cloudAsk struct {
	id     string
	answer *agentv1alpha1.CloudAnswer
	told   bool
}

// cloudAsks are those of one proxy.
type cloudAsks struct {
	asks []*cloudAsk
	pace *rate.Limiter
}

// cloudAsked takes in what a player wants. The same ask again is answered again.
func (s *Store) cloudAsked(by *proxy, said *agentv1alpha1.CloudAsk, now time.Time) error {
	id := said.GetId()
	if id == "" || len(id) > longestAskID {
		return fmt.Errorf("the id of an ask has %d bytes, and has to have 1 to %d", len(id), longestAskID)
	}
	defer by.notify()
	if at := slices.IndexFunc(by.cloud.asks, func(known *cloudAsk) bool { return known.id == id }); at >= 0 {
		by.cloud.asks[at].told = false
		return nil
	}
	if by.cloud.pace == nil {
		by.cloud.pace = rate.NewLimiter(rate.Every(cloudEvery), cloudBurst)
	}
	taken := &cloudAsk{id: id, answer: refuseCloud(said)}
	switch {
	case taken.answer != nil:
	case by.cloud.open() >= asksOpen || !by.cloud.pace.AllowN(now, 1):
		taken.answer = cloudAnswer(said, agentv1alpha1.Verdict_VERDICT_TOO_OFTEN, "too much is asked for by this proxy; ask again in a moment")
	default:
		s.questions.waiting = append(s.questions.waiting, Asked{Proxy: by.pod, Cloud: said})
		notify(s.questions.ring)
	}
	by.cloud.remember(taken)
	return nil
}

// open is how many wait to be answered.
func (c *cloudAsks) open() int {
	open := 0
	for _, known := range c.asks {
		if known.answer == nil {
			open++
		}
	}
	return open
}

// remember keeps an ask in the place of the oldest answered one.
func (c *cloudAsks) remember(taken *cloudAsk) {
	c.asks = append(c.asks, taken)
	if len(c.asks) <= asksKept {
		return
	}
	if oldest := slices.IndexFunc(c.asks, func(known *cloudAsk) bool { return known.answer != nil }); oldest >= 0 {
		c.asks = slices.Delete(c.asks, oldest, oldest+1)
	}
}

func cloudAnswer(to *agentv1alpha1.CloudAsk, verdict agentv1alpha1.Verdict, detail string) *agentv1alpha1.CloudAnswer {
	return &agentv1alpha1.CloudAnswer{Id: to.GetId(), Verdict: verdict, Detail: detail}
}

// refuseCloud answers an ask about a name that nothing can have: players type
// them. It is nil for any other.
func refuseCloud(said *agentv1alpha1.CloudAsk) *agentv1alpha1.CloudAnswer {
	move := said.GetMovePlayers()
	for _, name := range []string{subject(said), move.GetTo(), move.GetServer()} {
		if len(name) > longestName {
			return cloudAnswer(said, agentv1alpha1.Verdict_VERDICT_MALFORMED, fmt.Sprintf("no group and no server has a name of %d bytes", len(name)))
		}
	}
	for _, player := range []*agentv1alpha1.Player{said.GetBy(), move.GetPlayer()} {
		if len(player.GetName()) > longestPlayer {
			return cloudAnswer(said, agentv1alpha1.Verdict_VERDICT_MALFORMED, fmt.Sprintf("no player has a name of %d bytes", len(player.GetName())))
		}
	}
	return nil
}

// pickAnswer returns the next answer that the proxy lacks.
func (c *cloudAsks) pickAnswer() *agentv1alpha1.CloudAnswer {
	for _, known := range c.asks {
		if known.answer != nil && !known.told {
			known.told = true
			return known.answer
		}
	}
	return nil
}

// AnswerCloud says what became of an ask with a Cloud that NextAsk handed out.
func (s *Store) AnswerCloud(asked Asked, answer *agentv1alpha1.CloudAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(asked)
	by, ok := s.proxies[asked.Proxy.UID]
	if !ok {
		return
	}
	for _, known := range by.cloud.asks {
		if known.id == asked.Cloud.GetId() && known.answer == nil {
			answer.Id = known.id
			known.answer = answer
			by.notify()
		}
	}
}

// subject is what an ask of a player's is about: those of one are carried out one
// after the other.
func subject(ask *agentv1alpha1.CloudAsk) string {
	switch ask := ask.GetAsk().(type) {
	case *agentv1alpha1.CloudAsk_ScaleGroup:
		return ask.ScaleGroup.GetGroup()
	case *agentv1alpha1.CloudAsk_StartServers:
		return ask.StartServers.GetGroup()
	case *agentv1alpha1.CloudAsk_ResetGroup:
		return ask.ResetGroup.GetGroup()
	case *agentv1alpha1.CloudAsk_StopBoosts:
		return ask.StopBoosts.GetGroup()
	case *agentv1alpha1.CloudAsk_RetireServer:
		return "server/" + ask.RetireServer.GetServer()
	case *agentv1alpha1.CloudAsk_UnretireServer:
		return "server/" + ask.UnretireServer.GetServer()
	}
	return ""
}

// NamePlayers says who is on which server of the network of whoever asks.
func (s *Store) NamePlayers(asked Asked) *agentv1alpha1.CloudAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &agentv1alpha1.CloudAnswer{Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
	for known := range s.peersOf(asked.Proxy) {
		for _, entry := range known.report.GetRoster() {
			if len(answer.Players) == mostNamed {
				answer.Detail = fmt.Sprintf("only %d players are named", mostNamed)
				return answer
			}
			answer.Players = append(answer.Players, &agentv1alpha1.RosterEntry{Player: entry.GetPlayer(), Server: entry.GetServer()})
		}
	}
	return answer
}
