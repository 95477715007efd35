// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func (f *fixture) ask(session *ServerSession, id string) {
	f.Helper()
	err := session.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Ask{Ask: &agentv1alpha1.Ask{Id: id}}})
	if err != nil {
		f.Fatal(err)
	}
}

// next is what there is to carry out now.
func (f *fixture) nextAsk() Asked {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
	defer cancel()
	asked, err := f.NextAsk(ctx)
	if err != nil {
		f.Fatal(err)
	}
	return asked
}

func (f *fixture) wantNothingToDo() {
	f.Helper()
	if asked, found := f.takeAsk(); found {
		f.Errorf("there is something to carry out: %v", asked.Ask)
	}
}

// welcomed opens a session and takes its welcome.
func (f *fixture) welcomed(pod ServerPod) *ServerSession {
	f.Helper()
	session := f.OpenServer(pod, &agentv1alpha1.Hello{})
	if f.order(session).GetWelcome() == nil {
		f.Fatal("the first order is no welcome")
	}
	return session
}

func done(detail string) *agentv1alpha1.Answer {
	return &agentv1alpha1.Answer{Verdict: agentv1alpha1.Verdict_VERDICT_DONE, Detail: detail}
}

func TestAnAskIsCarriedOutOnceHoweverOftenItComes(t *testing.T) {
	f := newFixture(t)
	session := f.welcomed(serverPod("1"))
	f.ask(session, "a")
	f.ask(session, "a")
	asked := f.nextAsk()
	if asked.Ask.GetId() != "a" || asked.Pod != serverPod("1") {
		t.Errorf("it is %+v", asked)
	}
	f.ask(session, "a")
	f.Answer(asked, done("once"))
	f.wantNothingToDo()
	if got := f.order(session).GetAnswer(); got.GetId() != "a" || got.GetDetail() != "once" {
		t.Errorf("the answer is %v", got)
	}
	f.wantIdle(idle(session.pick))
	f.ask(session, "a")
	f.wantNothingToDo()
	if got := f.order(session).GetAnswer(); got.GetDetail() != "once" {
		t.Errorf("the same again is answered with %v", got)
	}
}

func TestARenewedSessionLosesNoAnswer(t *testing.T) {
	f := newFixture(t)
	old := f.welcomed(serverPod("1"))
	f.ask(old, "a")
	asked := f.nextAsk()
	renewed := f.welcomed(serverPod("1"))
	old.Close()
	f.Answer(asked, done("once"))
	if got := f.order(renewed).GetAnswer(); got.GetDetail() != "once" {
		t.Errorf("the answer is %v", got)
	}
	again := f.welcomed(serverPod("1"))
	f.wantIdle(idle(again.pick))
	f.ask(again, "a")
	if got := f.order(again).GetAnswer(); got.GetDetail() != "once" {
		t.Errorf("after an answer that was lost with its session: %v", got)
	}
}

func TestAsksOfOneGroupAreCarriedOutOneAfterTheOther(t *testing.T) {
	f := newFixture(t)
	first := f.welcomed(serverPod("1"))
	second := f.welcomed(ServerPod{UID: "2", Server: named("lobby-b"), Group: "lobby", Network: "production"})
	other := f.welcomed(ServerPod{UID: "3", Server: named("duels-a"), Group: "duels", Network: "production"})
	f.ask(first, "a")
	f.ask(second, "b")
	f.ask(other, "c")
	one := f.nextAsk()
	if two := f.nextAsk(); two.Pod.Group != "duels" {
		t.Errorf("beside %v runs %v", one, two)
	}
	f.wantNothingToDo()
	f.Answer(one, done(""))
	if next := f.nextAsk(); next.Pod.Server != named("lobby-b") {
		t.Errorf("then comes %v", next)
	}
}

func TestAServerThatAsksTooOftenIsToldSo(t *testing.T) {
	f := newFixture(t)
	session := f.welcomed(serverPod("1"))
	for n := range askBurst {
		f.ask(session, strconv.Itoa(n))
		f.Answer(f.nextAsk(), done("granted"))
		if got := f.order(session).GetAnswer().GetDetail(); got != "granted" {
			t.Fatalf("ask number %d: %s", n, got)
		}
	}
	f.ask(session, "too many")
	f.wantNothingToDo()
	got := f.order(session).GetAnswer()
	if got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_TOO_OFTEN || !strings.Contains(got.GetDetail(), "asks too often: once every 3s") {
		t.Errorf("the answer is %v", got)
	}
	f.clock.Step(askEvery)
	f.ask(session, "later")
	if asked := f.nextAsk(); asked.Ask.GetId() != "later" {
		t.Errorf("it is %v", asked)
	}
}

func TestAnAskThatWasNotCarriedOutMayBeRepeatedUnderItsID(t *testing.T) {
	f := newFixture(t)
	session := f.welcomed(serverPod("1"))
	for n := range askBurst {
		f.ask(session, strconv.Itoa(n))
		f.Answer(f.nextAsk(), done(""))
		f.order(session)
	}
	f.ask(session, "round-7")
	f.ask(session, "round-7")
	if got := f.order(session).GetAnswer(); got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_TOO_OFTEN {
		t.Fatalf("at once: %v", got)
	}
	f.wantIdle(idle(session.pick))
	f.clock.Step(2 * askEvery)
	f.ask(session, "round-7")
	f.Answer(f.nextAsk(), &agentv1alpha1.Answer{Verdict: agentv1alpha1.Verdict_VERDICT_FAILED})
	if got := f.order(session).GetAnswer(); got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_FAILED {
		t.Fatalf("then: %v", got)
	}
	f.ask(session, "round-7")
	f.Answer(f.nextAsk(), done("made"))
	if got := f.order(session).GetAnswer(); got.GetId() != "round-7" || got.GetDetail() != "made" {
		t.Errorf("at last: %v", got)
	}
	f.ask(session, "round-7")
	f.wantNothingToDo()
}

func TestWhatIsRememberedOfAServersAsksIsBounded(t *testing.T) {
	f := newFixture(t)
	session := f.welcomed(serverPod("1"))
	for n := range 3 * asksKept {
		f.ask(session, strconv.Itoa(n))
		f.clock.Step(askEvery)
	}
	f.mu.Lock()
	kept := len(f.Store.servers[types.UID("1")].asks)
	waiting := len(f.questions.waiting)
	f.mu.Unlock()
	if kept != asksKept || waiting != asksOpen {
		t.Errorf("%d are remembered, want %d; %d wait, want %d", kept, asksKept, waiting, asksOpen)
	}
}

func TestAnAskWithoutAnIDEndsTheSession(t *testing.T) {
	f := newFixture(t)
	session := f.welcomed(serverPod("1"))
	for _, id := range []string{"", strings.Repeat("x", longestAskID+1)} {
		message := &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Ask{Ask: &agentv1alpha1.Ask{Id: id}}}
		if err := session.Receive(message); err == nil {
			t.Errorf("an id of %d bytes was taken", len(id))
		}
	}
}

func TestAServerThatIsGoneHoldsNobodyUp(t *testing.T) {
	f := newFixture(t)
	session := f.welcomed(serverPod("1"))
	f.ask(session, "a")
	asked := f.nextAsk()
	f.Forget("1")
	f.Answer(asked, done(""))
	another := f.welcomed(ServerPod{UID: "2", Server: named("lobby-b"), Group: "lobby", Network: "production"})
	f.ask(another, "b")
	if next := f.nextAsk(); next.Pod.UID != "2" {
		t.Errorf("then comes %v", next)
	}
}
