// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// renewDeadline is the manager's own.
const renewDeadline = 10 * time.Second

// TestAManagerThatStoodStillWritesNothing stops the process, as a machine does
// that swaps or sleeps. When it goes on, another one leads and the group wants
// two servers more; it has ten seconds left in which it does not know that.
func TestAManagerThatStoodStillWritesNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	env := testenv.Start(t)
	create(t, env, "config/manager/namespace.yaml", "config/rbac/service_account.yaml",
		"config/rbac/role.yaml", "config/rbac/role_binding.yaml")
	manager := start(t, env)
	create(t, env, "config/samples/namespace.yaml", "config/samples/network.yaml", "config/samples/servergroup_hub.yaml")
	hubs := func() []string { return names(t, env, &v1alpha1.ServerList{}, "hub") }
	eventually(g, hubs).Should(gomega.HaveLen(2))
	few := hubs()

	g.Expect(manager.Process.Signal(syscall.SIGSTOP)).To(gomega.Succeed())
	var lease coordinationv1.Lease
	g.Expect(env.Client.Get(t.Context(), client.ObjectKey{Namespace: ownNamespace, Name: account}, &lease)).To(gomega.Succeed())
	taken, before := time.Now(), lease.DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = new("another"), new(metav1.NewMicroTime(taken))
	g.Expect(env.Client.Patch(t.Context(), &lease, client.MergeFrom(before))).To(gomega.Succeed())
	edit(t, env, "hub", func(hub *v1alpha1.ServerGroup) { hub.Spec.Scaling.MinReplicas = new(int32(4)) })
	eventually(g, func() time.Duration { return time.Since(taken) }).Should(gomega.BeNumerically(">", renewDeadline))

	g.Expect(manager.Process.Signal(syscall.SIGCONT)).To(gomega.Succeed())
	g.Expect(manager.Wait()).NotTo(gomega.Succeed(), "it ends when it sees that it does not lead any more")
	g.Expect(hubs()).To(gomega.ConsistOf(few))
	for _, call := range env.Calls(t, user) {
		g.Expect(call.Forbidden).To(gomega.BeFalse(), "%+v", call)
	}
}
