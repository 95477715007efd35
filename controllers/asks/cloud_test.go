// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// staffBench is an office over a group that may have four servers, one retired
// server of it, and a boost that somebody made by hand.
type staffBench struct {
	*bench

	told *events.FakeRecorder
	asks int
}

func newStaffBench(t *testing.T, kind v1alpha1.GroupType) *staffBench {
	t.Helper()
	told := events.NewFakeRecorder(100)
	b := &staffBench{bench: newBench(t, told, "one"), told: told}
	var group v1alpha1.ServerGroup
	if err := b.office.Client.Get(t.Context(), client.ObjectKey{Namespace: "one", Name: "lobby"}, &group); err != nil {
		t.Fatal(err)
	}
	group.Spec.NetworkRef.Name, group.Spec.Type = "production", kind
	group.Spec.Scaling = v1alpha1.Scaling{MinReplicas: new(int32(1)), MaxReplicas: 4}
	byHand := &v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "friday"}}
	byHand.Spec = v1alpha1.ScaleBoostSpec{GroupRef: v1alpha1.GroupReference{Name: "lobby"}, Mode: v1alpha1.BoostAdd, Replicas: new(int32(1))}
	if err := b.office.Client.Update(t.Context(), &group); err != nil {
		t.Fatal(err)
	}
	if err := b.office.Client.Create(t.Context(), byHand); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *staffBench) put(ask *agentv1alpha1.CloudAsk) *agentv1alpha1.CloudAnswer {
	b.Helper()
	b.asks++
	ask.Id, ask.By = strconv.Itoa(b.asks), &agentv1alpha1.Player{Name: "Ada"}
	answer, err := b.office.decideForStaff(b.Context(), staff{sessions.Asked{Cloud: ask, Proxy: sessions.ProxyPod{
		UID: "p", Pod: types.NamespacedName{Namespace: "one", Name: "edge-a"}, Network: "production",
	}}})
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

func (b *staffBench) boosts() []string {
	b.Helper()
	var list v1alpha1.ScaleBoostList
	if err := b.office.Client.List(b.Context(), &list); err != nil {
		b.Fatal(err)
	}
	var modes []string
	for _, boost := range list.Items {
		modes = append(modes, boost.Name+" "+string(boost.Spec.Mode))
	}
	return modes
}

func scaleTo(replicas int32) *agentv1alpha1.CloudAsk {
	return &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_ScaleGroup{ScaleGroup: &agentv1alpha1.ScaleGroup{Group: "lobby", Replicas: replicas}}}
}

func startMore(replicas int32) *agentv1alpha1.CloudAsk {
	return &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_StartServers{StartServers: &agentv1alpha1.ScaleGroup{Group: "lobby", Replicas: replicas}}}
}

func TestStaffBoostsAGroupAndEndsThat(t *testing.T) {
	b := newStaffBench(t, v1alpha1.GroupEphemeral)
	for _, ask := range []*agentv1alpha1.CloudAsk{startMore(2), scaleTo(3), scaleTo(0)} {
		if answer := b.put(ask); answer.GetVerdict() != agentv1alpha1.Verdict_VERDICT_DONE || len(answer.GetBoosts()) != 1 {
			t.Fatalf("%v is answered with %v", ask, answer)
		}
		if told := <-b.told.Events; !strings.Contains(told, "BoostAdded") || !strings.Contains(told, "Ada asked for") {
			t.Errorf("told: %s", told)
		}
	}
	if got := b.boosts(); len(got) != 4 {
		t.Errorf("each call makes a new object: %v", got)
	}
	b.wantEnded()
}

// wantEnded ends what there is: one that adds, two that hold the group at a
// number, and one that was made by hand.
func (b *staffBench) wantEnded() {
	b.Helper()
	reset := b.put(&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_ResetGroup{ResetGroup: &agentv1alpha1.GroupName{Group: "lobby"}}})
	if len(reset.GetBoosts()) != 2 || len(reset.GetByHand()) != 0 {
		b.Errorf("reset: %v", reset)
	}
	stop := b.put(&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_StopBoosts{StopBoosts: &agentv1alpha1.GroupName{Group: "lobby"}}})
	if len(stop.GetBoosts()) != 1 || len(stop.GetByHand()) != 1 || stop.GetByHand()[0] != "friday" {
		b.Errorf("stop: %v", stop)
	}
	if got := b.boosts(); len(got) != 1 || got[0] != "friday Add" {
		b.Errorf("what was made by hand is all that stays: %v", got)
	}
}

