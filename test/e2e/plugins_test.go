// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/test/javasdk"
)

func TestAPluginsFigureChangesTheFreeSeatsOfItsGroup(t *testing.T) {
	gather(t)
	all := awaitFree(t, func(int32) bool { return true })
	// Only the game beside the agent reaches this port otherwise.
	address, err := cluster.Forward(t.Context(), world, serverspec.LocalPort)
	must(t, err)
	api := "http://" + address
	enablePlugin(t, api, 2)
	awaitFree(t, func(free int32) bool { return free == 2 })
	put(t, api+local.JoinsPath, `{"joins": "Closed"}`)
	awaitJoins(t, false)
	put(t, api+local.JoinsPath, `{"joins": "Open"}`)
	awaitJoins(t, true)
	send(t, http.MethodDelete, api+local.PlayableSlotsPath, "")
	awaitFree(t, func(free int32) bool { return free == all })
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
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	must(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(response.Body)
		t.Fatalf("%s %s: %s %s", method, url, response.Status, said)
	}
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
