// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// ServerState is what is known of one server's agent at an instant.
type ServerState struct {
	// Pod is the zero value until the first session of the pod.
	Pod ServerPod
	// Connected says whether a session stands.
	Connected bool
	// Since is when the last change of Connected happened.
	Since time.Time
	// Version and Capabilities are those of the last Hello.
	Version      string
	Capabilities []string
	// Freshness is the worth of Report.
	Freshness Freshness
	// SampledAt is when the game was asked, on the manager's clock.
	SampledAt time.Time
	// GameStateSince is when the reported game state became what it is.
	GameStateSince time.Time
	// Report is the last one, or nil. It must not be changed.
	Report *agentv1alpha1.ServerReport
}

// server is one server pod.
type server struct {
	peer
	pod        ServerPod
	report     *agentv1alpha1.ServerReport
	online     []string // whom the game names
	admitted   []string // who has a seat and is not named
	stateSince time.Time
	settings   *agentv1alpha1.ServerSettings
	save       *save
	// wishes counts how often the agent began to want to know the network.
	wishes     int
	comparison comparison
	askedFor
}

// save is one order to write the world and what became of it.
type save struct {
	id      string
	askedAt time.Time
	sentOn  *link
	done    bool
	err     error
}

// ServerSession is one session of a server's agent.
type ServerSession struct {
	*link
	server   *server
	settings *agentv1alpha1.ServerSettings
	watchers restated
	outlook  outlook
}

// OpenServer begins a session. The newest session of a pod is the one that
// gets orders. The caller must Close it.
func (s *Store) OpenServer(pod ServerPod, hello *agentv1alpha1.Hello) *ServerSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	opened := &ServerSession{link: s.newLink(), server: s.serverFor(pod.UID)}
	if !opened.server.connected() || opened.server.version != hello.GetVersion() {
		s.wakeAboutServer(pod)
	}
	opened.server.pod = pod
	opened.server.open(opened.link, hello)
	return opened
}

func (s *Store) serverFor(uid types.UID) *server {
	found, ok := s.servers[uid]
	if !ok {
		found = &server{peer: peer{since: s.clock.Now()}}
		s.servers[uid] = found
	}
	return found
}

// Close ends the session. It may be called more than once.
func (s *ServerSession) Close() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.server.close(s.link, s.store.clock.Now())
	if !s.server.connected() {
		s.store.wakeAboutServer(s.server.pod)
	}
}

// Next waits for the next order of this session. Sending it is bounded from
// here to the next call.
func (s *ServerSession) Next(ctx context.Context) (*agentv1alpha1.ServerOrder, error) {
	return next(ctx, s.link, s.pick)
}

func (s *ServerSession) pick(now time.Time) (*agentv1alpha1.ServerOrder, time.Duration) {
	if s.server.newest() != s.link {
		return nil, SessionEnds
	}
	settings, save := s.server.settings, s.server.save
	due := now.Sub(s.restatedAt) >= ResyncEvery
	switch {
	case !s.welcomed || (due && settings == nil):
		s.welcomed, s.restatedAt = true, now
		return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Welcome{Welcome: s.store.welcome()}}, 0
	case settings != nil && (due || settings != s.settings):
		s.settings, s.restatedAt = settings, now
		return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Settings{Settings: settings}}, 0
	case save != nil && !save.done && save.sentOn != s.link:
		save.sentOn = s.link
		return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Save{Save: &agentv1alpha1.SaveOrder{Id: save.id}}}, 0
	}
	order, wait := s.pickNews(now)
	return order, min(wait, ResyncEvery-now.Sub(s.restatedAt))
}

// pickNews returns what the agent lacks of answers, and of what proxies and
// servers say.
func (s *ServerSession) pickNews(now time.Time) (*agentv1alpha1.ServerOrder, time.Duration) {
	if answer := s.server.pickAnswer(); answer != nil {
		return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Answer{Answer: answer}}, 0
	}
	watchers, wait := s.pickWatchers(now)
	if watchers != nil {
		return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Watchers{Watchers: watchers}}, 0
	}
	network, until := s.pickNetwork(now)
	if network != nil {
		return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Network{Network: network}}, 0
	}
	return nil, min(wait, until)
}

// Receive takes in one message. An error means that the peer does not keep to
// the protocol and its session has to end.
func (s *ServerSession) Receive(message *agentv1alpha1.ServerMessage) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := s.store.clock.Now()
	s.heard = now
	switch said := message.GetMessage().(type) {
	case *agentv1alpha1.ServerMessage_Hello:
		return errors.New("a session holds one hello")
	case *agentv1alpha1.ServerMessage_Report:
		s.store.serverReported(s.server, said.Report, now)
	case *agentv1alpha1.ServerMessage_SaveResult:
		s.store.saveAnswered(s.server, said.SaveResult)
	case *agentv1alpha1.ServerMessage_Ask:
		return s.store.asked(s.server, said.Ask, now)
	}
	return nil
}

