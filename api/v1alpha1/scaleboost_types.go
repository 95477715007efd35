// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BoostMode says what a boost does to the size of its group.
//
// +kubebuilder:validation:Enum=Add;Exact
type BoostMode string

const (
	// BoostAdd raises the floor of the group.
	BoostAdd BoostMode = "Add"
	// BoostExact pins the group: its floor and its ceiling are one number.
	BoostExact BoostMode = "Exact"
)

// ScaleBoostSpec says by how much, where, and until when.
//
// +kubebuilder:validation:XValidation:rule="self.mode != 'Add' || self.replicas >= 1",message="replicas must be at least 1 with mode Add"
type ScaleBoostSpec struct {
	// groupRef names the ServerGroup that is boosted. A boost of a persistent
	// group moves nothing; with mode Add it shows in the group's status.
	//
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Group"
	GroupRef GroupReference `json:"groupRef,omitzero"`

	// mode is Add or Exact. Add raises the group's floor by replicas; such
	// boosts of one group add up. Exact pins the group: floor and ceiling are
	// both replicas, of several the newest counts, and Add boosts pause. Empty
	// servers above the number go at once, occupied ones take nobody new and
	// go when their players have left. Default: Add.
	//
	// +optional
	// +default="Add"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Mode",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Add","urn:alm:descriptor:com.tectonic.ui:select:Exact"}
	Mode BoostMode `json:"mode,omitempty"`

	// replicas is a number of servers: at least 1 with mode Add, where it is
	// added to the group's floor, and also 0 with mode Exact, where the group
	// is held at it. The group's maxReplicas binds in either mode.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Servers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// expiresAt is the instant, RFC 3339, from which the boost counts no
	// more, by the operator's clock. Default: it never expires.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Expires",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// ScaleBoost raises the floor of an ephemeral ServerGroup for a while, or holds
// the group at a number of servers. It has no status: what it does shows on the
// group, as status.boostedReplicas and status.pinnedReplicas.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=boost;boosts,categories=minecraft
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.groupRef.name`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
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
