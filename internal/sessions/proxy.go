// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// ProxyState is what is known of one proxy at an instant.
type ProxyState struct {
	// Pod is the zero value until the first session of the pod.
	Pod ProxyPod
	// Connected says whether a session stands.
	Connected bool
	// Since is when the last change of Connected happened.
	Since time.Time
	// Version and Capabilities are those of the last Hello.
	Version      string
	Capabilities []string
	// Freshness is the worth of the rest.
	Freshness Freshness
	// Players is how many are authenticated on the proxy; 0 once RosterCounts
	// has passed since its last word.
	Players int
	// HoldsDirectory says whether the proxy confirmed a whole directory since it
	// was last without a session.
	HoldsDirectory bool
	// Withdrawn says whether the proxy took itself out of the load balancer.
	Withdrawn bool
	// Report is the last one, or nil. It must not be changed.
	Report *agentv1alpha1.ProxyReport
}

// Presence counts players by the word of proxies.
type Presence struct {
	// On is how many are on the server.
	On int
	// Coming is how many are on the way there.
	Coming int
}

// Move tells how moving players off a server goes, over all proxies.
type Move struct {
	// Remaining is how many are still there.
	Remaining int
	// WithoutSeat is how many of them no fallback server had a seat for.
	WithoutSeat int
}

// said is a proxy's report, by server and group.
type said struct {
	players  int
	names    map[string]struct{} // of all of them
	presence map[string]Presence
	roster   []placed
	waiting  map[string][]*waiters
	watchers map[string][]*agentv1alpha1.Player
	moves    map[string]Move
	problems map[string]agentv1alpha1.ForwardingState
}

// proxy is one proxy pod.
type proxy struct {
	peer
	pod    ProxyPod
	report *agentv1alpha1.ProxyReport
	said   said
	// ghosts are those of the report's players who were heard of elsewhere since,
	// by another proxy, while this one had no session.
	ghosts   sets.Set[string]
	lastSeen map[string]time.Time
	left     []departure
	settings *agentv1alpha1.ProxySettings
	// fullRevision is that of the first whole directory since the proxy was
	// last without a session.
	fullRevision uint64
	// connects are the orders to move players that nobody has answered.
	connects []*connect
	// newcomers are the players who want in by this proxy, and those who lately
	// did; sayings are what it is told of them and of those of others.
	newcomers newcomers
	sayings   sayings
	errands   errands
	cloud     cloudAsks
}

// ProxySession is one session of a proxy.
type ProxySession struct {
	*link
	proxy     *proxy
	settings  *agentv1alpha1.ProxySettings
	directory *directory
	fullAt    time.Time
	changedAt time.Time
	// told is how many of the proxy's sayings the session is past.
	told int
}

// OpenProxy begins a session. The newest session of a pod is the one that gets
// orders. The caller must Close it.
func (s *Store) OpenProxy(pod ProxyPod, hello *agentv1alpha1.Hello) *ProxySession {
	s.mu.Lock()
	defer s.mu.Unlock()
	opened := &ProxySession{link: s.newLink(), proxy: s.proxyFor(pod.UID)}
	opened.proxy.pod = pod
	if !opened.proxy.connected() {
		opened.proxy.fullRevision = 0
	}
	opened.proxy.open(opened.link, hello)
	s.wakeAboutProxy(pod)
	return opened
}

func (s *Store) proxyFor(uid types.UID) *proxy {
	found, ok := s.proxies[uid]
	if !ok {
		found = &proxy{peer: peer{since: s.clock.Now()}, lastSeen: map[string]time.Time{}}
		s.proxies[uid] = found
	}
	return found
}

// Close ends the session. It may be called more than once.
func (s *ProxySession) Close() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.proxy.close(s.link, s.store.clock.Now())
	if !s.proxy.connected() {
		s.store.nobodyOn(s.proxy, s.store.clock.Now())
		for other := range s.store.within(s.proxy.pod.Pod.Namespace) {
			if other.connected() {
				s.store.layGhosts(other)
			}
		}
		s.proxy.errands.drop()
		s.store.wakeAboutProxy(s.proxy.pod)
	}
}

// Next waits for the next order of this session. Sending it is bounded from
// here to the next call.
func (s *ProxySession) Next(ctx context.Context) (*agentv1alpha1.ProxyOrder, error) {
	return next(ctx, s.link, s.pick)
}

func (s *ProxySession) pick(now time.Time) (*agentv1alpha1.ProxyOrder, time.Duration) {
	if s.proxy.newest() != s.link {
		return nil, SessionEnds
	}
	settings := s.proxy.settings
	due := now.Sub(s.restatedAt) >= ResyncEvery
	switch {
	case !s.welcomed || (due && settings == nil):
		s.welcomed, s.restatedAt = true, now
		return &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Welcome{Welcome: s.store.welcome()}}, 0
	case settings != nil && (due || settings != s.settings):
		s.settings, s.restatedAt = settings, now
		return &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Settings{Settings: settings}}, 0
	}
	silence := s.proxy.giveUp(now)
	if order := s.pickAboutPlayers(now); order != nil {
		return order, 0
	}
	order, wait := s.pickDirectory(now)
	if order != nil {
		return &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Directory{Directory: order}}, 0
	}
	return nil, min(wait, silence, ResyncEvery-now.Sub(s.restatedAt))
}

