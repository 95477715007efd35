// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

const (
	networkName  = "production"
	groupName    = "survival"
	lobbyName    = "lobby"
	frontName    = "front"
	mostReplicas = 3
	// seats are those of one server.
	seats = 10
	image = "ghcr.io/spawnery/purpur:26.3-0.34."
)

// step is one thing that happens. Its weight says how often it does.
type step struct {
	name   string
	weight int
	do     func(*trial)
}

// steps are all that people, the cluster and the machine do in a trial.
func steps() []step {
	return []step{
		{"delete the group", 5, (*trial).deleteGroup},
		{"make the group", 8, (*trial).makeGroup},
		{"make the group anew", 8, (*trial).makeGroupAnew},
		{"change replicas", 7, (*trial).changeReplicas},
		{"change the image", 4, (*trial).changeImage},
		{"change the size", 8, (*trial).changeSize},
		{"delete a Server", 7, (*trial).deleteServer},
		{"strip a Server", 3, (*trial).stripServer},
		{"copy a Server", 4, (*trial).copyServer},
		{"delete a pod", 7, (*trial).deletePod},
		{"end a pod", 4, (*trial).endPod},
		{"delete the Network", 3, (*trial).deleteNetwork},
		{"make the Network", 5, (*trial).makeNetwork},
		{"make the proxies", 1, (*trial).makeProxies},
		{"delete the proxies", 2, (*trial).deleteProxies},
		{"make the lobby", 1, (*trial).makeLobby},
		{"make a claim", 4, (*trial).makeClaim},
		{"strip a claim of its label", 4, (*trial).stripClaim},
		{"grow a claim", 2, (*trial).growClaim},
		{"uninstall the operator", 1, (*trial).uninstall},
		{"restart the manager", 3, (*trial).restartManager},
		{"crash the manager", 10, (*trial).crashManager},
		{"fail calls", 10, (*trial).failCalls},
		{"let a cache grow stale", 9, (*trial).holdWatches},
		{"lose or find the node", 4, (*trial).loseNode},
	}
}

// says adds a step of people to the chronicle, with what the API server said.
func (t *trial) says(err error, format string, args ...any) {
	line := "people: " + fmt.Sprintf(format, args...)
	if err != nil {
		line += ": " + err.Error()
	}
	t.ledger.note(time.Now(), "%s", line)
}

func (t *trial) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.namespace, Name: name}
}

func (t *trial) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: t.namespace, Name: name}
}

// one picks any of a list, the zero value of none.
func one[T any](t *trial, all []T) (T, bool) {
	roll := t.random.IntN(1 << 16)
	if len(all) == 0 {
		var none T
		return none, false
	}
	return all[roll%len(all)], true
}

func (t *trial) propagation() metav1.DeletionPropagation {
	picked, _ := one(t, []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	})
	return picked
}

// sizes are those that groups and people ask for.
func (t *trial) size() resource.Quantity {
	picked, _ := one(t, []string{"1Gi", "1536Mi", "2Gi", "3Gi"})
	return resource.MustParse(picked)
}

func (t *trial) makeNetwork() {
	err := t.people.Create(t.Context(), &v1alpha1.Network{ObjectMeta: t.named(networkName)})
	t.says(err, "make Network %s", networkName)
}

func (t *trial) deleteNetwork() {
	how := t.propagation()
	err := t.people.Delete(t.Context(), &v1alpha1.Network{ObjectMeta: t.named(networkName)}, client.PropagationPolicy(how))
	t.says(err, "delete Network %s, %s", networkName, how)
}

