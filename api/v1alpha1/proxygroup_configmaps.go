// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MessageSource names a ConfigMap of translations.
type MessageSource struct {
	// name of a ConfigMap in the same namespace. Each of its keys is a locale as the
	// game writes it, and .yaml or .json, such as de_de.yaml or de.json, and holds
	// the words of any number of messages in that language.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// fallbackLocale is the locale whose words are for players for whose language
	// there are none, and for whoever is sent away before their language is known.
	// Where it has none either, they read the built-in English. Default: en_us.
	//
	// +optional
	// +default="en_us"
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[a-z]{2,8}(_[a-z0-9]{2,8})?$`
	FallbackLocale string `json:"fallbackLocale,omitempty"`
}

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
