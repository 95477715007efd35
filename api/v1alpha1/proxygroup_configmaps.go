// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FaviconSource names the key of a ConfigMap that holds a picture.
type FaviconSource struct {
	// name of a ConfigMap in the same namespace.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key of the ConfigMap whose value is the picture itself, as
	// kubectl create configmap --from-file writes it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}