func (s *Store) serverReported(from *server, report *agentv1alpha1.ServerReport, now time.Time) {
	boundServer(report)
	if !from.dated(report.GetSampledAt(), report.GetSentAt(), now) {
		return
	}
	before, wereOnline, wereAdmitted := from.report, from.online, from.admitted
	from.report, from.online, from.admitted = report, namesOf(report.GetPlayers()), namesOf(report.GetAdmitted())
	if report.GetNetworkWanted() && !before.GetNetworkWanted() {
		from.wishes++
		from.notify()
	}
	if before.GetGameState() != report.GetGameState() {
		from.stateSince = now
	}
	switch {
	case from.aged(now) || before == nil || decisionInput(before) != decisionInput(report):
		s.wakeAboutServer(from.pod)
	case !slices.Equal(wereOnline, from.online) || !slices.Equal(wereAdmitted, from.admitted):
		s.wakes.add(ServerGroup, from.pod.Server.Namespace, from.pod.Group)
	}
}

// input holds what decisions read of a report.
type input struct {
	state      agentv1alpha1.GameState
	forwarding agentv1alpha1.ForwardingState
	detail     string
	online     int32
	slots      int32
	playable   int32
	joinsOpen  bool
	roundEnded bool
	// awaited is true while a seat is held for somebody on the way.
	awaited bool
}

func decisionInput(report *agentv1alpha1.ServerReport) input {
	playable := int32(-1)
	if report.PlayableSlots != nil {
		playable = report.GetPlayableSlots()
	}
	return input{
		state: report.GetGameState(), forwarding: report.GetForwarding(), detail: report.GetDetail(),
		online: report.GetOnline(), slots: report.GetSlots(), playable: playable, joinsOpen: report.GetJoinsOpen(),
		roundEnded: report.GetRoundEnded(),
		awaited:    report.GetSeatsPending() > 0,
	}
}

// boundServer brings what a foreign program sent into the bounds that the rest
// of the manager relies on.
func boundServer(report *agentv1alpha1.ServerReport) {
	report.Online = max(report.GetOnline(), 0)
	report.Slots = max(report.GetSlots(), 0)
	report.SeatsPending = max(report.GetSeatsPending(), 0)
	if report.PlayableSlots != nil {
		report.PlayableSlots = new(max(report.GetPlayableSlots(), 0))
	}
	if detail := []rune(report.GetDetail()); len(detail) > detailRunes {
		report.Detail = string(detail[:detailRunes])
	}
}

// detailRunes keeps a detail well inside a condition's message and an event's
// note.
const detailRunes = 256

// Server returns what is known of the agent in the pod with this UID. The zero
// value means that nothing is.
func (s *Store) Server(uid types.UID) ServerState {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.servers[uid]
	if !ok {
		return ServerState{}
	}
	return ServerState{
		Pod: known.pod, Connected: known.connected(), Since: known.since,
		Version: known.version, Capabilities: known.able,
		Freshness: freshness(known.sampledAt, s.clock.Now()), SampledAt: known.sampledAt,
		GameStateSince: known.stateSince, Report: known.report,
	}
}

// SetServerSettings states what the agent of a pod is to know. It may be called
// before the agent connects, and must not change settings afterwards.
func (s *Store) SetServerSettings(uid types.UID, settings *agentv1alpha1.ServerSettings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.serverFor(uid)
	if !proto.Equal(of.settings, settings) {
		of.settings = settings
		of.notify()
	}
}

// Saved says how far an order to save the world has come.
type Saved int

const (
	// SavePending means that the answer is awaited; it wakes the Server.
	SavePending Saved = iota
	// SaveDone means that the world is on disk, or that there is none.
	SaveDone
	// SaveFailed means that there will be no good answer.
	SaveFailed
)

// AskToSave orders the world of a pod to be written, once, and says how far
// that has come. With SaveFailed comes the reason: ErrNotConnected, the
// agent's words, or that SaveWithin has passed.
func (s *Store) AskToSave(uid types.UID) (Saved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.servers[uid]
	switch {
	case !ok:
		return SaveFailed, ErrNotConnected
	case of.save == nil && !of.connected():
		return SaveFailed, ErrNotConnected
	case of.save == nil:
		of.save = &save{id: uuid.NewString(), askedAt: s.clock.Now()}
		of.notify()
		return SavePending, nil
	case of.save.done && of.save.err != nil:
		return SaveFailed, of.save.err
	case of.save.done:
		return SaveDone, nil
	case s.clock.Since(of.save.askedAt) >= SaveWithin:
		return SaveFailed, fmt.Errorf("the world was not saved within %s", SaveWithin)
	}
	return SavePending, nil
}

func (s *Store) saveAnswered(by *server, result *agentv1alpha1.SaveResult) {
	if by.save == nil || by.save.done || by.save.id != result.GetId() {
		return
	}
	by.save.done = true
	if result.GetError() != "" {
		by.save.err = fmt.Errorf("the agent did not save the world: %s", result.GetError())
	}
	s.wakes.add(Server, by.pod.Server.Namespace, by.pod.Server.Name)
}

// Save is AskToSave for callers that can wait. It returns nil once the world
// is saved, and the reason when it will not be.
func (s *Store) Save(ctx context.Context, uid types.UID) error {
	ticker := s.clock.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if saved, err := s.AskToSave(uid); saved != SavePending {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the world to be saved: %w", context.Cause(ctx))
		case <-ticker.C():
		}
	}
}

func (s *Store) wakeAboutServer(pod ServerPod) {
	namespace := pod.Server.Namespace
	s.wakes.add(Server, namespace, pod.Server.Name)
	s.wakes.add(ServerGroup, namespace, pod.Group)
	s.wakes.add(Network, namespace, pod.Network)
}
