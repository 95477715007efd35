// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// longestErrandID bounds what a proxy may choose as an id.
	longestErrandID = 128
	// errandsPerSecond and errandBurst bound what one proxy asks of the others,
	// errandBytesPerSecond and errandByteBurst how much that is. What plugins of
	// its servers make of it is bounded there already.
	errandsPerSecond     = 300
	errandBurst          = 600
	errandBytesPerSecond = 2 << 20
	errandByteBurst      = 8 << 20
	// largestErrand bounds one: a text for players.
	largestErrand = 512 << 10
	// errandsKept bounds the errands, and the results, that wait for a proxy.
	errandsKept = 1024
	// errandTakes is how long a result is passed on.
	errandTakes = 30 * time.Second
)

// errands are what proxies want of each other, as one of them sees it. What is
// lost with a session is not said again: whoever waits for it gives up.
type errands struct {
	// given are those that this proxy has still to be sent.
	given []*agentv1alpha1.Errand
	// results are those of its own.
	results []*agentv1alpha1.ErrandResult
	// open are those it was given and has not answered, by their id here.
	open         map[string]openErrand
	pace, volume *rate.Limiter
}

// openErrand is whose an errand is.
type openErrand struct {
	by types.UID
	id string
	at time.Time
}

// mayAsk counts one errand of this proxy.
func (e *errands) mayAsk(size int, now time.Time) bool {
	if e.pace == nil {
		e.pace = rate.NewLimiter(errandsPerSecond, errandBurst)
		e.volume = rate.NewLimiter(errandBytesPerSecond, errandByteBurst)
	}
	return e.pace.AllowN(now, 1) && e.volume.AllowN(now, size)
}

// drop forgets what waits for a proxy that has no session: later it is not wanted.
func (e *errands) drop() { e.given, e.results, e.open = nil, nil, nil }

// next returns what the proxy is to be sent next, and forgets it; nil: nothing.
func (e *errands) next() *agentv1alpha1.ProxyOrder {
	if len(e.given) > 0 {
		first := e.given[0]
		e.given = e.given[1:]
		return &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Errand{Errand: first}}
	}
	if len(e.results) > 0 {
		first := e.results[0]
		e.results = e.results[1:]
		return &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_ErrandResult{ErrandResult: first}}
	}
	return nil
}

// errand takes in one of a proxy's. The caller holds the lock.
func (s *Store) errand(by *proxy, said *agentv1alpha1.Errand, now time.Time) error {
	id := said.GetId()
	if id == "" || len(id) > longestErrandID {
		return fmt.Errorf("the id of an errand has %d bytes, and has to have 1 to %d", len(id), longestErrandID)
	}
	size := proto.Size(said)
	var result *agentv1alpha1.ErrandResult
	switch {
	case size > largestErrand:
		result = failed(agentv1alpha1.Verdict_VERDICT_REFUSED, fmt.Sprintf("an errand of %d bytes: at most %d are passed on", size, largestErrand))
	case !by.errands.mayAsk(size, now):
		result = failed(agentv1alpha1.Verdict_VERDICT_TOO_OFTEN, fmt.Sprintf("this proxy asks too often: %d times a second in the long run", errandsPerSecond))
	default:
		result = s.passOn(by, said, now)
	}
	if result != nil {
		by.tellResult(id, result)
	}
	return nil
}

func failed(verdict agentv1alpha1.Verdict, why string) *agentv1alpha1.ErrandResult {
	return &agentv1alpha1.ErrandResult{Verdict: verdict, Detail: why}
}

func (p *proxy) tellResult(id string, result *agentv1alpha1.ErrandResult) {
	if len(p.errands.results) < errandsKept {
		result.Id = id
		p.errands.results = append(p.errands.results, result)
		p.notify()
	}
}

// passOn returns the result, or nil when whoever was given the errand tells it.
func (s *Store) passOn(by *proxy, said *agentv1alpha1.Errand, now time.Time) *agentv1alpha1.ErrandResult {
	switch errand := said.GetErrand().(type) {
	case *agentv1alpha1.Errand_ListPlayers:
		return s.others(by, now)
	case *agentv1alpha1.Errand_FindPlayer:
		return s.toHolder(by, said, errand.FindPlayer.GetPlayer(), now)
	case *agentv1alpha1.Errand_SendPlayer:
		return s.toHolder(by, said, errand.SendPlayer.GetPlayer(), now)
	case *agentv1alpha1.Errand_DisconnectPlayer:
		return s.toHolder(by, said, errand.DisconnectPlayer.GetPlayer(), now)
	case *agentv1alpha1.Errand_TellPlayers:
		if who := errand.TellPlayers.GetPlayer(); who != nil {
			return s.toHolder(by, said, who, now)
		}
		return s.toEverybody(by, said)
	case *agentv1alpha1.Errand_PluginPayload:
		if who := errand.PluginPayload.GetPlayer(); who != nil {
			return s.toHolder(by, said, who, now)
		}
		return s.toServers(by, errand.PluginPayload)
	}
	return failed(agentv1alpha1.Verdict_VERDICT_MALFORMED, "this manager does not know what is asked for: upgrade the operator")
}

