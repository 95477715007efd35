// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// neverReady publishes a version whose manager answers no probe.
func neverReady(w *world, s *story) {
	broken := w.later(*s.current, s.last().nextPatch(), csvFile, func(csv *unstructured.Unstructured) {
		manager := managerOf(w.t, csv)
		manager["args"] = append(manager["args"].([]any), "--health-probe-bind-address=0")
	})
	old := w.managers()[0].Pod
	s.publish(w, broken)
	// Failed is where it would be after five minutes, and on from there in a
	// circle: what OLM says by then is the same.
	w.Eventually(w.phases).Should(gomega.Equal(map[string]string{s.installed.csv(): "Replacing", broken.csv(): "Installing"}))
	w.Eventually(w.managers).Should(gomega.ContainElement(gomega.HaveField("Image", broken.manager)))
	w.Eventually(func() string { return w.csvMessage(broken) }).
		Should(gomega.ContainSubstring("waiting for deployment spawnery-manager to become ready"))
	w.decides()
	w.Expect(w.managers()).To(gomega.ContainElement(manager{Pod: old, Image: s.installed.manager, Ready: true}))
}

// storedVersionDropped publishes a version in which a kind has another version
// of its API, and not the one in which objects are stored.
func storedVersionDropped(w *world, s *story) {
	const other = "v1beta1"
	dropping := w.later(*s.current, s.last().nextMinor(), "manifests/spawnery.cloud_scaleboosts.yaml", func(kind *unstructured.Unstructured) {
		only(w.t, kind)["name"] = other
	})
	edit(w.t, filepath.Join(dropping.folder, csvFile), func(csv *unstructured.Unstructured) {
		owned, _, _ := unstructured.NestedFieldNoCopy(csv.Object, "spec", "customresourcedefinitions", "owned")
		for _, each := range owned.([]any) {
			if kind := each.(map[string]any); kind["kind"] == "ScaleBoost" {
				kind["version"] = other
			}
		}
	})
	s.isRefused(w, dropping, `risk of data loss updating "scaleboosts.spawnery.cloud": new CRD removes version v1alpha1 that is listed as a stored version on the existing CRD`)
}

// schemaNarrowed publishes a version that allows no group of the samples, under
// a subscription that waits for approval.
func schemaNarrowed(w *world, s *story) {
	subscription := w.subscription()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"installPlanApproval": "Manual"}}`))
	w.Expect(w.Client.Patch(w.t.Context(), &subscription, patch)).To(gomega.Succeed())
	narrow := w.later(*s.current, s.last().nextMinor(), "manifests/spawnery.cloud_servergroups.yaml", func(kind *unstructured.Unstructured) {
		set(w.t, only(w.t, kind), int64(10), "schema", "openAPIV3Schema", "properties", "spec", "properties", "maxPlayers", "maximum")
	})
	s.isRefused(w, narrow, "error validating existing CRs against new CRD's schema", "spec.maxPlayers", "should be less than or equal to 10")
}

// only is the one version of a kind.
func only(t testing.TB, kind *unstructured.Unstructured) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedFieldNoCopy(kind.Object, "spec", "versions")
	if err != nil || len(versions.([]any)) != 1 {
		t.Fatalf("%s has not one version: %v", kind.GetName(), err)
	}
	return versions.([]any)[0].(map[string]any)
}

// isRefused publishes a version and waits until OLM refuses it, in these words.
// What is installed goes on.
func (s *story) isRefused(w *world, refused bundle, words ...string) {
	w.t.Helper()
	before, old := w.identities(), w.managers()
	s.publish(w, refused)
	if text(w.subscription(), "spec.installPlanApproval") == "Manual" {
		w.approve(s.installed)
	}
	for _, said := range words {
		w.Eventually(func() string { return condition(w.subscription(), "InstallPlanFailed") }).
			Should(gomega.ContainSubstring(said))
	}
	w.Eventually(w.phases).Should(gomega.Equal(map[string]string{s.installed.csv(): "Replacing", refused.csv(): "Pending"}))
	w.Expect(w.identities()).To(gomega.Equal(before))
	w.decides()
	w.Expect(w.managers()).To(gomega.Equal(old))
}

// approve approves the InstallPlan that waits for it. Until then what is
// installed stays.
func (w *world) approve(installed bundle) {
	w.t.Helper()
	waiting := unstructured.Unstructured{}
	w.Eventually(func() bool {
		for _, plan := range w.list(planKind) {
			if text(plan, "status.phase") == "RequiresApproval" {
				waiting = plan
				return true
			}
		}
		return false
	}).Should(gomega.BeTrue(), "an InstallPlan waits")
	w.Expect(w.phases()).To(gomega.Equal(map[string]string{installed.csv(): "Succeeded"}))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"approved": true}}`))
	w.Expect(w.Client.Patch(w.t.Context(), &waiting, patch)).To(gomega.Succeed())
}

// publish adds a version to the catalog. Its manager is that of this tree.
func (s *story) publish(w *world, b bundle) {
	w.t.Helper()
	w.provideManager(b, w.manager())
	s.catalog = append(s.catalog, b)
	w.publish(s.catalog...)
}

// last is the highest version in the catalog.
func (s *story) last() bundle { return s.catalog[len(s.catalog)-1] }
