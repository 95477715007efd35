// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestNobodyNoticesTheManagersDeath(t *testing.T) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(3)...))
	before, err := cluster.Identities(t.Context())
	must(t, err)
	old := theManager(t)
	_, err = cluster.Kubectl(t.Context(), "", "delete", "pod", old, "-n", stage.SystemNamespace, "--grace-period=0", "--force", "--wait=false")
	must(t, err)
	must(t, crowd.JoinBots(t.Context(), soon, "Late"))
	_, err = cluster.AwaitLeader(t.Context(), old, soon)
	must(t, err)
	want := len(crowd.Names())
	must(t, cluster.Await(t.Context(), "everybody in the new manager's counts", soon, func(ctx context.Context) (string, bool) {
		players, err := cluster.Players(ctx)
		return fmt.Sprintf("%d players, %v", players, err), players == want
	}))
	must(t, hold(t.Context(), 3*pass, func(ctx context.Context) error {
		now, err := cluster.Identities(ctx)
		if err != nil {
			return err
		}
		if changes := append(before.Missing(now), now.Missing(before)...); len(changes) > 0 {
			return fmt.Errorf("the new manager did not leave things alone: %s", strings.Join(changes, "; "))
		}
		return crowd.Lost()
	}))
}

// theManager is the pod's name once there is one only: another one may still be
// on its way out.
func theManager(t *testing.T) string {
	t.Helper()
	name := ""
	must(t, cluster.Await(t.Context(), "one manager", soon, func(ctx context.Context) (string, bool) {
		managers, err := cluster.Managers(ctx)
		if err != nil {
			return err.Error(), false
		}
		if len(managers) == 1 {
			name = managers[0].Name
		}
		return fmt.Sprintf("%d managers", len(managers)), name != ""
	}))
	return name
}
