// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the contract between the owner of a Minecraft network
// and the operator: the kinds of the group spawnery.cloud, their validation,
// and the conditions and reasons their status can carry.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=spawnery.cloud
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "spawnery.cloud"

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeGroupVersion is GroupVersion under the name that generated code
	// looks for.
	SchemeGroupVersion = GroupVersion

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package with a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(
		GroupVersion,
		&Network{}, &NetworkList{},
		&ProxyGroup{}, &ProxyGroupList{},
		&ServerGroup{}, &ServerGroupList{},
		&Server{}, &ServerList{},
		&ScaleBoost{}, &ScaleBoostList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
