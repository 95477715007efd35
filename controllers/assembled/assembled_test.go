// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/rbacaudit"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

func network() *v1alpha1.Network {
	return &v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "production"}}
}

func hub() *v1alpha1.ServerGroup {
	group := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Name: "hub"}}
	group.Spec = v1alpha1.ServerGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: "production"},
		Type:       v1alpha1.GroupEphemeral, Image: "ghcr.io/spawnery/purpur:26.3-0.34.0", MaxPlayers: 50,
		Scaling: v1alpha1.Scaling{
			MinReplicas: new(int32(2)), MaxReplicas: 5, SpareSlots: new(int32(30)), ScaleDownStabilizationSeconds: new(int32(3)),
		},
		Drain: v1alpha1.ServerDrain{TimeoutSeconds: 3},
	}
	return group
}

func survival(replicas int32) *v1alpha1.ServerGroup {
	group := hub()
	group.Name = "survival"
	group.Spec.Type, group.Spec.Scaling, group.Spec.Replicas = v1alpha1.GroupPersistent, v1alpha1.Scaling{}, &replicas
	group.Spec.Storage = v1alpha1.Storage{Size: new(resource.MustParse("1Gi"))}
	return group
}

// TestANetworkLives walks one network through its life. The parts build on
// each other, so a part that fails ends the walk.
func TestANetworkLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.startManager()
	w.create(network(), hub(), survival(2), front())
	for _, part := range []struct {
		name string
		do   func(*world)
	}{
		{"a network is accepted and its namespace prepared", networkIsAccepted},
		{"servers become ready with counts", serversBecomeReady},
		{"a full hub grows and an empty one shrinks", hubFollowsPlayers},
		{"a boost raises the floor and its expiry ends that", boostComesAndGoes},
		{"a plugin boosts its group and ends that", pluginBoosts},
		{"a server with players is not evicted, and an empty one is", evictions},
		{"a deleted server drains before it goes", deletedServerDrains},
		{"a persistent ordinal meets its claim again", ordinalKeepsItsClaim},
		{"a claim that cannot grow says so", refusedGrowthIsTold},
		{"a proxy group follows its number", proxiesFollowTheirNumber},
		{"policies are what the Network says", policiesFollow},
		{"a cordon of the only node changes nothing", onlyNodeCordoned},
		{"servers leave a node once there is another", anotherNodeCame},
		{"another manager changes nothing", func(w *world) { anotherManager(w, stop) }},
		{"the manager did nothing it may not do", nothingForbidden},
	} {
		if !t.Run(part.name, func(*testing.T) { part.do(w) }) {
			t.Fatalf("%s: it did not", part.name)
		}
	}
}

func networkIsAccepted(w *world) {
	w.Eventually(func(g gomega.Gomega) {
		var found v1alpha1.Network
		g.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "production"}, &found)).To(gomega.Succeed())
		g.Expect(apimeta.IsStatusConditionTrue(found.Status.Conditions, v1alpha1.ConditionAccepted)).To(gomega.BeTrue())
		g.Expect(found.Status.OnlineMode).To(gomega.HaveValue(gomega.BeTrue()))
	}).Should(gomega.Succeed())
	var secret corev1.Secret
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "production-forwarding"}, &secret)).To(gomega.Succeed())
	w.Expect(secret.OwnerReferences).To(gomega.BeEmpty(), "a Network made again must find its secret")
	w.Expect(len(secret.Data["secret"])).To(gomega.BeNumerically(">=", 32))
}

func serversBecomeReady(w *world) {
	w.Eventually(func(g gomega.Gomega) {
		status := w.group("hub").Status
		g.Expect(status.Phase).To(gomega.Equal(v1alpha1.GroupReady))
		g.Expect(status.ReadyReplicas).To(gomega.HaveValue(gomega.BeNumerically(">=", 2)))
		g.Expect(status.FreeSlots).To(gomega.HaveValue(gomega.BeNumerically(">=", 100)))
		g.Expect(w.group("survival").Status.ReadyReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(2)))
	}).Should(gomega.Succeed())
	for _, server := range w.servers() {
		w.Expect(server.Status.WasRegistered).To(gomega.HaveValue(gomega.BeTrue()), server.Name)
		w.Expect(server.Status.Players).To(gomega.HaveValue(gomega.BeEquivalentTo(0)), server.Name)
	}
}

