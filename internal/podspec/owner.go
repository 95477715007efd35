// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Kind is a kind of the API that owns objects.
type Kind string

const (
	// KindServerGroup owns its Servers, its budget, its policy and boosts made for
	// it.
	KindServerGroup Kind = "ServerGroup"
	// KindProxyGroup owns its pods, its Service and its budget.
	KindProxyGroup Kind = "ProxyGroup"
	// KindServer owns its pod.
	KindServer Kind = "Server"
)

// ControlledBy is the reference every owned object carries. It does not block
// the owner's deletion: an owner that must outlive its children has a finalizer.
func ControlledBy(kind Kind, owner metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         v1alpha1.GroupVersion.String(),
		Kind:               string(kind),
		Name:               owner.GetName(),
		UID:                owner.GetUID(),
		Controller:         new(true),
		BlockOwnerDeletion: new(false),
	}
}

// ownedMeta is the metadata of an object that goes when its owner goes.
func ownedMeta(kind Kind, owner metav1.Object, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       owner.GetNamespace(),
		Name:            name,
		OwnerReferences: []metav1.OwnerReference{ControlledBy(kind, owner)},
	}
}
