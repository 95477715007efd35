// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AwaitLeader waits until another pod than the old one leads, and returns its
// name.
func (c *Cluster) AwaitLeader(ctx context.Context, old string, limit time.Duration) (string, error) {
	leader := ""
	err := c.Await(ctx, "another leader than "+old, limit, func(ctx context.Context) (string, bool) {
		var lease coordinationv1.Lease
		if err := c.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: Manager}, &lease); err != nil {
			return err.Error(), false
		}
		leader, _, _ = strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
		if leader == "" {
			return "nobody leads", false
		}
		return leader + " leads", leader != old
	})
	return leader, err
}

// Players is how many the status of all Servers counts.
func (c *Cluster) Players(ctx context.Context) (int, error) {
	servers, err := c.Servers(ctx, "")
	players := 0
	for i := range servers {
		players += int(ptr.Deref(servers[i].Status.Players, 0))
	}
	return players, err
}

// Identities are the UIDs of the network's Servers and pods by what they are.
type Identities map[string]types.UID

// Identities takes them down as they are now.
func (c *Cluster) Identities(ctx context.Context) (Identities, error) {
	servers, err := c.Servers(ctx, "")
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(Namespace)); err != nil {
		return nil, err
	}
	identities := make(Identities)
	for i := range servers {
		identities["server "+servers[i].Name] = servers[i].UID
	}
	for i := range pods.Items {
		identities["pod "+pods.Items[i].Name] = pods.Items[i].UID
	}
	return identities, nil
}

// Missing says what is gone or another one of the same name.
func (was Identities) Missing(now Identities) []string {
	var missing []string
	for _, what := range slices.Sorted(maps.Keys(was)) {
		switch uid, there := now[what]; {
		case !there:
			missing = append(missing, what+" is gone")
		case uid != was[what]:
			missing = append(missing, fmt.Sprintf("%s is another one, %s instead of %s", what, uid, was[what]))
		}
	}
	return missing
}
