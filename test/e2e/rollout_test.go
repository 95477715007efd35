// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// The annotation makes the same choice as an edit of the image, and no other
// test has to put anything back.
func TestARestartUnderPlayersReplacesEveryLobbyAndDisconnectsNobody(t *testing.T) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(lobbies*2)...))
	old, err := cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
	for _, lobby := range old {
		if len(crowd.On(lobby)) == 0 {
			t.Fatalf("nobody is on %s: %s", lobby, crowd)
		}
	}
	_, err = cluster.Kubectl(t.Context(), "", "annotate", "servergroup", hub, "-n", stage.Namespace, "--overwrite",
		v1alpha1.AnnotationRestartedAt+"="+time.Now().UTC().Format(time.RFC3339Nano))
	must(t, err)

	for left := slices.Clone(old); len(left) > 0; {
		lobby := awaitRetiring(t, left)
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
	awaitUpdated(t, old)
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

// awaitUpdated waits until the group says that it is done, and looks.
func awaitUpdated(t *testing.T, old []string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), "a group of the new spec", 2*soon, func(ctx context.Context) (string, bool) {
		group, err := cluster.Group(ctx, hub)
		if err != nil {
			return err.Error(), false
		}
		servers, err := cluster.Servers(ctx, hub)
		if err != nil {
			return err.Error(), false
		}
		stays := slices.ContainsFunc(servers, func(s v1alpha1.Server) bool { return slices.Contains(old, s.Name) })
		updated, all := ptr.Deref(group.Status.UpdatedReplicas, -1), ptr.Deref(group.Status.Replicas, -1)
		settled := apimeta.IsStatusConditionFalse(group.Status.Conditions, v1alpha1.ConditionProgressing)
		return fmt.Sprintf("%d of %d updated, settled %v", updated, all, settled), !stays && updated == all && settled
	}))
}
