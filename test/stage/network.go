// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// Group reads a ServerGroup of the network.
func (c *Cluster) Group(ctx context.Context, name string) (*v1alpha1.ServerGroup, error) {
	var group v1alpha1.ServerGroup
	return &group, c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &group)
}

// ProxyGroup reads a ProxyGroup of the network.
func (c *Cluster) ProxyGroup(ctx context.Context, name string) (*v1alpha1.ProxyGroup, error) {
	var group v1alpha1.ProxyGroup
	return &group, c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &group)
}

// Server reads a Server; nil if there is none.
func (c *Cluster) Server(ctx context.Context, name string) (*v1alpha1.Server, error) {
	var server v1alpha1.Server
	err := c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &server)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return &server, err
}

// Servers lists the Servers of a group, oldest first; of all groups if it is
// empty.
func (c *Cluster) Servers(ctx context.Context, group string) ([]v1alpha1.Server, error) {
	var list v1alpha1.ServerList
	if err := c.List(ctx, &list, client.InNamespace(Namespace)); err != nil {
		return nil, err
	}
	servers := slices.DeleteFunc(list.Items, func(s v1alpha1.Server) bool {
		return group != "" && s.Spec.GroupRef.Name != group
	})
	slices.SortFunc(servers, func(a, b v1alpha1.Server) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return servers, nil
}

// Pods lists the network's pods of a role by name.
func (c *Cluster) Pods(ctx context.Context, role podspec.Role) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(Namespace), client.MatchingLabels{podspec.LabelRole: string(role)})
	return list.Items, err
}

// Managers lists the manager's pods.
func (c *Cluster) Managers(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(SystemNamespace))
	return list.Items, err
}

// Ready are the names of those servers that let players in.
func Ready(servers []v1alpha1.Server) []string {
	var names []string
	for i := range servers {
		if servers[i].Status.Phase == v1alpha1.ServerReady && servers[i].DeletionTimestamp.IsZero() {
			names = append(names, servers[i].Name)
		}
	}
	return names
}

// Describe says in one line how servers are.
func Describe(servers []v1alpha1.Server) string {
	if len(servers) == 0 {
		return "no servers"
	}
	words := make([]string, 0, len(servers))
	for i := range servers {
		words = append(words, servers[i].Name+" "+cmp.Or(string(servers[i].Status.Phase), "new"))
	}
	return strings.Join(words, ", ")
}

// Explain says why those servers that are not ready are not.
func Explain(servers []v1alpha1.Server) string {
	var all strings.Builder
	for i := range servers {
		if why := complaints(servers[i].Status.Conditions); why != "" && servers[i].Status.Phase != v1alpha1.ServerReady {
			fmt.Fprintf(&all, "; %s%s", servers[i].Name, why)
		}
	}
	return all.String()
}

// complaints are the messages of the conditions that do not hold.
func complaints(conditions []metav1.Condition) string {
	var all strings.Builder
	for _, condition := range conditions {
		if condition.Status == metav1.ConditionFalse && condition.Message != "" {
			fmt.Fprintf(&all, " (%s: %s)", condition.Reason, condition.Message)
		}
	}
	return all.String()
}

// AwaitServers waits until the ready servers of a group are as wanted, and
// returns their names.
func (c *Cluster) AwaitServers(
	ctx context.Context, group, what string, limit time.Duration, wanted func(ready []string, all []v1alpha1.Server) bool,
) ([]string, error) {
	var ready []string
	why := ""
	err := c.Await(ctx, what, limit, func(ctx context.Context) (string, bool) {
		servers, err := c.Servers(ctx, group)
		if err != nil {
			return err.Error(), false
		}
		ready, why = Ready(servers), Explain(servers)
		return Describe(servers), wanted(ready, servers)
	})
	if err != nil {
		err = fmt.Errorf("%w%s%s", err, why, c.verdict(ctx, group))
	}
	return ready, err
}

// verdict is what a group says about its own size.
func (c *Cluster) verdict(ctx context.Context, group string) string {
	found, err := c.Group(ctx, group)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; %s says: %s%s", group, found.Status.LastDecision, complaints(found.Status.Conditions))
}

// AwaitSize waits until a group has exactly so many servers and all are ready.
func (c *Cluster) AwaitSize(ctx context.Context, group string, size int, limit time.Duration) ([]string, error) {
	what := fmt.Sprintf("exactly %d servers of %s, all Ready", size, group)
	return c.AwaitServers(ctx, group, what, limit, func(ready []string, all []v1alpha1.Server) bool {
		return len(ready) == size && len(all) == size
	})
}

// AwaitDoor waits until players are let in, and returns the address they type.
func (c *Cluster) AwaitDoor(ctx context.Context, group string, limit time.Duration) (string, error) {
	address := ""
	err := c.Await(ctx, "the address of ProxyGroup "+group, limit, func(ctx context.Context) (string, bool) {
		door, err := c.ProxyGroup(ctx, group)
		if err != nil {
			return err.Error(), false
		}
		address = door.Status.Address
		seen := fmt.Sprintf("phase %s, %d ready, address %q", door.Status.Phase, ptr.Deref(door.Status.ReadyReplicas, 0), address)
		there := address != "" && door.Status.Phase == v1alpha1.GroupReady
		if !there {
			seen += complaints(door.Status.Conditions)
		}
		return seen, there
	})
	return address, err
}

// Route makes the groups the ones that a joining player is sent to, in this
// order, as an owner would who edits the ProxyGroup.
func (c *Cluster) Route(ctx context.Context, door string, groups ...string) (string, error) {
	return c.Kubectl(ctx, "", RouteCommand(door, groups...)...)
}

// RouteCommand is what Route runs.
func RouteCommand(door string, groups ...string) []string {
	patch := fmt.Sprintf(`{"spec":{"routing":{"fallbackGroups":["%s"]}}}`, strings.Join(groups, `","`))
	return []string{"patch", "proxygroup", door, "-n", Namespace, "--type=merge", "-p", patch}
}
