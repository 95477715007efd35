// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"context"
	"testing"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/seats/seatstest"
)

func TestAPlayerWhoGoesDuringTheQuestionLeavesNoSeat(t *testing.T) {
	n := newNetwork(t)
	ctx, cancel := context.WithCancel(t.Context())
	// The player goes while the agent counts.
	a, err := seatstest.Start(seatstest.Config{
		Server: "lobby-a", Playable: 20, Slots: 20, Secret: secret,
		Online: func() []string { cancel(); time.Sleep(20 * time.Millisecond); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	n.listed = append(n.listed, &agentv1alpha1.DirectoryServer{
		Name: "lobby-a", Group: "lobby", SeatAddress: a.Address(), Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN,
		Players: new(int32), PlayableSlots: 20, Slots: 20,
	})
	n.publish()
	place, err := n.finder(clock.RealClock{}).Find(ctx, n.request(routing.ByChoice, "lobby"))
	if err == nil {
		place.Close()
	}
	for deadline := time.Now().Add(5 * time.Second); a.Asked() == 0 || a.Pending() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d asked, %d seats are held for nobody", a.Asked(), a.Pending())
		}
	}
}
