// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

type fixture struct {
	*testing.T
	*Store
	clock *clocktesting.FakeClock
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	clk := clocktesting.NewFakeClock(start)
	return &fixture{T: t, Store: New(Config{Version: "1.2.3", Clock: clk}), clock: clk}
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "minecraft", Name: name}
}

func serverPod(uid types.UID) ServerPod {
	return ServerPod{UID: uid, Server: named("lobby-a"), Group: "lobby", Network: "production"}
}

func proxyPod(uid types.UID) ProxyPod {
	return ProxyPod{UID: uid, Pod: named("front-proxy-" + string(uid)), Group: "front", Network: "production"}
}

// report sends a server report sampled the given age ago, by a pod whose clock
// runs ahead by skew.
func (f *fixture) report(session *ServerSession, report *agentv1alpha1.ServerReport, age, skew time.Duration) {
	f.Helper()
	sent := f.clock.Now().Add(skew)
	f.receive(session, report, sent.Add(-age), sent)
}

// receive is a report with the times the pod wrote on it.
func (f *fixture) receive(session *ServerSession, report *agentv1alpha1.ServerReport, sampled, sent time.Time) {
	f.Helper()
	report.SampledAt, report.SentAt = timestamppb.New(sampled), timestamppb.New(sent)
	if err := session.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: report}}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) proxyReport(session *ProxySession, report *agentv1alpha1.ProxyReport) {
	f.Helper()
	f.receiveProxy(session, report, f.clock.Now())
}

// receiveProxy is a report with the time the pod wrote on it.
func (f *fixture) receiveProxy(session *ProxySession, report *agentv1alpha1.ProxyReport, sent time.Time) {
	f.Helper()
	report.SampledAt, report.SentAt = timestamppb.New(sent), timestamppb.New(sent)
	if err := session.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Report{Report: report}}); err != nil {
		f.Fatal(err)
	}
}

// woken returns what has been woken since the last call.
func (f *fixture) woken() map[Wake]struct{} { return f.wakes.take() }

func (f *fixture) wantOrder(session *ServerSession, want *agentv1alpha1.ServerOrder) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
	defer cancel()
	got, err := session.Next(ctx)
	if err != nil {
		f.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		f.Fatalf("the next order differs (-want +got):\n%s", diff)
	}
}

func (f *fixture) proxyOrder(session *ProxySession) *agentv1alpha1.ProxyOrder {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
	defer cancel()
	got, err := session.Next(ctx)
	if err != nil {
		f.Fatal(err)
	}
	return got
}

// wantIdle fails when the session has an order to send right now.
func (f *fixture) wantIdle(pick func(time.Time) (any, time.Duration)) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if order, _ := pick(f.clock.Now()); order != nil {
		f.Fatalf("wanted nothing to send, got %v", order)
	}
}

func idle[Order any](pick func(time.Time) (*Order, time.Duration)) func(time.Time) (any, time.Duration) {
	return func(now time.Time) (any, time.Duration) {
		order, wait := pick(now)
		if order == nil {
			return nil, wait
		}
		return order, wait
	}
}

func TestFreshnessIsTheAgeOfTheSampleOnTheManagersClock(t *testing.T) {
	tests := map[string]struct {
		age, skew, passed time.Duration
		unsampled         bool
		want              Freshness
	}{
		"a new sample is fresh":                                  {want: Fresh},
		"a sample of two intervals is fresh":                     {passed: FreshFor, want: Fresh},
		"a sample past two intervals is stale":                   {passed: FreshFor + time.Second, want: Stale},
		"a stale sample in a new report is stale":                {age: FreshFor + time.Second, want: Stale},
		"a pod's clock an hour ahead changes nothing":            {skew: time.Hour, want: Fresh},
		"a pod's clock an hour behind changes nothing":           {skew: -time.Hour, want: Fresh},
		"a stale sample by a clock an hour ahead is stale":       {skew: time.Hour, age: time.Minute, want: Stale},
		"a report without a sample leaves the counts unknown":    {unsampled: true, want: Unknown},
		"a sample dated after its own sending is not the future": {age: -time.Hour, passed: FreshFor + time.Second, want: Stale},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
			if test.unsampled {
				message := &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: &agentv1alpha1.ServerReport{}}}
				if err := session.Receive(message); err != nil {
					t.Fatal(err)
				}
			} else {
				f.report(session, &agentv1alpha1.ServerReport{}, test.age, test.skew)
			}
			f.clock.Step(test.passed)
			if got := f.Server("u").Freshness; got != test.want {
				t.Errorf("freshness = %v, want %v", got, test.want)
			}
		})
	}
}

func TestAReportThatWaitedInABufferShowsItsAge(t *testing.T) {
	f := newFixture(t)
	session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	f.report(session, &agentv1alpha1.ServerReport{}, 0, 0)
	late := timestamppb.New(f.clock.Now())
	f.clock.Step(20 * time.Second)
	message := &agentv1alpha1.ServerReport{SampledAt: late, SentAt: late}
	if err := session.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: message}}); err != nil {
		t.Fatal(err)
	}
	if got := f.Server("u").Freshness; got != Stale {
		t.Errorf("freshness = %v, want stale", got)
	}
}