// hubFollowsPlayers fills every server of the hub but for a few seats.
func hubFollowsPlayers(w *world) {
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2), "the extra server at the start goes once it has been empty")
	for _, name := range w.readyHubs() {
		w.join(name, 40)
	}
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(3), "20 free seats are fewer than the 30 to spare")
	w.Eventually(func() *int32 { return w.group("hub").Status.FreeSlots }).Should(gomega.HaveValue(gomega.BeEquivalentTo(70)))
	for _, name := range w.readyHubs() {
		w.join(name, 0)
	}
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2))
}

func boostComesAndGoes(w *world) {
	expiry := metav1.NewTime(time.Now().Add(4 * time.Second))
	boost := &v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: "hub-friday"}}
	boost.Spec = v1alpha1.ScaleBoostSpec{GroupRef: v1alpha1.GroupReference{Name: "hub"}, Replicas: new(int32(2)), ExpiresAt: &expiry}
	w.create(boost)
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(4), "two by its spec, two by the boost, with nobody online")
	w.Expect(w.group("hub").Status.BoostedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(2)))
	w.Eventually(func() *int32 { return w.group("hub").Status.BoostedReplicas }).Should(gomega.HaveValue(gomega.BeEquivalentTo(0)))
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2), "the extra servers go by the ordinary rule")
}

// pluginBoosts has a plugin of a hub ask for one server more.
func pluginBoosts(w *world) {
	agent := w.agentOf(w.readyHubs()[0])
	made := agent.ask(&agentv1alpha1.Ask{Id: "more", Ask: &agentv1alpha1.Ask_AddBoost{AddBoost: &agentv1alpha1.AddBoost{Replicas: 1}}}, answered)
	w.Expect(made.GetVerdict()).To(gomega.Equal(agentv1alpha1.Verdict_VERDICT_DONE), made.GetDetail())
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(3), "two by its spec, one by the boost")
	end := &agentv1alpha1.EndBoost{Name: made.GetBoosts()[0].GetName()}
	ended := agent.ask(&agentv1alpha1.Ask{Id: "enough", Ask: &agentv1alpha1.Ask_EndBoost{EndBoost: end}}, answered)
	w.Expect(ended.GetVerdict()).To(gomega.Equal(agentv1alpha1.Verdict_VERDICT_DONE), ended.GetDetail())
	w.Eventually(func() *int32 { return w.group("hub").Status.BoostedReplicas }).Should(gomega.HaveValue(gomega.BeEquivalentTo(0)))
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2))
}

// answered is how long an answer of the manager may take here.
const answered = 30 * time.Second

// deletedServerDrains deletes an occupied server: with no proxy to move its
// player it waits for the deadline, and is replaced meanwhile.
func deletedServerDrains(w *world) {
	name := w.readyHubs()[0]
	w.join(name, 1)
	w.Eventually(func() *int32 { return w.server(name).Status.Players }).Should(gomega.HaveValue(gomega.BeEquivalentTo(1)))
	w.Expect(w.Client.Delete(w.t.Context(), w.server(name))).To(gomega.Succeed())
	w.Eventually(func() v1alpha1.ServerPhase { return w.server(name).Status.Phase }).Should(gomega.Equal(v1alpha1.ServerDraining))
	w.Expect(w.server(name).Status.Registered).To(gomega.HaveValue(gomega.BeFalse()))
	w.Eventually(func() bool {
		err := w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &v1alpha1.Server{})
		return apierrors.IsNotFound(err)
	}).Should(gomega.BeTrue(), "its drain deadline is three seconds")
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2))
}

func ordinalKeepsItsClaim(w *world) {
	key := client.ObjectKey{Namespace: w.namespace, Name: "survival-1-data"}
	var before, after corev1.PersistentVolumeClaim
	w.Expect(w.Client.Get(w.t.Context(), key, &before)).To(gomega.Succeed())
	w.Expect(before.OwnerReferences).To(gomega.BeEmpty())
	for _, replicas := range []int32{1, 2} {
		w.edit("survival", func(group *v1alpha1.ServerGroup) { group.Spec.Replicas = &replicas })
		w.Eventually(func() *int32 { return w.group("survival").Status.ReadyReplicas }).
			Should(gomega.HaveValue(gomega.Equal(replicas)))
		w.Expect(w.Client.Get(w.t.Context(), key, &after)).To(gomega.Succeed(), "a claim outlives its server")
		w.Expect(after.UID).To(gomega.Equal(before.UID))
	}
}

