// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// identity tells an object from another of its name, and its spec from a later
// one.
type identity struct {
	UID        types.UID
	Generation int64
}

// kindsOfNetworks are those that a network consists of.
var kindsOfNetworks = map[string]string{
	"Network": apiOfOurs, "ProxyGroup": apiOfOurs, "ServerGroup": apiOfOurs, "ScaleBoost": apiOfOurs, "Server": apiOfOurs,
	"Pod": "v1", "PersistentVolumeClaim": "v1", "Service": "v1", "ServiceAccount": "v1", "ConfigMap": "v1", "Secret": "v1",
}

var apiOfOurs = v1alpha1.GroupVersion.String()

// metadata lists objects of the game namespace, without their content.
func (w *world) metadata(apiVersion, kind string) []metav1.PartialObjectMetadata {
	w.t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.APIVersion, list.Kind = apiVersion, kind+"List"
	if err := w.Client.List(w.t.Context(), list, client.InNamespace(gameNamespace)); err != nil {
		w.t.Fatalf("listing %s: %v", kind, err)
	}
	return list.Items
}

// names are those of the objects of a kind in the game namespace.
func (w *world) names(kind string) []string {
	w.t.Helper()
	apiVersion, ours := kindsOfNetworks[kind]
	if !ours {
		apiVersion = apiOfOLM
	}
	var names []string
	for _, object := range w.metadata(apiVersion, kind) {
		names = append(names, object.Name)
	}
	return names
}

// identities are those of everything in the game namespace.
func (w *world) identities() map[string]identity {
	w.t.Helper()
	all := map[string]identity{}
	for kind, apiVersion := range kindsOfNetworks {
		for _, object := range w.metadata(apiVersion, kind) {
			all[kind+" "+object.Name] = identity{object.UID, object.Generation}
		}
	}
	return all
}

// unsettled says what of the network the manager has not made yet.
func (w *world) unsettled() error {
	var groups v1alpha1.ServerGroupList
	var servers v1alpha1.ServerList
	var proxies v1alpha1.ProxyGroupList
	for _, list := range []client.ObjectList{&groups, &servers, &proxies} {
		if err := w.Client.List(w.t.Context(), list, client.InNamespace(gameNamespace)); err != nil {
			return err
		}
	}
	made := map[string]int32{}
	for _, server := range servers.Items {
		made[server.Spec.GroupRef.Name]++
	}
	claims := 0
	for _, group := range groups.Items {
		wanted := cmp.Or(group.Spec.Replicas, group.Spec.Scaling.MinReplicas)
		if got := made[group.Name]; got < *wanted || got != ptr.Deref(group.Status.Replicas, 0) {
			return fmt.Errorf("%s has %d servers, its spec wants %d and its status says %d", group.Name, got, *wanted, ptr.Deref(group.Status.Replicas, 0))
		}
		claims += int(ptr.Deref(group.Spec.Replicas, 0))
	}
	pods := len(servers.Items)
	for _, group := range proxies.Items {
		pods += int(group.Spec.Replicas)
	}
	if got := len(w.names("Pod")); got != pods || pods == 0 {
		return fmt.Errorf("%d pods of %d", got, pods)
	}
	if got := len(w.names("PersistentVolumeClaim")); got != claims {
		return fmt.Errorf("%d claims of %d", got, claims)
	}
	return nil
}

// manager is a pod of the operator's Deployment.
type manager struct {
	Pod, Image string
	Ready      bool
}

// managers are the pods of the operator that are not on their way out.
func (w *world) managers() []manager {
	w.t.Helper()
	var found []manager
	for _, pod := range w.managerPods() {
		if pod.DeletionTimestamp == nil {
			ready := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }
			found = append(found, manager{pod.Name, pod.Spec.Containers[0].Image, slices.ContainsFunc(pod.Status.Conditions, ready)})
		}
	}
	return found
}

func (w *world) managerPods() []corev1.Pod {
	w.t.Helper()
	var pods corev1.PodList
	if err := w.Client.List(w.t.Context(), &pods, client.InNamespace(operatorNamespace)); err != nil {
		w.t.Fatalf("listing pods: %v", err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.ServiceAccountName != accountName })
}

// leftovers are what OLM made for the operator and its users, but for the
// kinds: Deployment, account, roles and their bindings.
func (w *world) leftovers() []string {
	w.t.Helper()
	var found []string
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.ServiceAccountList{}, &corev1.ServiceList{},
		&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		if err := w.Client.List(w.t.Context(), list); err != nil {
			w.t.Fatalf("listing %T: %v", list, err)
		}
		found = append(found, ofOperator(list)...)
	}
	return found
}

// decides edits a group and waits until the manager did what follows from it.
func (w *world) decides() {
	w.t.Helper()
	group := &v1alpha1.ServerGroup{}
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: gameNamespace, Name: "survival"}, group)).To(gomega.Succeed())
	before := group.DeepCopy()
	third := gomega.ContainElement("survival-2")
	if *group.Spec.Replicas == 2 {
		group.Spec.Replicas = new(int32(3))
	} else {
		group.Spec.Replicas = new(int32(2))
		third = gomega.Not(third)
	}
	w.Expect(w.Client.Patch(w.t.Context(), group, client.MergeFrom(before))).To(gomega.Succeed())
	w.Eventually(func() []string { return w.names("Server") }).Should(third)
	w.Eventually(func() []string { return w.names("Pod") }).Should(third)
	w.Eventually(func() int64 { return w.observed("survival") }).Should(gomega.Equal(group.Generation))
}

// observed is the generation of a group that its status is about.
func (w *world) observed(name string) int64 {
	w.t.Helper()
	group := &v1alpha1.ServerGroup{}
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: gameNamespace, Name: name}, group)).To(gomega.Succeed())
	if group.Status.ObservedGeneration == nil {
		return 0
	}
	return *group.Status.ObservedGeneration
}

// removal is a time in which OLM takes the operator away.
type removal struct{ from, to time.Time }

// uninstall deletes subscription and versions, as the instructions say, and
// waits until they and every manager are gone.
func (w *world) uninstall(s *story) {
	w.t.Helper()
	begun := time.Now()
	for _, kind := range []string{subKind, csvKind} {
		for _, object := range w.list(kind) {
			w.Expect(client.IgnoreNotFound(w.Client.Delete(w.t.Context(), &object))).To(gomega.Succeed())
		}
		w.Eventually(func() []unstructured.Unstructured { return w.list(kind) }).Should(gomega.BeEmpty(), kind)
	}
	w.Eventually(w.managerPods).Should(gomega.BeEmpty())
	s.removals = append(s.removals, removal{begun, time.Now()})
}

// condition is what a condition of OLM's says, while it is true.
func condition(object unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		found := unstructured.Unstructured{Object: each.(map[string]any)}
		if text(found, "type") == kind && text(found, "status") == "True" {
			return fmt.Sprintf("%s: %s", text(found, "reason"), text(found, "message"))
		}
	}
	return ""
}

// ofOperator are the objects of a list that OLM made for the operator.
func ofOperator(list client.ObjectList) []string {
	var found []string
	_ = apimeta.EachListItem(list, func(item runtime.Object) error {
		object := item.(client.Object)
		if strings.HasPrefix(object.GetLabels()["olm.owner"], packageName) || strings.Contains(object.GetName(), accountName) {
			found = append(found, fmt.Sprintf("%T %s", object, object.GetName()))
		}
		return nil
	})
	return found
}
