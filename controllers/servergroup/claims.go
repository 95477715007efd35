// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"fmt"
	"strings"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// reportResize tells of claims that could not grow, and of those whose file
// systems are to follow.
func reportResize(set *conditions.Set, seen observation) {
	for i := range seen.objects {
		if refused := seen.objects[i].Status.StorageResizeError; refused != "" {
			set.False(v1alpha1.ConditionStorageResize, v1alpha1.ReasonStorageResizeRefused,
				fmt.Sprintf("the disk of %s has not grown: %s", seen.objects[i].Name, refused))
			return
		}
	}
	said := []string{"every claim asks for spec.storage.size, or more"}
	var pending []string
	for i := range seen.servers {
		if seen.servers[i].Resize == fleet.ResizePending {
			pending = append(pending, seen.servers[i].Name)
		}
	}
	if len(pending) > 0 {
		said = append(said, listed(pending)+": the volume has grown, and its file system does so when the server is restarted, one at a time")
	}
	set.True(v1alpha1.ConditionStorageResize, v1alpha1.ReasonStorageResized, strings.Join(said, ". "))
}
