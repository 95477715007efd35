// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// NetworkReference names the Network an object belongs to.
type NetworkReference struct {
	// name of a Network in the same namespace.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name,omitempty"`
}

// GroupReference names a ServerGroup.
type GroupReference struct {
	// name of a ServerGroup in the same namespace.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name,omitempty"`
}

// LocalReference names a Secret or ConfigMap.
type LocalReference struct {
	// name of an object in the same namespace.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// KeyReference names one key of a Secret or ConfigMap.
type KeyReference struct {
	// name of an object in the same namespace.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key whose value is taken. A missing key keeps the pod from starting.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
