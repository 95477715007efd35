// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/javasdk"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestAPluginsFigureChangesTheFreeSeatsOfItsGroup(t *testing.T) {
	gather(t)
	all := awaitFree(t, func(int32) bool { return true })
	// Only the game beside the agent reaches this port otherwise.
	api := pluginAPI(t, world)
	enablePlugin(t, api, 2)
	awaitFree(t, func(free int32) bool { return free == 2 })
	put(t, api+local.JoinsPath, `{"joins": "Closed"}`)
	awaitJoins(t, false)
	put(t, api+local.JoinsPath, `{"joins": "Open"}`)
	awaitJoins(t, true)
	send(t, http.MethodDelete, api+local.PlayableSlotsPath, "")
	awaitFree(t, func(free int32) bool { return free == all })
}

// arena is a group that the test of what plugins ask of the manager has for
// itself.
const arena = "arena"

func TestWhatAPluginAsksOfTheManagerIsDone(t *testing.T) {
	crowd := gather(t)
	servers := lendGames(t, map[string]string{arena: "\n  image: spawnery.test/double:dev\n  server: {acceptEula: true}\n"})
	where := joinGroup(t, crowd, "Rita", arena)
	api := pluginAPI(t, servers[arena])

	if said := ask(t, http.MethodPost, api+local.BoostsPath, `{"replicas": 1}`, http.StatusConflict); !strings.Contains(said, "maxReplicas of arena is 1") {
		t.Errorf("a boost that does not fit: %s", said)
	}
	patchGroup(t, arena, `{"spec":{"scaling":{"maxReplicas":2}}}`)
	ask(t, http.MethodPost, api+local.BoostsPath, `{"replicas": 1, "for": "10m"}`, http.StatusOK)
	both, err := cluster.AwaitSize(t.Context(), arena, 2, soon)
	must(t, err)
	// What a server is told of its network is up to a second old.
	must(t, cluster.Await(t.Context(), fmt.Sprintf("%v in the network", both), soon, func(ctx context.Context) (string, bool) {
		said, _, err := askOnce(ctx, http.MethodGet, api+local.NetworkPath, "")
		return fmt.Sprint(said, err), strings.Contains(said, both[0]) && strings.Contains(said, both[1])
	}))

	// The new one plays a round that is over at once.
	short := both[slices.IndexFunc(both, func(name string) bool { return name != servers[arena] })]
	ask(t, http.MethodPost, pluginAPI(t, short)+local.RoundEndPath, "", http.StatusOK)
	_, _ = cluster.Kubectl(t.Context(), "stop\n", "attach", short, "-n", stage.Namespace, "-c", podspec.ContainerServer, "-i", "-q")
	_, err = cluster.AwaitServers(t.Context(), arena, short+" gone", soon, func(_ []string, all []v1alpha1.Server) bool {
		return !slices.ContainsFunc(all, func(server v1alpha1.Server) bool { return server.Name == short })
	})
	must(t, err)
	group, err := cluster.Group(t.Context(), arena)
	must(t, err)
	if failures := ptr.Deref(group.Status.ConsecutiveFailures, 0); failures != 0 {
		t.Errorf("the end of a round counts as %d failed starts", failures)
	}

	ask(t, http.MethodPost, api+local.ConnectPath, `{"player": "Rita", "to": "`+hub+`"}`, http.StatusOK)
	must(t, crowd.AwaitAway(t.Context(), soon, []string{"Rita"}, where))
	if on := crowd.Where("Rita"); !strings.HasPrefix(on, hub+"-") {
		t.Errorf("Rita is on %s, want a lobby", on)
	}
}

// pluginAPI is where the agent of a server answers plugins.
func pluginAPI(t *testing.T, server string) string {
	t.Helper()
	address, err := cluster.Forward(t.Context(), server, serverspec.LocalPort)
	must(t, err)
	return "http://" + address
}

// enablePlugin has a JVM run the example plugin, for which this machine is the
// server's pod.
func enablePlugin(t *testing.T, api string, players int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	path, err := javasdk.Build(ctx, "../..", t.TempDir())
	must(t, err)
	said, err := exec.CommandContext(ctx, "java", "-cp", path, "-Dspawnery.api="+api, "-Dround.players="+strconv.Itoa(players), "Enable").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

func put(t *testing.T, url, body string) {
	t.Helper()
	send(t, http.MethodPut, url, body)
}

func send(t *testing.T, method, url, body string) {
	t.Helper()
	ask(t, method, url, body, http.StatusOK)
}

// ask sends what a plugin would, and returns the answer, which has to have that
// status.
func ask(t *testing.T, method, url, body string, status int) string {
	t.Helper()
	said, answered, err := askOnce(t.Context(), method, url, body)
	must(t, err)
	if answered != status {
		t.Fatalf("%s %s: %d %s", method, url, answered, said)
	}
	return said
}

// askOnce is the answer and its status.
func askOnce(ctx context.Context, method, url, body string) (string, int, error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	return string(said), response.StatusCode, err
}

// awaitFree waits for the free seats of the world's group, and returns them.
func awaitFree(t *testing.T, wanted func(int32) bool) int32 {
	t.Helper()
	var free int32
	must(t, cluster.Await(t.Context(), "other free seats of "+survival, counted, func(ctx context.Context) (string, bool) {
		group, err := cluster.Group(ctx, survival)
		if err != nil || group.Status.FreeSlots == nil {
			return fmt.Sprintf("no count: %v", err), false
		}
		free = *group.Status.FreeSlots
		return fmt.Sprintf("%d free seats", free), wanted(free)
	}))
	return free
}

func awaitJoins(t *testing.T, open bool) {
	t.Helper()
	must(t, cluster.Await(t.Context(), fmt.Sprintf("joins open: %v", open), counted, func(ctx context.Context) (string, bool) {
		server, err := cluster.Server(ctx, world)
		if err != nil || server == nil {
			return fmt.Sprintf("no server: %v", err), false
		}
		now := ptr.Deref(server.Status.JoinsOpen, !open)
		return strconv.FormatBool(now), now == open
	}))
}