func TestAReportWakesOnlyWhenADecisionInputChanged(t *testing.T) {
	all := map[Wake]struct{}{{Server, named("lobby-a")}: {}, {ServerGroup, named("lobby")}: {}, {Network, named("production")}: {}}
	group := map[Wake]struct{}{{ServerGroup, named("lobby")}: {}}
	base := func() *agentv1alpha1.ServerReport {
		return &agentv1alpha1.ServerReport{GameState: agentv1alpha1.GameState_GAME_STATE_READY, Online: 3, Slots: 20, JoinsOpen: true}
	}
	tests := map[string]struct {
		change func(*agentv1alpha1.ServerReport)
		want   map[Wake]struct{}
	}{
		"its round has ended":     {func(r *agentv1alpha1.ServerReport) { r.RoundEnded = true }, all},
		"the same again":          {func(*agentv1alpha1.ServerReport) {}, map[Wake]struct{}{}},
		"a seat granted":          {func(r *agentv1alpha1.ServerReport) { r.SeatsPending = 1 }, all},
		"a player more":           {func(r *agentv1alpha1.ServerReport) { r.Online++ }, all},
		"a seat for somebody":     {func(r *agentv1alpha1.ServerReport) { r.Admitted = players("Ada") }, group},
		"somebody for another":    {func(r *agentv1alpha1.ServerReport) { r.Players = players("Ada") }, group},
		"a closed door":           {func(r *agentv1alpha1.ServerReport) { r.JoinsOpen = false }, all},
		"playable seats set to 0": {func(r *agentv1alpha1.ServerReport) { r.PlayableSlots = proto.Int32(0) }, all},
		"a game not ready":        {func(r *agentv1alpha1.ServerReport) { r.GameState = agentv1alpha1.GameState_GAME_STATE_STARTING }, all},
		"another forwarding state": {func(r *agentv1alpha1.ServerReport) {
			r.Forwarding = agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE
		}, all},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
			f.report(session, base(), 0, 0)
			f.woken()
			f.clock.Step(time.Second)
			changed := base()
			test.change(changed)
			f.report(session, changed, 0, 0)
			if diff := cmp.Diff(test.want, f.woken()); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountsThatGrowStaleWakeOnce(t *testing.T) {
	f := newFixture(t)
	session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	f.report(session, &agentv1alpha1.ServerReport{}, 0, 0)
	f.woken()
	f.clock.Step(FreshFor)
	f.sweep()
	if got := f.woken(); len(got) != 0 {
		t.Errorf("woken while fresh: %v", got)
	}
	f.clock.Step(time.Second)
	f.sweep()
	if _, ok := f.woken()[Wake{Server, named("lobby-a")}]; !ok {
		t.Error("the server was not woken when its counts went stale")
	}
	f.sweep()
	if got := f.woken(); len(got) != 0 {
		t.Errorf("woken again: %v", got)
	}
}

func TestForeignNumbersAreBounded(t *testing.T) {
	f := newFixture(t)
	session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	f.report(session, &agentv1alpha1.ServerReport{Online: -5, Slots: -1, SeatsPending: -2, PlayableSlots: proto.Int32(-9)}, 0, 0)
	got := f.Server("u").Report
	if got.GetOnline() != 0 || got.GetSlots() != 0 || got.GetSeatsPending() != 0 || got.GetPlayableSlots() != 0 {
		t.Errorf("negative numbers were kept: %v", got)
	}
}

func TestOrdersOfAServerSessionComeInOrderAndAreRestated(t *testing.T) {
	f := newFixture(t)
	settings := &agentv1alpha1.ServerSettings{Server: "lobby-a", Group: "lobby", MaxPlayers: 20}
	f.SetServerSettings("u", settings)
	session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	welcome := &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Welcome{Welcome: &agentv1alpha1.Welcome{
		Version: "1.2.3", Capabilities: []string{"network", "boosts", "retire", "connect", "newcomers", "errands", "cloud"}, ReportIntervalSeconds: 5,
	}}}
	stated := &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Settings{Settings: settings}}
	f.wantOrder(session, welcome)
	f.wantOrder(session, stated)
	f.wantIdle(idle(session.pick))

	f.SetServerSettings("u", proto.CloneOf(settings))
	f.wantIdle(idle(session.pick))

	f.clock.Step(ResyncEvery)
	f.wantOrder(session, stated)

	raised := &agentv1alpha1.ServerSettings{Server: "lobby-a", Group: "lobby", MaxPlayers: 30}
	f.SetServerSettings("u", raised)
	f.wantOrder(session, &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Settings{Settings: raised}})
}

