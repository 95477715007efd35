// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// sink is an API server that keeps nothing but tells of every new event.
type sink struct{ made chan *eventsv1.Event }

func (s sink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.made <- event
	return event, nil
}

func (sink) Update(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, nil
}

func (sink) Patch(_ context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return event, nil
}

// prompt is a channel whose proxies move whoever is named.
type prompt struct{ *sessions.Store }

func (prompt) Connect(_ context.Context, asked sessions.Asked) (*agentv1alpha1.Answer, *agentv1alpha1.Player) {
	return verdict(agentv1alpha1.Verdict_VERDICT_DONE, ""), asked.Ask.GetConnect().GetPlayer()
}

func boost(id string, replicas int32) *agentv1alpha1.Ask {
	return &agentv1alpha1.Ask{Id: id, Ask: &agentv1alpha1.Ask_AddBoost{AddBoost: &agentv1alpha1.AddBoost{Replicas: replicas, Seconds: 60}}}
}

// The real broadcaster folds events that differ in their notes alone.
func TestEverythingThatIsAuditedIsAnEventOfItsOwn(t *testing.T) {
	made := sink{make(chan *eventsv1.Event, 100)}
	broadcaster := events.NewBroadcaster(made)
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	tell, ok := broadcaster.NewRecorder(newScheme(t), "spawnery-asks").(recorder.EventRecorder)
	if !ok {
		t.Fatal("the recorder is none")
	}
	b := newBench(t, tell, "one")
	b.office.Players = prompt{b.Store}
	session := b.server("one")
	retires := &agentv1alpha1.Ask{Id: "8", Ask: &agentv1alpha1.Ask_Retire{Retire: &agentv1alpha1.Retire{}}}
	for _, ask := range []*agentv1alpha1.Ask{
		send("1", "Ada"), send("2", "Ben"), send("3", "Cid"), send("4", "Dan"), send("5", "Ada"),
		boost("6", 2), boost("7", 2), retires, boost("9", 3),
	} {
		b.ask(session, ask)
		if err := b.office.CarryOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.answer(session)
	}
	want := []string{
		"lobby-a: a plugin asked for 2 servers more: 2 more than minReplicas 0 and live boosts of 0 are 2 servers, and maxReplicas of lobby is 0",
		"lobby-a: a plugin asked for 3 servers more: 3 more than minReplicas 0 and live boosts of 0 are 3 servers, and maxReplicas of lobby is 0",
		"lobby-a: a plugin asked for its retirement: lobby-a is not ready yet; a server retires once it has been ready for 1m0s",
		"lobby-a: a plugin sent Ada to duels", "lobby-a: a plugin sent Ben to duels",
		"lobby-a: a plugin sent Cid to duels", "lobby-a: a plugin sent Dan to duels",
	}
	var notes []string
	for len(notes) < len(want) {
		select {
		case event := <-made.made:
			if event.Related.Kind != "Server" || event.Related.Name != "lobby-a" || event.Regarding.Name != "lobby" {
				t.Errorf("it regards %v and is related to %v", event.Regarding, event.Related)
			}
			notes = append(notes, event.Note)
		case <-time.After(30 * time.Second):
			t.Fatalf("there are events only of %q", notes)
		}
	}
	slices.Sort(notes)
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}