// others are the players of the network's other proxies.
func (s *Store) others(by *proxy, now time.Time) *agentv1alpha1.ErrandResult {
	result := &agentv1alpha1.ErrandResult{Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
	for known := range s.besides(by) {
		if freshness(known.sampledAt, now) == Fresh {
			result.Roster = append(result.Roster, known.report.GetRoster()...)
		}
	}
	return result
}

// toHolder gives an errand to the proxy that has the player, who may have come
// to the one that asks meanwhile.
func (s *Store) toHolder(by *proxy, said *agentv1alpha1.Errand, who *agentv1alpha1.Player, now time.Time) *agentv1alpha1.ErrandResult {
	network := types.NamespacedName{Namespace: by.pod.Pod.Namespace, Name: by.pod.Network}
	holder, _ := s.holderOf(network, who)
	if holder == nil {
		return failed(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, "no proxy has a player "+called(who))
	}
	if !holder.give(said, openErrand{by.pod.UID, said.GetId(), now}) {
		return failed(agentv1alpha1.Verdict_VERDICT_REFUSED, fmt.Sprintf(
			"proxy %s (version %s) takes no errands, or has too many", holder.pod.Pod.Name, holder.version))
	}
	return nil
}

// give has a proxy carry out an errand; false: it does not know how, or has too
// much to do. The result goes to whose it is.
func (p *proxy) give(said *agentv1alpha1.Errand, whose openErrand) bool {
	maps.DeleteFunc(p.errands.open, func(_ string, known openErrand) bool { return whose.at.Sub(known.at) >= errandTakes })
	if !p.takesErrands() || len(p.errands.open) >= errandsKept {
		return false
	}
	given := proto.CloneOf(said)
	given.Id = string(whose.by) + "/" + whose.id
	if p.errands.open == nil {
		p.errands.open = map[string]openErrand{}
	}
	p.errands.open[given.GetId()] = whose
	p.errands.given = append(p.errands.given, given)
	p.notify()
	return true
}

func (p *proxy) takesErrands() bool {
	return slices.Contains(p.able, agentv1alpha1.CapabilityErrands) && len(p.errands.given) < errandsKept
}

// hand is give for errands whose result nobody waits for.
func (p *proxy) hand(said *agentv1alpha1.Errand) bool {
	if !p.takesErrands() {
		return false
	}
	p.errands.given = append(p.errands.given, said)
	p.notify()
	return true
}

// toEverybody gives an errand to all other proxies.
func (s *Store) toEverybody(by *proxy, said *agentv1alpha1.Errand) *agentv1alpha1.ErrandResult {
	passed := false
	for known := range s.besides(by) {
		// One that has never reported has nobody yet.
		passed = known.report != nil && known.hand(said) || passed
	}
	if !passed {
		return failed(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, "the network has no other proxy")
	}
	return &agentv1alpha1.ErrandResult{Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
}

// toServers has one proxy deliver to each server on which anybody is.
func (s *Store) toServers(by *proxy, wanted *agentv1alpha1.PluginPayload) *agentv1alpha1.ErrandResult {
	missing := map[string]struct{}{}
	for _, server := range wanted.GetServers() {
		missing[server] = struct{}{}
	}
	passed := false
	for known := range s.besides(by) {
		var servers []string
		for server := range missing {
			if known.said.presence[server].On > 0 {
				servers = append(servers, server)
			}
		}
		slices.Sort(servers)
		payload := &agentv1alpha1.PluginPayload{Servers: servers, Payload: wanted.GetPayload()}
		if len(servers) == 0 || !known.hand(&agentv1alpha1.Errand{
			Id: "servers", Errand: &agentv1alpha1.Errand_PluginPayload{PluginPayload: payload},
		}) {
			continue
		}
		passed = true
		maps.DeleteFunc(missing, func(server string, _ struct{}) bool { return slices.Contains(servers, server) })
	}
	if !passed {
		return failed(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, "no other proxy has players on "+listed(wanted.GetServers()))
	}
	return &agentv1alpha1.ErrandResult{Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
}

// listed names a few servers.
func listed(servers []string) string {
	const few = 5
	if len(servers) <= few {
		return strings.Join(servers, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(servers[:few], ", "), len(servers)-few)
}

// errandDone passes a result on to whose errand it was. The caller holds the lock.
func (s *Store) errandDone(from *proxy, result *agentv1alpha1.ErrandResult) {
	whose, open := from.errands.open[result.GetId()]
	delete(from.errands.open, result.GetId())
	asker := s.proxies[whose.by]
	if !open || asker == nil {
		return
	}
	asker.tellResult(whose.id, &agentv1alpha1.ErrandResult{
		Verdict: result.GetVerdict(), Detail: result.GetDetail(), Address: result.GetAddress(),
	})
}
