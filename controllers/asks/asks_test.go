// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"context"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// bench is an office beside a channel to which servers are connected.
type bench struct {
	*testing.T
	*sessions.Store

	office *Office
}

// serverIn is the only server of the namespace, of a group of the same name.
func serverIn(namespace string) []client.Object {
	group := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "lobby", UID: types.UID(namespace + "-group")}}
	return []client.Object{group, &v1alpha1.Server{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "lobby-a", UID: types.UID(namespace + "-server"),
			OwnerReferences: []metav1.OwnerReference{podspec.ControlledBy(podspec.KindServerGroup, group)},
		},
		Spec:   v1alpha1.ServerSpec{GroupRef: v1alpha1.GroupReference{Name: "lobby"}},
		Status: v1alpha1.ServerStatus{PodUID: namespace + "-pod"},
	}}
}

func newBench(t *testing.T, tell recorder.EventRecorder, namespaces ...string) *bench {
	t.Helper()
	scheme := newScheme(t)
	var objects []client.Object
	for _, namespace := range namespaces {
		objects = append(objects, serverIn(namespace)...)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	store := sessions.New(sessions.Config{Version: "test", Clock: clock.RealClock{}})
	return &bench{t, store, &Office{Client: kube, Live: kube, Sessions: store, Players: store, Events: tell, Clock: clock.RealClock{}}}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func (b *bench) server(namespace string) *sessions.ServerSession {
	return b.OpenServer(sessions.ServerPod{
		UID: types.UID(namespace + "-pod"), Server: types.NamespacedName{Namespace: namespace, Name: "lobby-a"}, Group: "lobby", Network: "production",
	}, &agentv1alpha1.Hello{})
}

func (b *bench) ask(session *sessions.ServerSession, ask *agentv1alpha1.Ask) {
	b.Helper()
	if err := session.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Ask{Ask: ask}}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) answer(session *sessions.ServerSession) *agentv1alpha1.Answer {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	for {
		order, err := session.Next(ctx)
		if err != nil {
			b.Fatalf("no answer came: %v", err)
		}
		if answer := order.GetAnswer(); answer != nil {
			return answer
		}
	}
}

func send(id, name string) *agentv1alpha1.Ask {
	return &agentv1alpha1.Ask{Id: id, Ask: &agentv1alpha1.Ask_Connect{Connect: &agentv1alpha1.Connect{
		Player: &agentv1alpha1.Player{Name: name}, To: "duels",
	}}}
}

// stalled is a channel whose proxies never say what became of a move.
type stalled struct {
	*sessions.Store

	begun chan struct{}
	end   chan struct{}
}

func (s stalled) Connect(context.Context, sessions.Asked) (*agentv1alpha1.Answer, *agentv1alpha1.Player) {
	s.begun <- struct{}{}
	<-s.end
	return verdict(agentv1alpha1.Verdict_VERDICT_FAILED, "not in time"), nil
}

func TestMovesThatStallKeepNobodyElseWaiting(t *testing.T) {
	b := newBench(t, events.NewFakeRecorder(100), "one", "two")
	channel := stalled{b.Store, make(chan struct{}, 64), make(chan struct{})}
	b.office.Players = channel
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- b.office.Start(ctx) }()
	greedy, modest := b.server("one"), b.server("two")
	for n := range 64 {
		b.ask(greedy, send(strconv.Itoa(n), "Ada"))
	}
	for range 64 {
		select {
		case <-channel.begun:
		case <-time.After(30 * time.Second):
			t.Error("not all of the moves were begun")
		}
		if t.Failed() {
			break
		}
	}
	b.ask(modest, &agentv1alpha1.Ask{Id: "boosts", Ask: &agentv1alpha1.Ask_ListBoosts{ListBoosts: &agentv1alpha1.ListBoosts{}}})
	if got := b.answer(modest); got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_DONE {
		t.Errorf("the answer is %v", got)
	}
	close(channel.end)
	if got := b.answer(greedy); got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_FAILED {
		t.Errorf("a move that stalled is answered with %v", got)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