// anotherManager stops the manager and starts one that remembers nothing.
func anotherManager(w *world, stop func()) {
	before := w.uids()
	stop()
	leftover := &v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: "hub-thursday", Labels: podspec.ManagedLabels()}}
	leftover.Spec = v1alpha1.ScaleBoostSpec{
		GroupRef: v1alpha1.GroupReference{Name: "hub"}, Replicas: new(int32(2)), ExpiresAt: new(metav1.NewTime(time.Now().Add(-time.Hour))),
	}
	w.create(leftover)
	w.startManager()
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(leftover), leftover))
	}).Should(gomega.BeTrue(), "a boost of the operator's own goes once it has expired")
	// The time a new leader gives its servers to report is over when the group
	// is decided on again: its decision says so.
	w.Eventually(func() *int32 { return w.group("hub").Status.FreeSlots }).Should(gomega.HaveValue(gomega.BeEquivalentTo(100)))
	w.Consistently(w.uids, 8*time.Second, time.Second).Should(gomega.Equal(before))
}

func nothingForbidden(w *world) {
	user := "system:serviceaccount:" + managerNamespace + ":" + managerAccount
	for _, call := range w.Calls(w.t, user) {
		w.Expect(call.Forbidden).To(gomega.BeFalse(), "%+v", call)
		w.Expect(call.Name == probe || call.Confined == "").To(gomega.BeTrue(), "%+v", call)
	}
	w.claimsAreOnlyMadeAndGrown()
	granted := rbacaudit.Grants(rbacaudit.Required())
	used := usedGrants(w.Calls(w.t, user), granted)
	w.Expect(used).NotTo(gomega.ContainElement(gomega.HaveField("Scope", gomega.BeEmpty())), "a call that no permission covers")
	var unused []string
	for _, grant := range rbacaudit.Without(granted, used) {
		if !partOfAWatch(grant, used) && grant.String() != eventsAgain {
			unused = append(unused, grant.String())
		}
	}
	w.Expect(unused).To(gomega.ConsistOf(notUsedHere()), "a permission that nothing needs is taken away")
}

// eventsAgain is used when an event happens again within minutes, which here
// is a matter of chance.
const eventsAgain = "ClusterRole: patch events.events.k8s.io"

// partOfAWatch is true for a get or list of what is watched: a cache lists
// where the API server does not stream, and reads of it are no calls.
func partOfAWatch(grant rbacaudit.Grant, used []rbacaudit.Grant) bool {
	watch := grant
	watch.Verb = "watch"
	return (grant.Verb == "get" || grant.Verb == "list") && slices.Contains(used, watch)
}

// notUsedHere are the permissions that this walk has no use for: those of a
// manager that has rivals, whose certificate grows old, or whose endpoint
// changes; and the reading half that goes with every status.
func notUsedHere() []string {
	return []string{
		"ClusterRole: create events",
		"ClusterRole: patch events",
		"ClusterRole: patch configmaps spawnery-channel",
		"ClusterRole: get networks/status.spawnery.cloud",
		"ClusterRole: get proxygroups/status.spawnery.cloud",
		"ClusterRole: get servergroups/status.spawnery.cloud",
		"ClusterRole: get servers/status.spawnery.cloud",
		"Role: update secrets spawnery-manager-tls",
		"Role: patch secrets spawnery-manager-tls",
		"Role: create leases.coordination.k8s.io",
		"Role: get leases.coordination.k8s.io spawnery-manager",
		"Role: update leases.coordination.k8s.io spawnery-manager",
		"Role: patch leases.coordination.k8s.io spawnery-manager",
	}
}

