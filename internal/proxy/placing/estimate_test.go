// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func TestTheHighestSourceIsBelieved(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	e := newEstimates(clk)
	lobby := &agentv1alpha1.DirectoryServer{Name: "lobby-a", Players: new(int32(3))}
	expect := func(what string, want int) {
		t.Helper()
		if got := e.players(lobby); got != want {
			t.Errorf("%s: %d players, want %d", what, got, want)
		}
	}
	expect("the directory alone", 3)
	for range 5 {
		e.move("lobby-a", 1)
	}
	expect("more of this proxy are there", 5)
	e.tell("lobby-a", 9)
	expect("the agent knows of more", 9)
	e.tell("lobby-a", 8)
	expect("an older answer came later", 9)
	clk.SetTime(clk.Now().Add(tellsFor))
	expect("the answer is old", 5)
	e.tell("lobby-a", 4)
	expect("a new answer is lower", 5)
	for range 5 {
		e.move("lobby-a", -1)
	}
	expect("ours have left", 4)
	clk.SetTime(clk.Now().Add(tellsFor))
	expect("all of it is old", 3)
	e.tell("survival-0", 1)
	if len(e.told) != 1 || len(e.here) != 0 {
		t.Errorf("kept: %v %v", e.told, e.here)
	}
}
