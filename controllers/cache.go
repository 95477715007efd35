// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// CacheOptions keep what the operator did not make out of the caches: a cluster
// may hold thousands of pods and claims that are none of its business.
func CacheOptions() cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(podspec.ManagedLabels())}
	return cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Node{}:                  {Transform: trimNode},
		&corev1.Pod{}:                   ours,
		&corev1.PersistentVolumeClaim{}: ours,
		&corev1.Service{}:               ours,
		&policyv1.PodDisruptionBudget{}: ours,
		&networkingv1.NetworkPolicy{}:   ours,
	}}
}

// trimNode leaves of a node what is looked at: whether it leaves, whom it could
// take, and where players reach it. Its images alone are kilobytes.
func trimNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		TypeMeta: node.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels,
		},
		Spec:   corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable, Taints: node.Spec.Taints},
		Status: corev1.NodeStatus{Addresses: node.Status.Addresses},
	}, nil
}