func (t *trial) makeGroup() {
	group := &v1alpha1.ServerGroup{ObjectMeta: t.named(groupName)}
	size := t.size()
	if t.groups++; t.groups > 1 && t.random.IntN(2) == 0 {
		// Its worlds may be larger by now.
		size = resource.MustParse("1Gi")
	}
	class := elastic
	if t.random.IntN(4) == 0 {
		class = rigid
	}
	group.Spec = v1alpha1.ServerGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: networkName},
		Type:       v1alpha1.GroupPersistent, Image: image + "0", MaxPlayers: seats,
		Replicas:                      new(1 + t.random.Int32N(mostReplicas)),
		Storage:                       v1alpha1.Storage{Size: &size, StorageClassName: &class},
		Drain:                         v1alpha1.ServerDrain{TimeoutSeconds: speed},
		FailedRetentionSeconds:        new(int32(speed / 2)),
		TerminationGracePeriodSeconds: 1,
	}
	err := t.people.Create(t.Context(), group)
	t.says(err, "make ServerGroup %s: %d replicas of %s of class %s", groupName, *group.Spec.Replicas, &size, class)
}

func (t *trial) deleteGroup() {
	how := t.propagation()
	err := t.people.Delete(t.Context(), &v1alpha1.ServerGroup{ObjectMeta: t.named(groupName)}, client.PropagationPolicy(how))
	t.says(err, "delete ServerGroup %s, %s", groupName, how)
}

// makeGroupAnew deletes the group, often after its worlds were to grow, waits a
// while until it is gone, and makes it again with other numbers.
func (t *trial) makeGroupAnew() {
	if t.random.IntN(2) == 0 {
		most := resource.MustParse("3Gi")
		t.edit(func(g *v1alpha1.ServerGroup) { g.Spec.Storage.Size = &most }, "%s wants %s", groupName, &most)
		t.settle(300 * time.Millisecond)
	}
	t.deleteGroup()
	gone := func() bool {
		return apierrors.IsNotFound(t.people.Get(t.Context(), t.key(groupName), &v1alpha1.ServerGroup{}))
	}
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline) && !gone(); {
		t.poke()
		wait(t.Context(), 50*time.Millisecond)
	}
	t.makeGroup()
}

// edit changes the group's spec, whatever the manager writes meanwhile.
func (t *trial) edit(change func(*v1alpha1.ServerGroup), format string, args ...any) {
	before := &v1alpha1.ServerGroup{}
	err := t.people.Get(t.Context(), t.key(groupName), before)
	if err == nil {
		after := before.DeepCopy()
		change(after)
		err = t.people.Patch(t.Context(), after, client.MergeFrom(before))
	}
	t.says(err, format, args...)
}

func (t *trial) changeReplicas() {
	replicas := t.random.Int32N(mostReplicas + 1)
	t.edit(func(g *v1alpha1.ServerGroup) { g.Spec.Replicas = &replicas }, "%s wants %d replicas", groupName, replicas)
}

func (t *trial) changeImage() {
	wanted := image + string(rune('0'+t.random.IntN(3)))
	t.edit(func(g *v1alpha1.ServerGroup) { g.Spec.Image = wanted }, "%s wants image %s", groupName, wanted)
}

func (t *trial) changeSize() {
	size := t.size()
	t.edit(func(g *v1alpha1.ServerGroup) { g.Spec.Storage.Size = &size }, "%s wants %s", groupName, &size)
}

func (t *trial) makeLobby() {
	group := &v1alpha1.ServerGroup{ObjectMeta: t.named(lobbyName)}
	group.Spec = v1alpha1.ServerGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: networkName},
		Type:       v1alpha1.GroupEphemeral, Image: image + "0", MaxPlayers: seats,
		Scaling:                       v1alpha1.Scaling{MinReplicas: new(int32(1)), MaxReplicas: 2, SpareSlots: new(int32(1))},
		Drain:                         v1alpha1.ServerDrain{TimeoutSeconds: speed},
		TerminationGracePeriodSeconds: 1,
	}
	err := t.people.Create(t.Context(), group)
	t.says(err, "make ServerGroup %s", lobbyName)
	if err == nil {
		t.tally.count(lobbiesMade)
	}
}

func (t *trial) makeProxies() {
	group := &v1alpha1.ProxyGroup{ObjectMeta: t.named(frontName)}
	group.Spec = v1alpha1.ProxyGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: networkName},
		Replicas:   1,
		Expose:     v1alpha1.Expose{Type: v1alpha1.ExposeClusterIP, ClusterIP: v1alpha1.ExposeByClusterIP{Address: "play.example.org:25565"}},
		Routing:    v1alpha1.Routing{FallbackGroups: []string{groupName}},
		Drain:      v1alpha1.ProxyDrain{TimeoutSeconds: speed},
	}
	err := t.people.Create(t.Context(), group)
	t.says(err, "make ProxyGroup %s", frontName)
	if err == nil {
		t.tally.count(proxiesMade)
	}
}

