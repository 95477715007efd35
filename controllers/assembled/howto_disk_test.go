// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const growingClass = "standard"

// TestTheWayToGrowADiskWorksAsWritten types every command of the page, in its
// order. Provisioner and resizer are played, the one by binding every claim, the
// other by giving every claim what it asks for.
func TestTheWayToGrowADiskWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
		Name: growingClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
	}, Provisioner: "example.test/none"}
	p.Expect(p.Client.Create(t.Context(), class)).To(gomega.Succeed())
	p.every(glance, p.storage)
	for _, sample := range []string{"network.yaml", "servergroup_survival.yaml"} {
		p.types("kubectl apply -f " + testenv.Path(t, "config/samples/"+sample))
	}
	const group = "kubectl get servergroup survival -n minecraft"
	p.sees(group, map[string]string{"PHASE": "Ready", "READY": "2"})
	page := commands(t, "docs/how-to/grow-a-disk.md")
	p.sizes(page[0], "10Gi", "10Gi")
	for at, follows := range []func(typed string){
		func(typed string) {
			p.Expect(typed).To(gomega.MatchRegexp(`standard +<none>|standard +false`), "it says that nothing grows")
		},
		func(string) {},
		func(typed string) {
			p.Eventually(func() string { return p.types(page[2]) }).Should(gomega.And(
				gomega.HavePrefix("StorageResizeRefused: "), gomega.ContainSubstring("survival-"), gomega.ContainSubstring("allowVolumeExpansion")), typed)
			p.sees(group, map[string]string{"PHASE": "Ready", "READY": "2"})
		},
		func(string) {
			p.Eventually(func() string { return p.types(page[2]) }, 4*patience).Should(gomega.HavePrefix("StorageResized: "))
			p.sizes(page[0], "20Gi", "20Gi")
		},
		func(string) { p.sizes(page[0], "50Gi", "20Gi") },
		func(string) {
			var claims corev1.PersistentVolumeClaimList
			p.Expect(p.Client.List(t.Context(), &claims, client.InNamespace(p.namespace))).To(gomega.Succeed())
			p.Expect(claims.Items).To(gomega.HaveEach(
				gomega.HaveField("Annotations", gomega.HaveKeyWithValue("resize.example.org/limit", "100Gi"))))
		},
	} {
		follows(p.types(page[at]))
	}
	p.Expect(page).To(gomega.HaveLen(6), "every command is typed")
	smaller := `kubectl patch servergroup survival -n minecraft --type merge -p '{"spec":{"storage":{"size":"15Gi"}}}'`
	_, complaint := p.tries(smaller)
	p.Expect(complaint).To(gomega.ContainSubstring("size must not shrink"))
	p.claimsAreOnlyMadeAndGrown()
	p.Expect(p.grown()).To(gomega.BeNumerically(">=", 2), "both claims were asked by a patch")
}

// sizes waits until the page's table shows what survival-0 and survival-1 have.
func (p *person) sizes(line, first, second string) {
	p.t.Helper()
	p.Eventually(func() string { return p.types(line) }, 2*patience).Should(gomega.And(
		gomega.MatchRegexp(`survival-0-data +standard +`+first+` +`+first), gomega.MatchRegexp(`survival-1-data +standard +`+second+` +`+second)))
}

// storage binds what is not bound, and gives what is asked for.
func (w *world) storage(ctx context.Context) {
	var claims corev1.PersistentVolumeClaimList
	if w.Client.List(ctx, &claims, client.InNamespace(w.namespace)) != nil {
		return
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		asks := claim.Spec.Resources.Requests.Storage()
		switch {
		case claim.Spec.VolumeName == "":
			claim.Spec.VolumeName = "volume-of-" + claim.Name
			_ = w.Client.Update(ctx, claim)
		case claim.Status.Phase != corev1.ClaimBound || claim.Status.Capacity.Storage().Cmp(*asks) < 0:
			claim.Status.Phase = corev1.ClaimBound
			claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: *asks}
			_ = w.Client.Status().Update(ctx, claim)
		}
	}
}

// grown is how often the manager has asked for larger claims.
func (w *world) grown() int {
	patches := 0
	for _, call := range w.Calls(w.t, "system:serviceaccount:"+managerNamespace+":"+managerAccount) {
		if call.Resource == "persistentvolumeclaims" && call.Verb == "patch" {
			patches++
		}
	}
	return patches
}
