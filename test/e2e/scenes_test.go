// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/test/stage"
)

// scene is something that takes a while. In its middle it calls critical.
type scene func(t *testing.T, critical func())

// TestSizing plays each scene, and plays it again with a manager that is killed
// at the moment at which it has most to remember.
func TestSizing(t *testing.T) {
	for _, one := range []struct {
		name string
		play scene
		// alone is another test that plays the scene with its manager.
		alone func(*testing.T)
	}{
		{"a new group has one server too many and settles", newGroupSettles, nil},
		{"a pin to 0 lets nobody in and throws nobody out", pinnedToZero, nil},
		{"a boost ends by itself", boostEnds, TestABoostRaisesTheFloorWithNobodyOnlineAndEndsByItself},
		{"lobbies are replaced under their players", lobbiesAreReplaced, TestANewImageUnderPlayersReplacesEveryLobbyAndDisconnectsNobody},
		{"a game that is killed is replaced", killedGame, TestAGameThatIsKilledFailsIsReplacedAndItsPlayersFallBack},
		{"a node is drained under its players", nodeIsDrained, nil},
	} {
		if one.alone == nil {
			t.Run(one.name, func(t *testing.T) { one.play(t, func() {}) })
		}
		t.Run(one.name+", with a manager that is killed", func(t *testing.T) {
			one.play(t, func() { killManager(t) })
		})
	}
}

// killManager kills the manager without a word, so that its lease stays taken
// until it runs out, and returns when another one leads.
func killManager(t *testing.T) {
	t.Helper()
	leader := theManager(t)
	var pod corev1.Pod
	must(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: stage.SystemNamespace, Name: leader}, &pod))
	killIn(t, string(pod.UID), "manager")
	// The kubelet would start it again in the same pod, later each time.
	_, err := cluster.Kubectl(t.Context(), "", "delete", "pod", leader, "-n", stage.SystemNamespace, "--grace-period=0", "--force", "--wait=false")
	must(t, err)
	_, err = cluster.AwaitLeader(t.Context(), leader, soon)
	must(t, err)
}

// killIn kills the one process of a pod that has this name, as the kernel does
// when memory runs out. The nodes are processes of this machine, and so is
// whatever runs on them.
func killIn(t *testing.T, podUID, program string) {
	t.Helper()
	must(t, syscall.Kill(processIn(t, podUID, program), syscall.SIGKILL))
}

// processIn is the one process of a pod that has this name.
func processIn(t *testing.T, podUID, program string) int {
	t.Helper()
	var found []int
	folders, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, folder := range folders {
		groups, _ := os.ReadFile(filepath.Join(folder, "cgroup"))
		name, _ := os.ReadFile(filepath.Join(folder, "comm"))
		if !strings.Contains(string(groups), podUID) || strings.TrimSpace(string(name)) != program {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		must(t, err)
		found = append(found, pid)
	}
	if len(found) != 1 {
		t.Fatalf("%d processes of the pod %s are a %s, want 1", len(found), podUID, program)
	}
	return found[0]
}