func TestARenewedSessionTakesOverWithoutAGap(t *testing.T) {
	f := newFixture(t)
	old := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	f.report(old, &agentv1alpha1.ServerReport{Online: 3}, 0, 0)
	f.clock.Step(time.Second)
	f.woken()
	renewed := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	f.wantIdle(idle(old.pick))
	old.Close()
	if got := f.woken(); len(got) != 0 {
		t.Errorf("renewing woke %v", got)
	}
	if got := f.Server("u"); !got.Connected || got.Since != start || got.Freshness != Fresh || got.Report.GetOnline() != 3 {
		t.Errorf("state after renewal: %+v", got)
	}
	renewed.Close()
	renewed.Close()
	if got := f.Server("u"); got.Connected || got.Report.GetOnline() != 3 {
		t.Errorf("state after the end: %+v", got)
	}
}

func TestALateReportOfTheReplacedSessionIsDropped(t *testing.T) {
	f := newFixture(t)
	old := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	sentBefore := timestamppb.New(f.clock.Now())
	f.clock.Step(time.Second)
	renewed := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	f.report(renewed, &agentv1alpha1.ServerReport{Online: 4}, 0, 0)
	late := &agentv1alpha1.ServerReport{Online: 3, SampledAt: sentBefore, SentAt: sentBefore}
	if err := old.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: late}}); err != nil {
		t.Fatal(err)
	}
	if got := f.Server("u").Report.GetOnline(); got != 4 {
		t.Errorf("online = %d, want the newer report's 4", got)
	}
}

func TestSessionsThatStandStillAreCut(t *testing.T) {
	tests := map[string]struct {
		stand func(*fixture, *ServerSession)
	}{
		"one that says nothing": {func(f *fixture, _ *ServerSession) { f.clock.Step(silentFor) }},
		"one that takes nothing": {func(f *fixture, s *ServerSession) {
			if _, err := s.Next(f.Context()); err != nil {
				f.Fatal(err)
			}
			f.clock.Step(sendWithin)
		}},
		"one that is old": {func(f *fixture, s *ServerSession) {
			for range SessionEnds / (10 * time.Second) {
				f.clock.Step(10 * time.Second)
				f.report(s, &agentv1alpha1.ServerReport{}, 0, 0)
			}
		}},
		"one of a pod that is gone": {func(f *fixture, _ *ServerSession) { f.Forget("u") }},
		"one that its pod opened two others after": {func(f *fixture, _ *ServerSession) {
			f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
			f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
			f.sweep()
			select {
			case <-session.Cut():
				t.Fatal("cut too early")
			default:
			}
			test.stand(f, session)
			f.sweep()
			select {
			case <-session.Cut():
			default:
				t.Fatal("the session stands")
			}
			if _, err := session.Next(t.Context()); !errors.Is(err, ErrCut) {
				t.Errorf("cause = %v", err)
			}
		})
	}
}

func TestSavingAWorld(t *testing.T) {
	type step struct {
		do   func(*fixture, *ServerSession)
		want Saved
	}
	answer := func(words string) func(*fixture, *ServerSession) {
		return func(f *fixture, s *ServerSession) {
			result := &agentv1alpha1.SaveResult{Id: s.server.save.id, Error: words}
			if err := s.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{SaveResult: result}}); err != nil {
				f.Fatal(err)
			}
		}
	}
	nothing := func(*fixture, *ServerSession) {}
	tests := map[string][]step{
		"is pending until answered":    {{nothing, SavePending}, {nothing, SavePending}, {answer(""), SaveDone}},
		"fails with the agent's words": {{nothing, SavePending}, {answer("disk full"), SaveFailed}},
		"fails when nobody answers":    {{nothing, SavePending}, {func(f *fixture, _ *ServerSession) { f.clock.Step(SaveWithin) }, SaveFailed}},
		"fails without a session":      {{func(_ *fixture, s *ServerSession) { s.Close() }, SaveFailed}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
			for i, step := range steps {
				step.do(f, session)
				got, err := f.AskToSave("u")
				if got != step.want || (err != nil) != (got == SaveFailed) {
					t.Fatalf("step %d: %v, %v; want %v", i, got, err, step.want)
				}
			}
		})
	}
}

func TestASaveOrderIsSentOnceInEachSession(t *testing.T) {
	f := newFixture(t)
	session := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	if _, err := f.AskToSave("u"); err != nil {
		t.Fatal(err)
	}
	order := &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Save{Save: &agentv1alpha1.SaveOrder{Id: f.servers["u"].save.id}}}
	welcome := &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Welcome{Welcome: f.welcome()}}
	f.wantOrder(session, welcome)
	f.wantOrder(session, order)
	f.wantIdle(idle(session.pick))
	renewed := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{})
	f.wantOrder(renewed, welcome)
	f.wantOrder(renewed, order)
	f.wantIdle(idle(renewed.pick))
}

func TestForgottenPodsLeaveNothing(t *testing.T) {
	f := newFixture(t)
	for i := range 10 {
		uid := types.UID(strconv.Itoa(i))
		f.OpenServer(serverPod(uid), &agentv1alpha1.Hello{}).Close()
		f.OpenProxy(proxyPod(uid), &agentv1alpha1.Hello{}).Close()
	}
	f.clock.Step(forgetAfter)
	f.sweep()
	if len(f.servers)+len(f.proxies) != 0 {
		t.Errorf("%d servers and %d proxies are still known", len(f.servers), len(f.proxies))
	}
}
