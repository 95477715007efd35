// SPDX-License-Identifier: Apache-2.0

// Package index names the fields by which the manager's cache finds objects,
// and lists objects by them.
package index

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

const (
	byNetwork = "spec.networkRef.name"
	byGroup   = "spec.groupRef.name"
	byPodUID  = "status.podUID"
)

// Register adds every index to the cache. It fails when one exists already.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		add(ctx, indexer, byNetwork, func(o *v1alpha1.ServerGroup) string { return o.Spec.NetworkRef.Name }),
		add(ctx, indexer, byNetwork, func(o *v1alpha1.ProxyGroup) string { return o.Spec.NetworkRef.Name }),
		add(ctx, indexer, byNetwork, func(o *v1alpha1.Server) string { return o.Spec.NetworkRef.Name }),
		add(ctx, indexer, byGroup, func(o *v1alpha1.Server) string { return o.Spec.GroupRef.Name }),
		add(ctx, indexer, byGroup, func(o *v1alpha1.ScaleBoost) string { return o.Spec.GroupRef.Name }),
		add(ctx, indexer, byPodUID, func(o *v1alpha1.Server) string { return o.Status.PodUID }),
	)
}

// object is what add needs of a kind: a pointer to T that the cache can hold.
type object[T any] interface {
	*T
	client.Object
}

func add[T any, P object[T]](ctx context.Context, indexer client.FieldIndexer, field string, value func(*T) string) error {
	extract := func(o client.Object) []string {
		typed, ok := o.(P)
		if !ok {
			return nil
		}
		return []string{value((*T)(typed))}
	}
	if err := indexer.IndexField(ctx, P(new(T)), field, extract); err != nil {
		return fmt.Errorf("index %T by %s: %w", new(T), field, err)
	}
	return nil
}

// ServersOf returns the Servers of one group.
func ServersOf(ctx context.Context, reader client.Reader, namespace, group string) ([]v1alpha1.Server, error) {
	var list v1alpha1.ServerList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byGroup: group}); err != nil {
		return nil, fmt.Errorf("list servers of group %s: %w", group, err)
	}
	return list.Items, nil
}

// ServersIn returns the Servers of one Network.
func ServersIn(ctx context.Context, reader client.Reader, namespace, network string) ([]v1alpha1.Server, error) {
	var list v1alpha1.ServerList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byNetwork: network}); err != nil {
		return nil, fmt.Errorf("list servers of network %s: %w", network, err)
	}
	return list.Items, nil
}

// ServerOfPod returns the Server whose pod has the UID, or nil.
func ServerOfPod(ctx context.Context, reader client.Reader, namespace, podUID string) (*v1alpha1.Server, error) {
	var list v1alpha1.ServerList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byPodUID: podUID}); err != nil {
		return nil, fmt.Errorf("find the server of pod %s: %w", podUID, err)
	}
	if len(list.Items) != 1 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// ServerGroupsIn returns the ServerGroups of one Network.
func ServerGroupsIn(ctx context.Context, reader client.Reader, namespace, network string) ([]v1alpha1.ServerGroup, error) {
	var list v1alpha1.ServerGroupList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byNetwork: network}); err != nil {
		return nil, fmt.Errorf("list server groups of network %s: %w", network, err)
	}
	return list.Items, nil
}

// ProxyGroupsIn returns the ProxyGroups of one Network.
func ProxyGroupsIn(ctx context.Context, reader client.Reader, namespace, network string) ([]v1alpha1.ProxyGroup, error) {
	var list v1alpha1.ProxyGroupList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byNetwork: network}); err != nil {
		return nil, fmt.Errorf("list proxy groups of network %s: %w", network, err)
	}
	return list.Items, nil
}

// BoostsOf returns the ScaleBoosts that name one group.
func BoostsOf(ctx context.Context, reader client.Reader, namespace, group string) ([]v1alpha1.ScaleBoost, error) {
	var list v1alpha1.ScaleBoostList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byGroup: group}); err != nil {
		return nil, fmt.Errorf("list boosts of group %s: %w", group, err)
	}
	return list.Items, nil
}
