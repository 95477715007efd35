// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/inventory"
)

func used(status corev1.ConditionStatus, since time.Duration) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
			{Type: corev1.PersistentVolumeClaimUnused, Status: status, LastTransitionTime: ago(since)},
		}
	}
}

// accumulated has a claim in every state.
func accumulated() inventory.Inventory {
	return inventory.Take(inventory.Input{
		Claims: []corev1.PersistentVolumeClaim{
			claim("survival-0-data", used(corev1.ConditionFalse, time.Hour)),
			claim("survival-1-data"),
			claim("survival-2-data", used(corev1.ConditionTrue, 26*time.Hour)),
			claim("survival-3-data", used(corev1.ConditionFalse, time.Minute)),
			claim("creative-0-data", func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = nil }),
			claim("survival-4-data", deleted),
			claim("backup"),
		},
		Servers: []v1alpha1.Server{server("survival", 0)},
		Groups: []v1alpha1.ServerGroup{
			group("survival", 2, condition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "6 attempts in a row failed")),
			group("skyblock", 1),
		},
	})
}

func same(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestThePersonReadsWhatHasAccumulated(t *testing.T) {
	taken := accumulated()
	same(t, `
NAMESPACE   CLAIM             GROUP      SIZE        AGE   LAST USED   WHY
minecraft   creative-0-data   creative   10Gi/-      2d    not known   there is no ServerGroup creative
minecraft   survival-2-data   survival   10Gi/12Gi   2d    26h ago     ServerGroup survival has replicas 2
minecraft   survival-3-data   survival   10Gi/12Gi   2d    in use      ServerGroup survival has replicas 2

Deleting a claim deletes a world, and there is no undelete.
The operator never does it; --commands prints what to type.

Waiting for a server, so no orphans: their groups require them.
NAMESPACE   SERVER       CLAIM             REASON   WHY
minecraft   skyblock-0   none yet          Due      not made yet, and the operator has not said why: does it run?
minecraft   survival-1   survival-1-data   GaveUp   6 attempts in a row failed

Deleted by somebody, and not gone yet:
NAMESPACE   CLAIM             GROUP      SIZE        AGE   LAST USED   WHY
minecraft   survival-4-data   survival   10Gi/12Gi   2d    not known   somebody deleted it; it goes when no pod uses it

No world's claims, though labelled spawnery.cloud/managed-by=spawnery-operator:
NAMESPACE   CLAIM    GROUP   SIZE        AGE   LAST USED   WHY
minecraft   backup   -       10Gi/12Gi   2d    not known   no server mounts a claim of this name
`, taken.Text("namespace minecraft", now))
}

func TestNoOrphansIsSaid(t *testing.T) {
	none := inventory.Take(inventory.Input{Claims: []corev1.PersistentVolumeClaim{claim("a-0-data")}, Servers: []v1alpha1.Server{server("a", 0)}})
	same(t, "no orphans in namespace minecraft\n", none.Text("namespace minecraft", now))
	same(t, "# no orphans in any namespace\n", none.Commands("any namespace", "", now))
}

func TestCommandsAreForOrphansThatNoPodUses(t *testing.T) {
	taken := accumulated()
	same(t, `
# Deleting a claim deletes a world, and there is no undelete.

# creative-0-data: there is no ServerGroup creative; 10Gi/-, 2d old, last used: not known
kubectl --context=old delete pvc creative-0-data -n minecraft

# survival-2-data: ServerGroup survival has replicas 2; 10Gi/12Gi, 2d old, last used: 26h ago
kubectl --context=old delete pvc survival-2-data -n minecraft

# survival-3-data: ServerGroup survival has replicas 2; 10Gi/12Gi, 2d old, last used: in use
# A pod uses it: find out which one before you remove anything.
`, taken.Commands("namespace minecraft", " --context=old", now))
}

func TestAListingHasListsAndNoNulls(t *testing.T) {
	empty := inventory.Inventory{}
	content, err := json.Marshal(empty.Listing())
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"orphans":[],"waiting":[],"beingDeleted":[],"unrelated":[]}`, string(content))

	taken := accumulated()
	listing := taken.Listing()
	content, err = json.Marshal(listing.Orphans[1])
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"namespace":"minecraft","claim":"survival-2-data","group":"survival","ordinal":2,"state":"Orphaned",`+
		`"why":"ServerGroup survival has replicas 2","requested":"10Gi","capacity":"12Gi","created":"2026-11-28T12:00:00Z",`+
		`"use":{"state":"Unused","since":"2026-11-29T10:00:00Z"}}`, string(content))
	content, err = json.Marshal(listing.Waiting[1])
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"namespace":"minecraft","group":"survival","ordinal":1,"claim":"survival-1-data","reason":"GaveUp","why":"6 attempts in a row failed"}`, string(content))
	if len(listing.BeingDeleted) != 1 || len(listing.Unrelated) != 1 || len(listing.Orphans) != 3 {
		t.Errorf("%+v", listing)
	}
}
