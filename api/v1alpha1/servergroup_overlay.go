// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// UnknownKeys says what becomes of a key that no known version of a file has.
//
// +kubebuilder:validation:Enum=Refuse;Allow
type UnknownKeys string

const (
	// UnknownKeysRefuse keeps the server from starting.
	UnknownKeysRefuse UnknownKeys = "Refuse"
	// UnknownKeysAllow takes the key.
	UnknownKeysAllow UnknownKeys = "Allow"
)

// ConfigOverlay lays files of a ConfigMap over those of the data directory.
type ConfigOverlay struct {
	// configMap names the ConfigMap. One that is missing keeps servers from
	// starting.
	//
	// +required
	ConfigMap LocalReference `json:"configMap,omitzero"`

	// items are the files to take from it.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Items []ConfigOverlayItem `json:"items,omitempty"`
}

// ConfigOverlayItem is one file of a ConfigOverlay.
type ConfigOverlayItem struct {
	// key of the ConfigMap that holds the file. One that is missing keeps
	// servers from starting.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`

	// path of the file in the server's data directory, such as
	// plugins/Greeter/config.yml. Files ending in .properties, .yml, .yaml,
	// .toml and .json are merged key by key, lists replaced; all others are
	// replaced whole.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^/]+(/[^/]+)*$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(part, part == '..' || part == '.')",message="path must not contain . or .. as a part"
	// +kubebuilder:validation:XValidation:rule="self != 'eula.txt'",message="eula.txt belongs to the operator: use server.acceptEula"
	// +kubebuilder:validation:XValidation:rule="!self.contains('.spawnery-')",message="names with .spawnery- belong to the operator"
	Path string `json:"path,omitempty"`

	// unknownKeys is Refuse or Allow: what becomes of a key that this release
	// knows from no version of server.properties, of Paper's
	// config/paper-global.yml or of config/FabricProxy-Lite.toml. Allow is for
	// keys that a newer game has. Default: Refuse.
	//
	// +optional
	// +default="Refuse"
	UnknownKeys UnknownKeys `json:"unknownKeys,omitempty"`
}
