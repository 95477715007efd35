// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"reflect"
	"time"

	"github.com/onsi/gomega"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/pace"
)

// countPasses are about what game and proxies say of players, and about what is
// left of it when the manager is another.
func countPasses() map[string]func(*world) {
	return map[string]func(*world){
		"game and proxies that count differently say so":       countsDiffer,
		"a plugin that flaps its door is not written along":    flappingDoor,
		"a manager that starts amid a drain has the same plan": amidADrain,
	}
}

// places has the proxy report who is where.
func (w *world) places(roster ...*agentv1alpha1.RosterEntry) {
	w.t.Helper()
	pod := w.proxyNames()[0]
	w.hear(pod, 0)
	report := &agentv1alpha1.ProxyReport{SampledAt: timestamppb.New(w.clock.Now()), Roster: roster}
	w.Expect(w.proxies[get[corev1.Pod](w, pod).UID].Receive(&agentv1alpha1.ProxyMessage{
		Message: &agentv1alpha1.ProxyMessage_Report{Report: report},
	})).To(gomega.Succeed())
}

// onWorld places a player on survival-0.
func onWorld(name string) *agentv1alpha1.RosterEntry {
	return &agentv1alpha1.RosterEntry{Player: &agentv1alpha1.Player{Name: name}, Server: "survival-0"}
}

// sentDirectory is the whole directory that a proxy which comes now is sent.
func (w *world) sentDirectory() map[string]*agentv1alpha1.DirectoryServer {
	w.t.Helper()
	w.settle(aNetwork, "production")
	pod := w.proxyNames()[0]
	delete(w.proxies, get[corev1.Pod](w, pod).UID)
	w.hear(pod, 0)
	for {
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
		order, err := w.proxies[get[corev1.Pod](w, pod).UID].Next(ctx)
		cancel()
		w.Expect(err).NotTo(gomega.HaveOccurred(), "no directory came")
		if directory := order.GetDirectory(); directory.GetFull() {
			servers := map[string]*agentv1alpha1.DirectoryServer{}
			for _, one := range directory.GetServers() {
				servers[one.GetName()] = one
			}
			return servers
		}
	}
}

func countsDiffer(w *world) {
	w.frontAndOrdinal()
	w.runProxies()
	w.serve("survival-0", 1)
	say := func(players int32, roster ...*agentv1alpha1.RosterEntry) {
		for range 7 {
			w.clock.Step(5 * time.Second)
			w.report("survival-0", players)
			w.places(roster...)
			w.settle(aServer, "survival-0")
		}
	}
	say(1, onWorld("Ada"))
	w.Expect(w.serverCondition("survival-0", "CountsAgree")).To(gomega.HavePrefix("True CountsMatch"))
	w.told()

	say(4, onWorld("Ada"))
	w.Expect(w.serverCondition("survival-0", "CountsAgree")).To(gomega.Equal("False RosterDisagrees: the game counts 4 players and the proxies 1: " +
		"somebody comes in past the proxies, or a plugin or mod adds players that are none; 4 count, so the server is not taken for empty"))
	w.Expect(w.told()).To(gomega.ContainSubstring("RosterDisagrees"))
	w.Expect(w.serverStatus("survival-0").Players).To(gomega.HaveValue(gomega.BeEquivalentTo(4)))

	say(0, onWorld("Ada"), onWorld("Ben"))
	w.Expect(w.serverCondition("survival-0", "CountsAgree")).To(gomega.HavePrefix("False RosterDisagrees: the proxies count 2 players and the game 0: a plugin hides"))
	w.Expect(w.serverStatus("survival-0").Players).To(gomega.HaveValue(gomega.BeEquivalentTo(2)), "the higher number counts")
	w.Expect(w.told()).NotTo(gomega.ContainSubstring("RosterDisagrees"), "which is higher is no news")

	say(2, onWorld("Ada"), onWorld("Ben"))
	w.Expect(w.serverCondition("survival-0", "CountsAgree")).To(gomega.HavePrefix("True CountsMatch"))
}

// flappingDoor toggles ten times a second, and in the end the door is closed.
func flappingDoor(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	say := func(open bool, players int32) {
		w.say("survival-0", &agentv1alpha1.ServerReport{
			GameState: agentv1alpha1.GameState_GAME_STATE_READY, Online: players, Slots: 50, JoinsOpen: open,
			Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		})
	}
	writes, version := 0, w.version(aServer, "survival-0")
	for i := range 100 {
		w.clock.Step(100 * time.Millisecond)
		say(i%2 == 1, 0)
		result := w.pass(aServer, "survival-0")
		if now := w.version(aServer, "survival-0"); now != version {
			writes, version = writes+1, now
		} else if !reflect.DeepEqual(w.serverStatus("survival-0").JoinsOpen, new(i%2 == 1)) {
			w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 8*time.Second, 8*time.Second), "what is held back is due")
		}
	}
	w.Expect(writes).To(gomega.BeNumerically("<=", pace.Burst+1))

	say(false, 3)
	w.pass(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Players).To(gomega.HaveValue(gomega.BeEquivalentTo(3)), "the first player waits for no plugin")
	w.clock.Step(pace.Interval)
	say(false, 3)
	w.pass(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").JoinsOpen).To(gomega.HaveValue(gomega.BeFalse()), "the last word is written")
}

// amidADrain: one ordinal is being emptied, one was closed by a plugin, and the
// game of one crashed. Nobody has told the new manager anything yet.
func amidADrain(w *world) {
	w.front(1, byAddress())
	w.create(survival(4))
	w.settle(aGroup, "survival")
	w.runProxies()
	names := []string{"survival-0", "survival-1", "survival-2", "survival-3"}
	for _, name := range names {
		w.serve(name, 3)
	}
	w.say("survival-0", &agentv1alpha1.ServerReport{
		GameState: agentv1alpha1.GameState_GAME_STATE_READY, Online: 3, Slots: 50, PlayableSlots: new(int32(7)),
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
	})
	w.settle(aServer, "survival-0")
	w.exit("survival-1", 1)
	w.settle(aServer, "survival-1")
	w.remove(get[v1alpha1.Server](w, "survival-2"))
	w.settle(aServer, "survival-2")
	doors := map[string]string{}
	before, statuses := w.sentDirectory(), map[string]v1alpha1.ServerStatus{}
	for _, name := range names {
		doors[name], statuses[name] = before[name].GetDoor().String(), w.serverStatus(name)
	}
	w.Expect(doors).To(gomega.Equal(map[string]string{
		"survival-0": "DOOR_STATE_BY_NAME", "survival-1": "DOOR_STATE_CLOSED",
		"survival-2": "DOOR_STATE_MOVING", "survival-3": "DOOR_STATE_OPEN",
	}))

	w.clock.Step(20 * time.Second)
	w.restart()
	for _, name := range names {
		w.settle(aServer, name)
		w.Expect(w.serverStatus(name)).To(gomega.Equal(statuses[name]), name)
	}
	w.settle(aGroup, "survival")
	w.Expect(w.servers()).To(gomega.HaveLen(4))
	after := w.sentDirectory()
	for _, name := range names {
		// Who is there has to be told again.
		before[name].Players = nil
		w.Expect(after[name]).To(gomega.BeComparableTo(before[name], protocmp.Transform()), name)
	}

	w.clock.Step(41 * time.Second)
	w.settle(aServer, "survival-2")
	w.Expect(w.serverStatus("survival-2").Phase).To(gomega.Equal(v1alpha1.ServerTerminating), "the deadline counts from when the drain began")
}