func (t *trial) deleteProxies() {
	how := t.propagation()
	err := t.people.Delete(t.Context(), &v1alpha1.ProxyGroup{ObjectMeta: t.named(frontName)}, client.PropagationPolicy(how))
	t.says(err, "delete ProxyGroup %s, %s", frontName, how)
}

// servers are those of the persistent group.
func (t *trial) servers() []v1alpha1.Server {
	var all v1alpha1.ServerList
	if err := t.people.List(t.Context(), &all, client.InNamespace(t.namespace)); err != nil {
		t.says(err, "list Servers")
	}
	var found []v1alpha1.Server
	for i := range all.Items {
		if all.Items[i].Spec.GroupRef.Name == groupName {
			found = append(found, all.Items[i])
		}
	}
	return found
}

func (t *trial) deleteServer() {
	server, found := one(t, t.servers())
	how := t.propagation()
	if found {
		err := t.people.Delete(t.Context(), &server, client.PropagationPolicy(how))
		t.says(err, "delete Server %s, %s", server.Name, how)
	}
}

func (t *trial) stripServer() {
	server, found := one(t, t.servers())
	owners := t.random.IntN(2) == 0
	if !found {
		return
	}
	before := server.DeepCopy()
	what := "labels"
	if owners {
		what, server.OwnerReferences = "owner", nil
	} else {
		server.Labels = nil
	}
	t.says(t.people.Patch(t.Context(), &server, client.MergeFrom(before)), "strip Server %s of its %s", server.Name, what)
}

// copyServer makes a second Server on an ordinal, as one does who applies what
// kubectl get printed under another name; or the ordinal's own, by hand.
func (t *trial) copyServer() {
	server, found := one(t, t.servers())
	rightful := t.random.IntN(4) == 0
	if !found || server.Spec.Ordinal == nil {
		return
	}
	t.copies++
	twin := &v1alpha1.Server{ObjectMeta: t.named(fmt.Sprintf("%s-copy-%d", groupName, t.copies)), Spec: server.Spec}
	if rightful {
		twin.Name = podspec.PersistentServerName(groupName, *server.Spec.Ordinal)
	}
	twin.Labels, twin.OwnerReferences, twin.Finalizers = server.Labels, server.OwnerReferences, server.Finalizers
	t.says(t.people.Create(t.Context(), twin), "copy Server %s to %s, ordinal %d", server.Name, twin.Name, *twin.Spec.Ordinal)
}

func (t *trial) pods() []corev1.Pod {
	var all corev1.PodList
	if err := t.people.List(t.Context(), &all, client.InNamespace(t.namespace)); err != nil {
		t.says(err, "list pods")
	}
	return all.Items
}

func (t *trial) deletePod() {
	pod, found := one(t, t.pods())
	force := t.random.IntN(2) == 0
	if !found {
		return
	}
	var options []client.DeleteOption
	if force {
		options = append(options, client.GracePeriodSeconds(0))
	}
	t.says(t.people.Delete(t.Context(), &pod, options...), "delete pod %s, by force: %v", pod.Name, force)
}

// endPod ends the containers of a pod, well or badly.
func (t *trial) endPod() {
	pod, found := one(t, t.pods())
	well := t.random.IntN(2) == 0
	if !found {
		return
	}
	t.node.endAgent(pod.UID)
	ended := corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.Now()}
	pod.Status.Phase = corev1.PodFailed
	if well {
		pod.Status.Phase, ended.ExitCode, ended.Reason = corev1.PodSucceeded, 0, "Completed"
	}
	pod.Status.Conditions = nil
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &ended}
		pod.Status.ContainerStatuses[i].Ready = false
	}
	t.says(t.people.Status().Update(t.Context(), &pod), "pod %s ends: %s", pod.Name, pod.Status.Phase)
}
