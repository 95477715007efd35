// SPDX-License-Identifier: Apache-2.0

// Package live takes the inventory of a cluster. All it can do is get and list.
package live

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/inventory"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// Read lists what an inventory is made of, in one namespace or, where it is
// empty, in all. Claims come first: what is made meanwhile has its group in a
// later list.
func Read(ctx context.Context, reader client.Reader, namespace string, options ...client.ListOption) (inventory.Input, error) {
	var claims corev1.PersistentVolumeClaimList
	var servers v1alpha1.ServerList
	var groups v1alpha1.ServerGroupList
	options = append(options, client.InNamespace(namespace))
	for _, list := range []struct {
		of      client.ObjectList
		name    string
		options []client.ListOption
	}{
		{&claims, "persistentvolumeclaims", append(options, client.MatchingLabels(podspec.ManagedLabels()))},
		{&servers, "servers.spawnery.cloud", options},
		{&groups, "servergroups.spawnery.cloud", options},
	} {
		if err := reader.List(ctx, list.of, list.options...); err != nil {
			return inventory.Input{}, fmt.Errorf("list %s in %s: %w", list.name, Where(namespace), err)
		}
	}
	return inventory.Input{Claims: claims.Items, Servers: servers.Items, Groups: groups.Items}, nil
}

// Where names a namespace, or all where it is empty.
func Where(namespace string) string {
	if namespace == "" {
		return "any namespace"
	}
	return "namespace " + namespace
}

// Take takes the inventory for a person: what stands in its way is said with
// what to do about it.
func Take(ctx context.Context, reader client.Reader, namespace string) (inventory.Inventory, error) {
	in, err := Read(ctx, reader, namespace)
	switch {
	case apimeta.IsNoMatchError(err):
		return inventory.Inventory{}, fmt.Errorf("this cluster does not know the kinds of Spawnery, so nobody can say which claims are needed; "+
			"install them, or look at all claims an operator made: kubectl get pvc -A -l %s=%s: %w", podspec.LabelManagedBy, podspec.ManagedBy, err)
	case apierrors.IsForbidden(err):
		return inventory.Inventory{}, fmt.Errorf("you may not look at everything it takes: whoever has the ClusterRole view in %s may, by a %s: %w",
			Where(namespace), binding(namespace), err)
	case err != nil:
		return inventory.Inventory{}, err
	}
	taken := inventory.Take(in)
	if namespace == "" || len(taken.Claims)+len(taken.Waits) > 0 {
		return taken, nil
	}
	// A list of a namespace that does not exist is empty. Whoever may not ask
	// gets that answer.
	err = reader.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return inventory.Inventory{}, fmt.Errorf("there is no namespace %s", namespace)
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return inventory.Inventory{}, fmt.Errorf("look for namespace %s: %w", namespace, err)
	}
	return taken, nil
}

func binding(namespace string) string {
	if namespace == "" {
		return "ClusterRoleBinding"
	}
	return "RoleBinding there"
}
