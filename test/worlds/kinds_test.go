// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// kinds are the manifests of our own kinds.
func (t *trial) kinds() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, name := range []string{"networks", "proxygroups", "scaleboosts", "servergroups", "servers"} {
		all = append(all, testenv.ReadManifests(t, testenv.Path(t, "config/crd/bases", "spawnery.cloud_"+name+".yaml"))...)
	}
	return all
}

// deleteKinds takes the kinds away, and with them every object of theirs, under
// a manager that works or after it was stopped.
func (t *trial) deleteKinds() {
	stopped := t.random.IntN(2) == 0
	if t.kindless {
		return
	}
	t.tally.count(kindsDeleted)
	t.says(nil, "delete the kinds, the manager stopped first: %v", stopped)
	if stopped {
		t.stopManager()
	}
	t.kindless = true
	for _, kind := range t.kinds() {
		if err := t.people.Delete(t.Context(), kind); err != nil {
			t.says(err, "delete %s", kind.GetName())
		}
	}
}

// makeKinds waits until the kinds are gone, and installs them again. What a
// manager that is no more has not released, people release.
func (t *trial) makeKinds() {
	t.stopManager()
	t.insist("waiting for the end of the kinds", func() error {
		t.release()
		for _, kind := range t.kinds() {
			if err := t.people.Get(t.Context(), client.ObjectKeyFromObject(kind), kind); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s is still there: %w", kind.GetName(), err)
			}
		}
		return nil
	})
	for _, kind := range t.kinds() {
		must(t, "installing the kinds", t.people.Create(t.Context(), kind))
	}
	t.insist("waiting for the kinds", func() error {
		for _, list := range []client.ObjectList{
			&v1alpha1.NetworkList{}, &v1alpha1.ProxyGroupList{}, &v1alpha1.ScaleBoostList{}, &v1alpha1.ServerGroupList{}, &v1alpha1.ServerList{},
		} {
			if err := t.people.List(t.Context(), list, client.InNamespace(t.namespace)); err != nil {
				return err
			}
		}
		return nil
	})
	t.kindless = false
	t.ledger.note(time.Now(), "people: install the kinds")
}

// release takes the operator's finalizer off the trial's Servers.
func (t *trial) release() {
	var all v1alpha1.ServerList
	if t.people.List(t.Context(), &all, client.InNamespace(t.namespace)) != nil {
		return
	}
	for i := range all.Items {
		_ = t.people.Patch(t.Context(), &all.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
}
