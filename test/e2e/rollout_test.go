// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestANewImageUnderPlayersReplacesEveryLobbyAndDisconnectsNobody(t *testing.T) {
	lobbiesAreReplaced(t, func() {})
}

// lobbiesAreReplaced gives the lobbies another image. The critical moment is
// when the first of them retires.
func lobbiesAreReplaced(t *testing.T, critical func()) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(lobbies*2)...))
	old, err := cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
	for _, lobby := range old {
		if len(crowd.On(lobby)) == 0 {
			t.Fatalf("nobody is on %s: %s", lobby, crowd)
		}
	}
	setImage(t, "spawnery.test/double:next")

	for left := slices.Clone(old); len(left) > 0; {
		lobby := awaitRetiring(t, left)
		if len(left) == len(old) {
			critical()
		}
		awaitListed(t, lobby, v1alpha1.ServerRetiring)
		staying := crowd.On(lobby)
		must(t, crowd.JoinBots(t.Context(), soon, "Late"+lobby))
		if there := crowd.Where("Late" + lobby); there == lobby {
			t.Errorf("somebody new was sent to %s, which retires", lobby)
		}
		must(t, hold(t.Context(), pass, func(context.Context) error {
			if now := crowd.On(lobby); !slices.Equal(now, staying) {
				return fmt.Errorf("%v were on %s, and %v are", staying, lobby, now)
			}
			return crowd.Lost()
		}))
		crowd.Leave(staying...)
		awaitGone(t, lobby)
		left = slices.DeleteFunc(left, func(name string) bool { return name == lobby })
	}
	must(t, crowd.Lost())
	awaitUpdated(t, "spawnery.test/double:next")
	// The other tests are played on the image of the overlay.
	crowd.Leave()
	setImage(t, "spawnery.test/double:dev")
	awaitUpdated(t, "spawnery.test/double:dev")
}

func setImage(t *testing.T, image string) {
	t.Helper()
	_, err := cluster.Kubectl(t.Context(), "", "patch", "servergroup", hub, "-n", stage.Namespace, "--type=merge",
		"-p", fmt.Sprintf(`{"spec":{"image":%q}}`, image))
	must(t, err)
}

// awaitRetiring returns the one of these servers that takes nobody new, once a
// new server is Ready.
func awaitRetiring(t *testing.T, among []string) string {
	t.Helper()
	retiring := ""
	_, err := cluster.AwaitServers(t.Context(), hub, "one old lobby retiring", 2*soon, func(ready []string, all []v1alpha1.Server) bool {
		retiring = ""
		for _, server := range all {
			if server.Status.Phase == v1alpha1.ServerRetiring && slices.Contains(among, server.Name) {
				retiring = server.Name
			}
		}
		fresh := slices.DeleteFunc(slices.Clone(ready), func(name string) bool { return slices.Contains(among, name) })
		return retiring != "" && len(fresh) > 0
	})
	must(t, err)
	return retiring
}

// awaitListed waits until the proxies know of a server's phase: they are told
// after it is in its status. Nora may ask them, from any server.
func awaitListed(t *testing.T, server string, phase v1alpha1.ServerPhase) {
	t.Helper()
	address, err := cluster.AwaitDoor(t.Context(), edge, soon)
	must(t, err)
	scout := &stage.Crowd{Address: address}
	defer func() { scout.Leave() }()
	must(t, scout.JoinBots(t.Context(), soon, "Nora"))
	nora := scout.Bot("Nora")
	must(t, cluster.Await(t.Context(), fmt.Sprintf("/cloud list to show %s %s", server, phase), soon, func(context.Context) (string, bool) {
		seen := ""
		for _, line := range nora.Lines() {
			if strings.Contains(line, server) && !strings.HasPrefix(line, mctest.WelcomePrefix) {
				seen = line
			}
		}
		// What cannot be sent now is asked the next time.
		_ = nora.Command("cloud list " + hub)
		return seen, strings.Contains(seen, string(phase)) || nora.Err() != nil
	}))
	must(t, nora.Err())
}

// awaitUpdated waits until the group says that it is done, and looks at its pods.
func awaitUpdated(t *testing.T, image string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), "every lobby of "+image, 3*soon, func(ctx context.Context) (string, bool) {
		group, err := cluster.Group(ctx, hub)
		if err != nil {
			return err.Error(), false
		}
		pods, err := cluster.Pods(ctx, podspec.RoleServer)
		if err != nil {
			return err.Error(), false
		}
		old := slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return pod.Labels[podspec.LabelGroup] == hub && pod.Spec.Containers[0].Image != image
		})
		updated, all := ptr.Deref(group.Status.UpdatedReplicas, -1), ptr.Deref(group.Status.Replicas, -1)
		progressing := apimeta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionProgressing)
		if progressing == nil || progressing.ObservedGeneration != group.Generation {
			return "the edit is not noticed yet", false
		}
		return fmt.Sprintf("%d of %d updated, %s: %s", updated, all, progressing.Reason, progressing.Message),
			!old && updated == all && progressing.Reason == v1alpha1.ReasonSettled
	}))
}
