// SPDX-License-Identifier: Apache-2.0

package sighting

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/nodes"
)

// Nodes looks at the cluster's nodes; drainTaints are the keys of taints that
// say, beside the known ones, that a node leaves. The reader must be a cache.
func Nodes(ctx context.Context, reader client.Reader, drainTaints []string) (nodes.View, error) {
	var list corev1.NodeList
	// A view changes nothing, and a cluster may have thousands of nodes.
	if err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nodes.View{}, fmt.Errorf("list the nodes: %w", err)
	}
	return nodes.Look(list.Items, drainTaints), nil
}
