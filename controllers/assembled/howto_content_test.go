// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// TestTheWayToBringContentWorksAsWritten types every command of the page, in its
// order. No kubelet runs, so nothing is copied: that is the agent's own test.
func TestTheWayToBringContentWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.types("kubectl apply -f " + testenv.Path(t, "config/samples/network.yaml"))
	page := commands(t, "docs/how-to/bring-content-to-a-server.md")
	p.Expect(page).To(gomega.HaveLen(5), "every command is typed")
	p.saves("creative.yaml", page[0])
	p.Expect(p.types(page[1])).To(gomega.ContainSubstring("creative created"))
	p.sees("kubectl get servergroup creative -n minecraft", map[string]string{"PHASE": "Ready", "READY": "1"})
	p.Expect(p.copies()).To(gomega.Equal([]string{"creative-0 install template prepare agent: maps"}))
	before := p.podUID("creative-0")
	p.types(page[2])
	p.Eventually(func() string { return p.podUID("creative-0") }, 4*patience).ShouldNot(gomega.BeElementOf("", before))
	p.sees(page[3], map[string]string{"NAME": "creative-0", "PHASE": "Ready"})
	p.Expect(p.types(page[4])).To(gomega.HavePrefix("Accepted: "))

	complaint := func(change string) string {
		_, complaint := p.tries("kubectl patch servergroup creative -n minecraft --type merge -p '" + change + "'")
		return complaint
	}
	p.Expect(complaint(`{"spec":{"server":{"template":[{"persistentVolumeClaim":{"name":"creative-0-data"}}]}}}`)).To(
		gomega.ContainSubstring("a layer must not be a claim of the group's own worlds"))
}

// copies are the pods with what runs in them before the game, and the claims
// that they take files from.
func (p *person) copies() []string {
	p.t.Helper()
	var pods corev1.PodList
	p.Expect(p.Client.List(p.t.Context(), &pods, client.InNamespace(p.namespace))).To(gomega.Succeed())
	var all []string
	for i := range pods.Items {
		names := []string{pods.Items[i].Name}
		for _, container := range pods.Items[i].Spec.InitContainers {
			names = append(names, container.Name)
		}
		all = append(all, strings.Join(names, " ")+": "+strings.Join(podspec.LayerClaims(&pods.Items[i]), " "))
	}
	return all
}

func (p *person) podUID(name string) string {
	var pod corev1.Pod
	if p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, &pod) != nil || pod.DeletionTimestamp != nil {
		return ""
	}
	return string(pod.UID)
}
