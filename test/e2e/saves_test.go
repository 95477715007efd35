// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// podEnd is what kubectl tells of a pod's end: which pod, when it is to be gone
// at the latest, how long that is after its deletion, and how the game ended.
const podEnd = `{.metadata.uid} {.metadata.deletionTimestamp} {.metadata.deletionGracePeriodSeconds} ` +
	`{.status.containerStatuses[?(@.name=="server")].state.terminated.finishedAt} ` +
	`{.status.containerStatuses[?(@.name=="server")].state.terminated.exitCode}{"\n"}`

// kubeletGrace is what a pod has that says nothing of it.
const kubeletGrace = 30 * time.Second

// longSave is the end of a pod of the group vast. It goes by itself while other
// scenes are played.
type longSave struct {
	before string
	claim  corev1.PersistentVolumeClaim

	// ends stops the two that watch; each then tells what it saw.
	ends      context.CancelFunc
	log, pods chan string
}

// graceFor is enough for a save: 180 s for 100 s.
func graceFor(save time.Duration) time.Duration { return save * 9 / 5 }

// vast is the group of a world that takes long to be saved, and whose first
// process hears no signal.
func vast() worlds {
	return worlds{
		name: "vast", replicas: 1, tag: "shell",
		grace: int(graceFor(*saveTakes).Seconds()), env: map[string]string{"SAVE_TAKES": saveTakes.String()},
	}
}

const vastServer = "vast-0"

// begin lets somebody play and leave, and deletes the pod: what it has to save
// is in no file yet.
func (s *longSave) begin(t *testing.T) {
	crowd := gather(t)
	joinGroup(t, crowd, "Wilma", "vast")
	crowd.Leave("Wilma")
	if level, err := inGame(t, vastServer, "cat", "/data/world/level.dat"); err == nil {
		t.Fatalf("the world is saved already: %s", level)
	}
	s.before, s.claim = podOf(t, vastServer), readClaim(t, vastServer)
	s.log, s.pods = make(chan string, 1), make(chan string, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s.ends = cancel
	s.watch(ctx, s.log, "logs", "-f", vastServer, "-c", podspec.ContainerServer, "--timestamps")
	s.watch(ctx, s.pods, "get", "pod", vastServer, "--watch", "-o", "jsonpath="+podEnd)
	_, err := cluster.Kubectl(t.Context(), "", "delete", "pod", vastServer, "-n", stage.Namespace, "--wait=false")
	must(t, err)
}

// watch runs a kubectl that looks until ctx ends.
func (s *longSave) watch(ctx context.Context, tell chan<- string, args ...string) {
	go func() {
		out, _ := cluster.Kubectl(ctx, "", append(args, "-n", stage.Namespace)...)
		tell <- out
	}()
}

// end waits for the next pod, and looks at how the last one ended and at what it
// left.
func (s *longSave) end(t *testing.T) {
	if s.ends == nil {
		t.Fatal("no save was begun")
	}
	awaitNewPod(t, vastServer, s.before)
	s.ends()
	log, pods := <-s.log, <-s.pods
	defer func() {
		if t.Failed() {
			t.Logf("the game's log:\n%s\nits pod:\n%s", tail(log), tail(pods))
		}
	}()
	took, exit := s.took(t, pods)
	t.Logf("the game ended %.0f s after its pod was deleted, with %d", took.Seconds(), exit)
	if grace := graceFor(*saveTakes); took < *saveTakes || took <= kubeletGrace || took >= grace || exit != 0 {
		t.Errorf("the game ended after %s with %d, want its save of %s within the grace of %s, and 0", took, exit, *saveTakes, grace)
	}
	if !strings.Contains(log, "Saved the game") {
		t.Error("the game did not finish its save")
	}
	out, err := inGame(t, vastServer, "cat", "/data/world/level.dat")
	must(t, err)
	var level struct{ Joins int }
	must(t, json.Unmarshal([]byte(out), &level))
	if level.Joins != 1 {
		t.Errorf("the saved world has seen %d joins, want 1: %s", level.Joins, out)
	}
	sameClaim(t, s.claim)
}

// took is how long after its deletion the pod's game ended, and with which code.
func (s *longSave) took(t *testing.T, pods string) (time.Duration, int) {
	t.Helper()
	for line := range strings.Lines(pods) {
		var uid, latest, finished string
		var grace, exit int
		if _, err := fmt.Sscan(line, &uid, &latest, &grace, &finished, &exit); err != nil || uid != s.before {
			continue
		}
		gone, err := time.Parse(time.RFC3339, latest)
		must(t, err)
		end, err := time.Parse(time.RFC3339, finished)
		must(t, err)
		return end.Sub(gone.Add(-time.Duration(grace) * time.Second)), exit
	}
	t.Fatalf("nothing tells how the pod ended:\n%s", pods)
	return 0, 0
}