// usedGrants finds the permission behind each call; one without a scope for a
// call that none covers.
func usedGrants(calls []testenv.Call, granted []rbacaudit.Grant) []rbacaudit.Grant {
	var used []rbacaudit.Grant
	for _, call := range calls {
		found := rbacaudit.Grant{Group: call.Group, Resource: call.Resource, Name: call.Name, Verb: call.Verb}
		if call.Subresource != "" {
			found.Resource += "/" + call.Subresource
		}
		for _, grant := range granted {
			same := grant.Group == found.Group && grant.Resource == found.Resource && grant.Verb == found.Verb
			named := grant.Name == "" || grant.Name == call.Name
			here := grant.Scope == rbacaudit.Cluster || call.Namespace == managerNamespace
			if same && named && here {
				used = append(used, grant)
				found.Scope = grant.Scope
			}
		}
		if found.Scope == "" {
			used = append(used, found)
		}
	}
	return used
}

func front() *v1alpha1.ProxyGroup {
	group := &v1alpha1.ProxyGroup{ObjectMeta: metav1.ObjectMeta{Name: "front"}}
	group.Spec = v1alpha1.ProxyGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: "production"},
		Replicas:   1,
		Expose:     v1alpha1.Expose{Type: v1alpha1.ExposeNodePort, NodePort: v1alpha1.ExposeByNodePort{Port: 30565}},
		Routing:    v1alpha1.Routing{FallbackGroups: []string{"hub"}},
		Drain:      v1alpha1.ProxyDrain{TimeoutSeconds: 2},
	}
	return group
}

func (w *world) proxyGroup() *v1alpha1.ProxyGroup {
	group := &v1alpha1.ProxyGroup{}
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "front"}, group)).To(gomega.Succeed())
	return group
}

func proxiesFollowTheirNumber(w *world) {
	w.Eventually(func() string { return w.proxyGroup().Status.Address }).Should(gomega.Equal("203.0.113.7:30565"))
	for _, replicas := range []int32{2, 1} {
		w.editFront(func(group *v1alpha1.ProxyGroup) { group.Spec.Replicas = replicas })
		w.Eventually(func() *int32 { return w.proxyGroup().Status.ReadyReplicas }).Should(gomega.HaveValue(gomega.Equal(replicas)))
	}
	w.editFront(func(group *v1alpha1.ProxyGroup) { group.Spec.Expose.NodePort.Port = 30566 })
	w.Eventually(func() string { return w.proxyGroup().Status.Address }).Should(gomega.Equal("203.0.113.7:30566"))
	w.Eventually(func(g gomega.Gomega) {
		var service corev1.Service
		g.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "front-proxy"}, &service)).To(gomega.Succeed())
		g.Expect(service.Spec.Ports).To(gomega.ConsistOf(gomega.HaveField("NodePort", gomega.BeEquivalentTo(30566))))
	}).Should(gomega.Succeed())
}

// refusedGrowthIsTold asks a claim to grow that no storage class lets grow.
func refusedGrowthIsTold(w *world) {
	w.bindWorld("survival-0-data")
	w.edit("survival", func(group *v1alpha1.ServerGroup) { group.Spec.Storage.Size = new(resource.MustParse("2Gi")) })
	w.Eventually(func(g gomega.Gomega) {
		refused := apimeta.FindStatusCondition(w.group("survival").Status.Conditions, v1alpha1.ConditionStorageResize)
		g.Expect(refused).NotTo(gomega.BeNil())
		g.Expect(refused.Reason).To(gomega.Equal(v1alpha1.ReasonStorageResizeRefused))
		g.Expect(refused.Message).To(gomega.ContainSubstring("survival-"))
	}).Should(gomega.Succeed())
	w.Expect(w.group("survival").Status.ReadyReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(2)), "its servers run on what they have")
}

func (w *world) server(name string) *v1alpha1.Server {
	server := &v1alpha1.Server{}
	err := w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, server)
	w.Expect(client.IgnoreNotFound(err)).To(gomega.Succeed())
	return server
}

// readyHubs are the names of the hub's ready servers, sorted.
func (w *world) readyHubs() []string {
	var names []string
	for _, server := range w.servers() {
		if server.Spec.GroupRef.Name == "hub" && server.Status.Phase == v1alpha1.ServerReady && server.DeletionTimestamp == nil {
			names = append(names, server.Name)
		}
	}
	slices.Sort(names)
	return names
}

// uids are the Servers and pods there are, by name and UID.
func (w *world) uids() []string {
	var all []string
	for _, server := range w.servers() {
		all = append(all, server.Name+" "+string(server.UID)+" "+server.Status.PodUID)
	}
	slices.Sort(all)
	return all
}
