// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ReservedPath is the directory of the operator's own files in every
// container it makes. Nothing of an owner's is mounted at it or below it.
const ReservedPath = "/spawnery"

// Protocol is what a port speaks below the game.
//
// +kubebuilder:validation:Enum=TCP;UDP
type Protocol string

const (
	// ProtocolTCP is a stream of bytes.
	ProtocolTCP Protocol = "TCP"
	// ProtocolUDP is single packets, such as voice.
	ProtocolUDP Protocol = "UDP"
)

// PortAccess says who may reach a port.
//
// +kubebuilder:validation:Enum=Cluster;Anywhere
type PortAccess string

const (
	// FromCluster is every pod of the cluster.
	FromCluster PortAccess = "Cluster"
	// FromAnywhere is everybody.
	FromAnywhere PortAccess = "Anywhere"
)

// ServerPort is a port of the game container beside the game's own.
//
// +kubebuilder:validation:XValidation:rule="self.protocol != 'TCP' || !(self.port in [9357, 9358, 25585, 25586])",message="ports 9357, 9358, 25585 and 25586 belong to the operator's agent"
type ServerPort struct {
	// name of the port, by which others can select it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]+(-[a-z0-9]+)*$') && self.matches('[a-z]')",message="name of a port has lower case letters, digits and single dashes between them, and at least one letter"
	// +kubebuilder:validation:XValidation:rule="!(self in ['minecraft', 'agent'])",message="the names minecraft and agent belong to the operator"
	Name string `json:"name,omitempty"`

	// port is its number.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// protocol is TCP or UDP. Default: TCP.
	//
	// +optional
	// +default="TCP"
	Protocol Protocol `json:"protocol,omitempty"`

	// from is Cluster or Anywhere: every pod of the cluster may reach the port,
	// or everybody. Read at runtime. Default: Cluster.
	//
	// +optional
	// +default="Cluster"
	From PortAccess `json:"from,omitempty"`
}

