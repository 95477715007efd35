// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ScaleBoostSpec says by how much, where, and until when.
type ScaleBoostSpec struct {
	// groupRef names the ServerGroup whose floor is raised. A boost of a
	// persistent group shows in its status and moves nothing.
	//
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Group"
	GroupRef GroupReference `json:"groupRef,omitzero"`

	// replicas is the number of servers added to the group's floor. Boosts of
	// one group add up; its ceiling binds all the same.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="More servers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas,omitempty"`

	// expiresAt is the instant, RFC 3339, from which the boost counts no
	// more, by the operator's clock. Default: it never expires.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Expires",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// ScaleBoost raises the floor of an ephemeral ServerGroup for a while. It has
// no status: what it does shows on the group, as status.boostedReplicas.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=boost;boosts,categories=minecraft
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.groupRef.name`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expiresAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="Scale boost",resources={{ServerGroup,v1alpha1,""}}
type ScaleBoost struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the owner wants.
	//
	// +required
	Spec ScaleBoostSpec `json:"spec,omitzero"`
}

// ScaleBoostList is a list of ScaleBoosts.
//
// +kubebuilder:object:root=true
type ScaleBoostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ScaleBoost `json:"items"`
}