// pickAboutPlayers returns the next order that concerns single players: each is
// sent once.
func (s *ProxySession) pickAboutPlayers(now time.Time) *agentv1alpha1.ProxyOrder {
	if saying := s.pickSaying(now); saying != nil {
		return saying
	}
	if connect := s.pickConnect(); connect != nil {
		return &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Connect{Connect: connect}}
	}
	if order := s.proxy.errands.next(); order != nil {
		return order
	}
	if answer := s.proxy.cloud.pickAnswer(); answer != nil {
		return &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_CloudAnswer{CloudAnswer: answer}}
	}
	return nil
}

// pickDirectory returns the whole directory when it is due, else what changed
// since the session's last: however slow the peer, at most one delta waits.
func (s *ProxySession) pickDirectory(now time.Time) (*agentv1alpha1.Directory, time.Duration) {
	wanted := s.store.directories[types.NamespacedName{Namespace: s.proxy.pod.Pod.Namespace, Name: s.proxy.pod.Network}]
	switch {
	case wanted == nil:
		return nil, ResyncEvery
	case s.directory == nil || now.Sub(s.fullAt) >= ResyncEvery:
		if s.proxy.fullRevision == 0 {
			s.proxy.fullRevision = wanted.revision
		}
		s.directory, s.fullAt, s.changedAt = wanted, now, now
		return wanted.full(), 0
	case wanted == s.directory:
		return nil, ResyncEvery - now.Sub(s.fullAt)
	case now.Sub(s.changedAt) < deltaSpacing:
		return nil, deltaSpacing - now.Sub(s.changedAt)
	}
	delta := wanted.since(s.directory)
	s.directory, s.changedAt = wanted, now
	return delta, 0
}

// Receive takes in one message. An error means that the peer does not keep to
// the protocol and its session has to end.
func (s *ProxySession) Receive(message *agentv1alpha1.ProxyMessage) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := s.store.clock.Now()
	s.heard = now
	switch said := message.GetMessage().(type) {
	case *agentv1alpha1.ProxyMessage_Hello:
		return errors.New("a session holds one hello")
	case *agentv1alpha1.ProxyMessage_Report:
		s.store.proxyReported(s.proxy, said.Report, now)
	case *agentv1alpha1.ProxyMessage_ConnectResult:
		s.proxy.carriedOut(said.ConnectResult)
	case *agentv1alpha1.ProxyMessage_Newcomer:
		return s.store.came(s.proxy, said.Newcomer, now)
	case *agentv1alpha1.ProxyMessage_MakeWayResult:
		s.store.madeWay(s.proxy, said.MakeWayResult, now)
	case *agentv1alpha1.ProxyMessage_Errand:
		return s.store.errand(s.proxy, said.Errand, now)
	case *agentv1alpha1.ProxyMessage_ErrandResult:
		s.store.errandDone(s.proxy, said.ErrandResult)
	case *agentv1alpha1.ProxyMessage_CloudAsk:
		return s.store.cloudAsked(s.proxy, said.CloudAsk, now)
	}
	return nil
}

func (s *Store) proxyReported(from *proxy, report *agentv1alpha1.ProxyReport, now time.Time) {
	if !from.dated(report.GetSampledAt(), report.GetSentAt(), now) {
		return
	}
	before, wasReport := from.said, from.report
	from.report, from.ghosts = report, nil
	from.said = read(report, from.ghosts)
	from.departed(before.roster, now)
	for name := range from.said.presence {
		from.lastSeen[name] = now
	}
	maps.DeleteFunc(from.lastSeen, func(_ string, seen time.Time) bool { return now.Sub(seen) > forgetAfter })
	aged := from.aged(now)
	s.wakeAboutRoster(from, before, from.said)
	s.layGhosts(from)
	if aged || before.players != from.said.players || wasReport.GetWithdrawn() != report.GetWithdrawn() ||
		wasReport.GetDirectoryRevision() != report.GetDirectoryRevision() ||
		!slices.EqualFunc(wasReport.GetConfigProblems(), report.GetConfigProblems(), sameProblem) {
		s.wakeAboutProxy(from.pod)
	}
}

func sameProblem(a, b *agentv1alpha1.ConfigProblem) bool { return proto.Equal(a, b) }