// Scheduling says where the pods of a group may run. The fields mean what
// they mean in a pod.
type Scheduling struct {
	// nodeSelector lists labels that a node must carry. Default: none.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations lists the taints that do not keep a pod away. Default: none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity attracts pods to nodes or to other pods, or keeps them apart.
	// Default: none.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the pods over zones or nodes.
	// Default: none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName names the PriorityClass of the pods. Default: the
	// cluster's own default.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// UserPolicy says who chooses the user that game and agent run as.
//
// +kubebuilder:validation:Enum=Fixed;Namespace
type UserPolicy string

const (
	// UserFixed takes the user from uid, gid and fsGroup.
	UserFixed UserPolicy = "Fixed"
	// UserNamespace leaves the choice to the cluster, as OpenShift demands.
	UserNamespace UserPolicy = "Namespace"
)

// ServerUser is the user that the game and its agent run as.
//
// +kubebuilder:validation:XValidation:rule="self.policy == 'Fixed' || !(has(self.uid) || has(self.gid) || has(self.fsGroup))",message="uid, gid and fsGroup are only allowed with policy Fixed"
type ServerUser struct {
	// policy is Fixed or Namespace. Fixed sets uid, gid and fsGroup on every
	// container alike; Namespace sets none of them, and the cluster chooses
	// from the namespace's range. Default: Fixed.
	//
	// +optional
	// +default="Fixed"
	Policy UserPolicy `json:"policy,omitempty"`

	// uid is the numeric user. Default with policy Fixed: 1000.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	UID int64 `json:"uid,omitempty"`

	// gid is the numeric primary group. Default with policy Fixed: 1000.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	GID int64 `json:"gid,omitempty"`

	// fsGroup is the numeric group that owns the volumes. Default with policy
	// Fixed: 1000.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup int64 `json:"fsGroup,omitempty"`
}

// EnvVar is one environment variable of the game container.
//
// +kubebuilder:validation:XValidation:rule="!self.name.startsWith('SPAWNERY_')",message="names beginning SPAWNERY_ belong to the operator"
// +kubebuilder:validation:XValidation:rule="!self.name.startsWith('MANAGEMENT_SERVER_')",message="names beginning MANAGEMENT_SERVER_ belong to the operator: its agent uses the management protocol"
// +kubebuilder:validation:XValidation:rule="!(self.name in ['EULA', 'SERVER_PORT', 'SERVER_IP', 'ONLINE_MODE', 'MAX_PLAYERS', 'ENABLE_STATUS', 'STOP_DURATION', 'ENABLE_AUTOPAUSE', 'ENABLE_AUTOSTOP', 'PREVENT_PROXY_CONNECTIONS', 'ACCEPTS_TRANSFERS', 'NETWORK_COMPRESSION_THRESHOLD', 'PAPER_VELOCITY_SECRET'])",messageExpression="self.name + ' is not yours to set: ' + {'EULA': 'use server.acceptEula', 'SERVER_PORT': 'use server.port', 'SERVER_IP': 'a server listens on every address of its pod', 'ONLINE_MODE': 'use onlineMode of the Network', 'MAX_PLAYERS': 'use maxPlayers', 'ENABLE_STATUS': 'the agent asks for the status', 'STOP_DURATION': 'use terminationGracePeriodSeconds', 'ENABLE_AUTOPAUSE': 'use scaling', 'ENABLE_AUTOSTOP': 'use scaling', 'PREVENT_PROXY_CONNECTIONS': 'players come through proxies', 'ACCEPTS_TRANSFERS': 'players come through proxies', 'NETWORK_COMPRESSION_THRESHOLD': 'proxies and servers share one', 'PAPER_VELOCITY_SECRET': 'use forwardingSecretRef of the Network'}[self.name]"
// +kubebuilder:validation:XValidation:rule="!(has(self.value) && has(self.valueFrom))",message="value and valueFrom exclude each other"
type EnvVar struct {
	// name of the variable. Names that the operator sets are refused, with
	// the field to use instead.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_.-]*$`
	Name string `json:"name,omitempty"`

	// value is the variable's value. Default: the empty string.
	//
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`

	// valueFrom takes the value from a Secret or a ConfigMap when the pod
	// starts. A later change reaches servers started after it.
	//
	// +optional
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource is where the value of a variable comes from.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) != has(self.configMapKeyRef)",message="exactly one of secretKeyRef and configMapKeyRef is required"
type EnvVarSource struct {
	// secretKeyRef names a key of a Secret.
	//
	// +optional
	SecretKeyRef KeyReference `json:"secretKeyRef,omitzero"`

	// configMapKeyRef names a key of a ConfigMap.
	//
	// +optional
	ConfigMapKeyRef KeyReference `json:"configMapKeyRef,omitzero"`
}

// Mount puts a Secret or a ConfigMap into the game container, read-only.
//
// +kubebuilder:validation:XValidation:rule="has(self.secret) != has(self.configMap)",message="exactly one of secret and configMap is required"
// +kubebuilder:validation:XValidation:rule="self.mountPath != '/spawnery' && !self.mountPath.startsWith('/spawnery/')",message="/spawnery and everything below it belongs to the operator"
// +kubebuilder:validation:XValidation:rule="!self.mountPath.split('/').exists(part, part == '..' || part == '.')",message="mountPath must not contain . or .. as a part"
type Mount struct {
	// mountPath is where the content appears, an absolute path. It is never
	// the server's data directory, nor one above it.
	//
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/[^/:]+)+$`
	MountPath string `json:"mountPath,omitempty"`

	// subPath mounts this one key as a file at mountPath; a later change of
	// it is seen by servers started after it. Default: every key, as files in
	// a directory at mountPath.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	SubPath string `json:"subPath,omitempty"`

	// secret names the Secret to mount.
	//
	// +optional
	Secret LocalReference `json:"secret,omitzero"`

	// configMap names the ConfigMap to mount.
	//
	// +optional
	ConfigMap LocalReference `json:"configMap,omitzero"`
}
