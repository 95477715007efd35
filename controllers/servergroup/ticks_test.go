// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestATickIsTakenOnceInItsInterval(t *testing.T) {
	var clock ticks
	key := types.NamespacedName{Namespace: "minecraft", Name: "hub"}
	if !clock.take(key, now) || clock.take(key, now.Add(4*time.Second)) || !clock.take(key, now.Add(tick)) {
		t.Error("ticks were not five seconds apart")
	}
	if got := clock.next(key, now.Add(tick+2*time.Second)); got != 3*time.Second {
		t.Errorf("next tick in %v, want 3s", got)
	}
}
