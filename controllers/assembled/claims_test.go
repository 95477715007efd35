// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"encoding/json"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// claimsAreOnlyMadeAndGrown reads in the audit log what the manager ever wrote
// to claims.
func (w *world) claimsAreOnlyMadeAndGrown() {
	w.t.Helper()
	made := 0
	for _, call := range w.Calls(w.t, "system:serviceaccount:"+managerNamespace+":"+managerAccount) {
		if call.Resource != "persistentvolumeclaims" || call.Name == probe {
			continue
		}
		w.Expect(call.Subresource).To(gomega.BeEmpty(), "%+v", call)
		switch call.Verb {
		case "get", "list", "watch":
		case "create":
			var claim corev1.PersistentVolumeClaim
			w.Expect(json.Unmarshal([]byte(call.Body), &claim)).To(gomega.Succeed())
			w.Expect(claim.OwnerReferences).To(gomega.BeEmpty(), call.Body)
			w.Expect(claim.Finalizers).To(gomega.BeEmpty(), call.Body)
			made++
		case "patch":
			w.Expect(leaves(w, call.Body)).To(gomega.ConsistOf(
				"metadata.uid", "metadata.resourceVersion", "spec.resources.requests.storage"), call.Body)
		default:
			w.t.Errorf("%+v", call)
		}
	}
	w.Expect(made).To(gomega.BeNumerically(">", 0), "the log shows what is written to claims")
}

// leaves are the fields that a patch has a value for.
func leaves(w *world, patch string) []string {
	var document map[string]any
	w.Expect(json.Unmarshal([]byte(patch), &document)).To(gomega.Succeed())
	var paths []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		fields, nested := value.(map[string]any)
		if !nested {
			paths = append(paths, path[1:])
			return
		}
		for name, field := range fields {
			walk(path+"."+name, field)
		}
	}
	walk("", document)
	return paths
}
