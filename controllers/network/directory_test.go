// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

func held(kind string, status metav1.ConditionStatus, message string) func(*v1alpha1.ServerGroup) {
	return func(group *v1alpha1.ServerGroup) {
		group.Status.Conditions = []metav1.Condition{{Type: kind, Status: status, Message: message}}
	}
}

// What the proxies are told of a group follows its status, and a count in it
// wakes nobody.
func TestWhichChangesOfAGroupReachTheProxies(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.ServerGroup)
		passes bool
	}{
		"a pin":                    {func(g *v1alpha1.ServerGroup) { g.Status.PinnedReplicas = new(int32(0)) }, true},
		"when it ends":             {func(g *v1alpha1.ServerGroup) { g.Status.PinnedUntil = new(metav1.NewTime(now.Add(time.Hour))) }, true},
		"a boost":                  {func(g *v1alpha1.ServerGroup) { g.Status.BoostedReplicas = new(int32(2)) }, true},
		"trouble":                  {held(v1alpha1.ConditionScalingLimited, metav1.ConditionTrue, "maxReplicas 8 holds back 2 servers"), true},
		"a start that fails":       {held(v1alpha1.ConditionBackingOff, metav1.ConditionTrue, "waits"), true},
		"a condition that is well": {held(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "all serve"), false},
		"a count":                  {func(g *v1alpha1.ServerGroup) { g.Status.ReadyReplicas = new(int32(4)) }, false},
		"free seats":               {func(g *v1alpha1.ServerGroup) { g.Status.FreeSlots = new(int32(40)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			was := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Name: "lobby"}}
			is := was.DeepCopy()
			tt.change(is)
			if got := listed().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != tt.passes {
				t.Errorf("it passes: %t", got)
			}
		})
	}
}

func TestTroubleOfAGroupIsShort(t *testing.T) {
	var group v1alpha1.ServerGroup
	held(v1alpha1.ConditionDegraded, metav1.ConditionTrue, strings.Repeat("ä", 2*longestTrouble))(&group)
	if got, want := groupOf(&group).GetTrouble(), strings.Repeat("ä", longestTrouble)+"…"; got != want {
		t.Errorf("told: %q", got)
	}
}
