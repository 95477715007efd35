// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"testing"

	"github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// TestTheWayToBoundWhoReachesServersWorksAsWritten types every command of the
// page, in its order, under servers whose pods stay what they are.
func TestTheWayToBoundWhoReachesServersWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, sample := range []string{"network.yaml", "servergroup_hub.yaml"} {
		p.types("kubectl apply -f " + testenv.Path(t, "config/samples/"+sample))
	}
	p.sees("kubectl get servergroup hub -n minecraft", map[string]string{"PHASE": "Ready"})
	page := commands(t, "docs/how-to/bound-who-reaches-servers.md")
	p.Expect(page).To(gomega.HaveLen(4), "every command is typed")
	p.Expect(p.types(page[0])).To(gomega.And(
		gomega.ContainSubstring("To Port: minecraft/TCP"), gomega.ContainSubstring("To Port: 9357/TCP"),
		gomega.ContainSubstring("spawnery.cloud/network=production"), gomega.ContainSubstring("Not affecting egress traffic")))
	p.types(page[1])
	p.Eventually(func() string { return p.types(page[0]) }).Should(gomega.And(
		gomega.ContainSubstring("To Port: metrics/TCP"), gomega.ContainSubstring("To Port: voice/UDP")))
	p.Eventually(func() bool {
		status := p.group("hub").Status
		return ptr.Deref(status.UpdatedReplicas, 0) > 0 && ptr.Deref(status.UpdatedReplicas, 0) == ptr.Deref(status.Replicas, 0)
	}, 4*patience).Should(gomega.BeTrue(), "servers declare the ports")
	before := p.serversOf("hub")
	p.types(page[2])
	p.Eventually(func() string { return p.types(page[0]) }).Should(gomega.And(
		gomega.ContainSubstring("CIDR: 10.20.0.0/16"), gomega.ContainSubstring("Policy Types: Ingress, Egress")))
	p.types(page[3])
	p.Eventually(func() bool {
		err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "hub-server"}, &networkingv1.NetworkPolicy{})
		return apierrors.IsNotFound(err)
	}).Should(gomega.BeTrue())
	p.Expect(p.serversOf("hub")).To(gomega.Equal(before), "nobody was replaced for a policy")
}