// read sorts a report by server and group, but for those of its players who are
// ghosts.
func read(report *agentv1alpha1.ProxyReport, ghosts sets.Set[string]) said {
	sorted := said{
		names:    make(map[string]struct{}, len(report.GetRoster())),
		presence: map[string]Presence{}, waiting: map[string][]*waiters{},
		watchers: map[string][]*agentv1alpha1.Player{},
		moves:    map[string]Move{}, problems: map[string]agentv1alpha1.ForwardingState{},
	}
	for _, entry := range report.GetRoster() {
		if ghosts.Has(nameOf(entry.GetPlayer())) {
			continue
		}
		sorted.players++
		sorted.names[nameOf(entry.GetPlayer())] = struct{}{}
		sorted.roster = append(sorted.roster, placed{nameOf(entry.GetPlayer()), entry.GetServer(), entry.GetDestination()})
		if name := entry.GetServer(); name != "" {
			there := sorted.presence[name]
			there.On++
			sorted.presence[name] = there
			if entry.GetWatches() {
				sorted.watchers[name] = append(sorted.watchers[name], entry.GetPlayer())
			}
		}
		if name := entry.GetDestination(); name != "" && name != entry.GetServer() {
			there := sorted.presence[name]
			there.Coming++
			sorted.presence[name] = there
		}
	}
	for _, waiting := range report.GetWaiting() {
		held := &waiters{count: max(int(waiting.GetPlayers()), 0)}
		for _, name := range waiting.GetNames() {
			held.players = append(held.players, strings.ToLower(name))
		}
		sorted.waiting[waiting.GetGroup()] = append(sorted.waiting[waiting.GetGroup()], held)
	}
	for _, move := range report.GetMoves() {
		sorted.moves[move.GetServer()] = Move{
			Remaining:   max(int(move.GetRemaining()), 0),
			WithoutSeat: max(int(move.GetWithoutSeat()), 0),
		}
	}
	for _, problem := range report.GetForwardingProblems() {
		sorted.problems[problem.GetServer()] = problem.GetState()
	}
	return sorted
}

// Proxy returns what is known of the proxy in the pod with this UID. The zero
// value means that nothing is.
func (s *Store) Proxy(uid types.UID) ProxyState {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.proxies[uid]
	if !ok {
		return ProxyState{}
	}
	return ProxyState{
		Pod: known.pod, Connected: known.connected(), Since: known.since,
		Version: known.version, Capabilities: known.able,
		Freshness: freshness(known.sampledAt, s.clock.Now()),
		Players:   known.said.players, Withdrawn: known.report.GetWithdrawn(),
		HoldsDirectory: known.fullRevision != 0 && known.report.GetDirectoryRevision() >= known.fullRevision,
		Report:         known.report,
	}
}

// SetProxySettings states the configuration of a proxy. It may be called
// before the proxy connects, and must not change settings afterwards.
func (s *Store) SetProxySettings(uid types.UID, settings *agentv1alpha1.ProxySettings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.proxyFor(uid)
	if !proto.Equal(of.settings, settings) {
		of.settings = settings
		of.notify()
	}
}

func (s *Store) wakeAboutProxy(pod ProxyPod) {
	s.wakes.add(ProxyGroup, pod.Pod.Namespace, pod.Group)
	s.wakes.add(Network, pod.Pod.Namespace, pod.Network)
}

// wakeAboutRoster wakes every server and group of which a proxy now says
// something else than before.
func (s *Store) wakeAboutRoster(of *proxy, before, now said) {
	namespace := of.pod.Pod.Namespace
	listed := s.directories[types.NamespacedName{Namespace: namespace, Name: of.pod.Network}]
	changed := map[string]struct{}{}
	different(changed, before.presence, now.presence)
	different(changed, before.moves, now.moves)
	different(changed, before.problems, now.problems)
	for name := range changed {
		s.wakes.add(Server, namespace, name)
		s.wakes.add(ServerGroup, namespace, listed.entry(name).GetGroup())
	}
	if len(changed) > 0 {
		s.wakes.add(Network, namespace, of.pod.Network)
	}
	waiting := map[string]struct{}{}
	differentBy(waiting, before.waiting, now.waiting, func(a, b []*waiters) bool {
		return slices.EqualFunc(a, b, (*waiters).equal)
	})
	for name := range waiting {
		s.wakes.add(ServerGroup, namespace, name)
	}
	s.notifyAboutWatchers(of, before, now)
}

// different collects the keys whose values differ, absent ones included.
func different[V comparable](into map[string]struct{}, before, now map[string]V) {
	differentBy(into, before, now, func(a, b V) bool { return a == b })
}

func differentBy[V any](into map[string]struct{}, before, now map[string]V, same func(a, b V) bool) {
	for key, value := range before {
		if other, ok := now[key]; !ok || !same(other, value) {
			into[key] = struct{}{}
		}
	}
	for key := range now {
		if _, ok := before[key]; !ok {
			into[key] = struct{}{}
		}
	}
}