func TestStaffIsRefusedInWordsOfTheirOwn(t *testing.T) {
	for name, tt := range map[string]struct {
		kind v1alpha1.GroupType
		ask  *agentv1alpha1.CloudAsk
		want string
	}{
		"beyond maxReplicas":           {v1alpha1.GroupEphemeral, scaleTo(5), "5 servers are more than maxReplicas of lobby, which is 4"},
		"beyond maxReplicas, by boost": {v1alpha1.GroupEphemeral, startMore(3), "3 more than minReplicas 1 and live boosts of 1 are 5 servers, and maxReplicas of lobby is 4"},
		"a persistent group":           {v1alpha1.GroupPersistent, scaleTo(1), "lobby is persistent"},
		"retiring a persistent one": {v1alpha1.GroupPersistent, &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_RetireServer{
			RetireServer: &agentv1alpha1.ServerName{Server: "lobby-a"},
		}}, "lobby-a is of the persistent group lobby"},
		"a group of nobody": {v1alpha1.GroupEphemeral, &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_StopBoosts{
			StopBoosts: &agentv1alpha1.GroupName{Group: "hub"},
		}}, `there is no group "hub" in this network`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newStaffBench(t, tt.kind)
			if answer := b.put(tt.ask); answer.GetVerdict() == agentv1alpha1.Verdict_VERDICT_DONE || !strings.Contains(answer.GetDetail(), tt.want) {
				t.Errorf("the answer is %v", answer)
			}
			if got := b.boosts(); len(got) != 1 {
				t.Errorf("boosts: %v", got)
			}
		})
	}
}

func TestStaffIsGrantedSevenDaysAtMost(t *testing.T) {
	for _, seconds := range []int64{7*24*3600 + 1, math.MaxInt64, math.MinInt64, -1, math.MaxInt64 / int64(time.Second) * 3} {
		b := newStaffBench(t, v1alpha1.GroupEphemeral)
		for _, ask := range []*agentv1alpha1.CloudAsk{scaleTo(1), startMore(1)} {
			if wish := ask.GetScaleGroup(); wish != nil {
				wish.Seconds = seconds
			}
			if wish := ask.GetStartServers(); wish != nil {
				wish.Seconds = seconds
			}
			if answer := b.put(ask); answer.GetVerdict() != agentv1alpha1.Verdict_VERDICT_MALFORMED {
				t.Errorf("%d seconds are answered with %v", seconds, answer)
			}
		}
		if got := b.boosts(); len(got) != 1 {
			t.Errorf("boosts: %v", got)
		}
	}
}

func TestStaffRetiresAServerAndTakesThatBack(t *testing.T) {
	b := newStaffBench(t, v1alpha1.GroupEphemeral)
	reason := func() v1alpha1.RetireReason {
		var server v1alpha1.Server
		if err := b.office.Client.Get(t.Context(), client.ObjectKey{Namespace: "one", Name: "lobby-a"}, &server); err != nil {
			t.Fatal(err)
		}
		return server.Spec.RetireReason
	}
	name := &agentv1alpha1.ServerName{Server: "lobby-a"}
	b.put(&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_RetireServer{RetireServer: name}})
	if got := reason(); got != v1alpha1.RetireRequested {
		t.Errorf("retired: %q", got)
	}
	b.put(&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_UnretireServer{UnretireServer: name}})
	if got := reason(); got != v1alpha1.RetireNone {
		t.Errorf("taken back: %q", got)
	}
	for _, want := range []string{"ServerRetired", "ServerTakenBack"} {
		if told := <-b.told.Events; !strings.Contains(told, want) || !strings.Contains(told, "Ada asked for that in the game") {
			t.Errorf("told: %s", told)
		}
	}
}
