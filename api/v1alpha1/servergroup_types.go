// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupType says what becomes of a server's world.
//
// +kubebuilder:validation:Enum=Ephemeral;Persistent
type GroupType string

const (
	// GroupEphemeral servers are interchangeable and sized by free seats.
	GroupEphemeral GroupType = "Ephemeral"
	// GroupPersistent servers have an ordinal and a world of their own.
	GroupPersistent GroupType = "Persistent"
)

// GroupPhase sums the conditions of a group up in one word.
//
// +kubebuilder:validation:Enum=Pending;Ready;Degraded
type GroupPhase string

const (
	// GroupPending has fewer ready members than its floor.
	GroupPending GroupPhase = "Pending"
	// GroupReady has as many ready members as its floor.
	GroupReady GroupPhase = "Ready"
	// GroupDegraded needs a person.
	GroupDegraded GroupPhase = "Degraded"
)

// Scaling sizes an ephemeral group by the seats it can offer.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas must not exceed maxReplicas"
type Scaling struct {
	// minReplicas is the number of servers that stand ready with nobody
	// online. Live boosts add to it.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the most servers the group ever has; it binds against
	// demand and boosts alike.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas int32 `json:"maxReplicas,omitempty"`

	// spareSlots is the number of free seats kept ready at all times: how
	// many people may join between two passes without meeting a full network.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	SpareSlots *int32 `json:"spareSlots,omitempty"`

	// scaleDownStabilizationSeconds is how long a server must have been empty
	// before it is removed, in seconds. Default: 300.
	//
	// +optional
	// +default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	ScaleDownStabilizationSeconds *int32 `json:"scaleDownStabilizationSeconds,omitempty"`
}

// AccessMode is a way to mount a world.
//
// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteMany;ReadWriteOncePod
type AccessMode string

const (
	// AccessReadWriteOnce lets one node mount the world.
	AccessReadWriteOnce AccessMode = "ReadWriteOnce"
	// AccessReadWriteMany lets any node mount the world.
	AccessReadWriteMany AccessMode = "ReadWriteMany"
	// AccessReadWriteOncePod lets one pod mount the world.
	AccessReadWriteOncePod AccessMode = "ReadWriteOncePod"
)

// Storage describes the claim that holds a server's world.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName is immutable"
type Storage struct {
	// size of each claim. It may grow, where the storage class allows it, and
	// never shrinks.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="size must be greater than zero"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0",message="size must not shrink"
	Size *resource.Quantity `json:"size,omitempty"`

	// storageClassName names the StorageClass of new claims. Immutable, set
	// or unset. Default: the cluster's default class.
	//
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// accessModes of new claims. Immutable. Default: ReadWriteOnce.
	//
	// +optional
	// +default=["ReadWriteOnce"]
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="accessModes is immutable"
	AccessModes []AccessMode `json:"accessModes,omitempty"`
}

// ServerDrain bounds how long a server waits for its players to leave.
//
// +kubebuilder:validation:MinProperties=1
type ServerDrain struct {
	// timeoutSeconds is how long a server that must go has its players moved
	// before whoever is left is disconnected with it, in seconds. Read anew
	// all the time: it can be raised before a drain. Default: 60.
	//
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Flavor says which files the agent prepares for the game.
//
// +kubebuilder:validation:Enum=Paper;Vanilla;Custom
type Flavor string

const (
	// FlavorPaper is Paper and what descends from it.
	FlavorPaper Flavor = "Paper"
	// FlavorVanilla is Mojang's own server.
	FlavorVanilla Flavor = "Vanilla"
	// FlavorCustom brings its own settings of forwarding.
	FlavorCustom Flavor = "Custom"
)

// Forwarding says how a server learns who a player is.
//
// +kubebuilder:validation:Enum=Velocity;None
type Forwarding string

const (
	// ForwardingVelocity takes identity and address from the proxy, signed
	// with the Network's secret.
	ForwardingVelocity Forwarding = "Velocity"
	// ForwardingNone lets the server believe any name.
	ForwardingNone Forwarding = "None"
)

// GameServer says how the game container is run.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="self.flavor != 'Vanilla' || self.forwarding == 'None'",message="forwarding must be None with flavor Vanilla"
type GameServer struct {
	// flavor is Paper, Vanilla or Custom: which files the agent prepares
	// before the game starts. Paper also covers what descends from it; Custom
	// gets server.properties and nothing else. Default: Paper.
	//
	// +optional
	// +default="Paper"
	Flavor Flavor `json:"flavor,omitempty"`

	// dataDir is the directory the game runs in, an absolute path; the world
	// is kept there. Default: /data.
	//
	// +optional
	// +default="/data"
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/[^/:]+)+$`
	// +kubebuilder:validation:XValidation:rule="self != '/spawnery' && !self.startsWith('/spawnery/')",message="/spawnery and everything below it belongs to the operator"
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(part, part == '..' || part == '.')",message="dataDir must not contain . or .. as a part"
	DataDir string `json:"dataDir,omitempty"`

	// port the game listens on. Default: 25565.
	//
	// +optional
	// +default=25565
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self != 9357 && self != 9358",message="ports 9357 and 9358 belong to the operator's agent"
	Port int32 `json:"port,omitempty"`

	// forwarding is Velocity or None. Velocity takes a player's identity from
	// the proxy; None lets the server believe any name, and is what Vanilla
	// demands. Default: Velocity.
	//
	// +optional
	// +default="Velocity"
	Forwarding Forwarding `json:"forwarding,omitempty"`

	// acceptEula accepts Minecraft's end user licence agreement
	// (https://aka.ms/MinecraftEULA) in the owner's name. Without it only an
	// image that accepts for itself starts. Default: false.
	//
	// +optional
	// +default=false
	AcceptEULA *bool `json:"acceptEula,omitempty"`

	// properties are merged into server.properties. Keys that the operator
	// sets are refused. Default: none.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.size() <= 64 && self[key].size() <= 1024)",message="a property has a key of at most 64 and a value of at most 1024 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['server-port', 'server-ip', 'online-mode', 'max-players', 'enable-status', 'prevent-proxy-connections', 'accepts-transfers', 'network-compression-threshold']) && !key.startsWith('management-server-'))",message="server-port, server-ip, online-mode, max-players, enable-status, prevent-proxy-connections, accepts-transfers, network-compression-threshold and management-server-* belong to the operator"
	Properties map[string]string `json:"properties,omitempty"`

	// user that game and agent run as. Default: that of the Network's
	// defaults.
	//
	// +optional
	User *ServerUser `json:"user,omitempty"`
}

// ServerGroupSpec describes servers that all do the same. An edit of image,
// maxPlayers, server, env, mounts, resources, scheduling or the grace period
// holds for servers made after it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.playableSlots) || self.playableSlots <= self.maxPlayers",message="playableSlots must not exceed maxPlayers"
// +kubebuilder:validation:XValidation:rule="has(self.scaling) == (self.type == 'Ephemeral')",message="scaling is required for type Ephemeral and forbidden for Persistent"
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == (self.type == 'Persistent')",message="replicas is required for type Persistent and forbidden for Ephemeral"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == (self.type == 'Persistent')",message="storage is required for type Persistent and forbidden for Ephemeral"
// +kubebuilder:validation:XValidation:rule="!has(self.mounts) || self.mounts.all(mount, mount.mountPath != self.server.dataDir && !self.server.dataDir.startsWith(mount.mountPath + '/'))",message="a mount must not cover server.dataDir"
type ServerGroupSpec struct {
	// networkRef names the Network this group belongs to. Immutable.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="networkRef is immutable"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network"
	NetworkRef NetworkReference `json:"networkRef,omitzero"`

	// type is Ephemeral or Persistent. Ephemeral servers are interchangeable,
	// lose their world with their pod and are sized by free seats; Persistent
	// ones have an ordinal and a claim of their own. Immutable.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type is immutable"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Ephemeral","urn:alm:descriptor:com.tectonic.ui:select:Persistent"}
	Type GroupType `json:"type,omitempty"`

	// image of the game.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image of the game",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// maxPlayers is the number of players that a server lets in.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Seats of a server",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MaxPlayers int32 `json:"maxPlayers,omitempty"`

	// playableSlots is how many of a server's seats count as capacity; what a
	// plugin sets on a server comes first. Default: maxPlayers.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Playable seats",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PlayableSlots int32 `json:"playableSlots,omitempty"`

	// displayName is what players read. Default: the group's name.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Display name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	DisplayName string `json:"displayName,omitempty"`

	// scaling sizes an Ephemeral group; required there, forbidden for
	// Persistent.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scaling (Ephemeral)"
	Scaling Scaling `json:"scaling,omitzero"`

	// replicas is the number of servers of a Persistent group; required
	// there, forbidden for Ephemeral. Lowering it takes the highest ordinal
	// away, whoever is on it, by an ordinary drain; its claim stays.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Servers (Persistent)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// storage describes the claim of each server of a Persistent group;
	// required there, forbidden for Ephemeral. The operator never deletes a
	// claim.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage (Persistent)"
	Storage Storage `json:"storage,omitzero"`

	// drain bounds how long a server that must go waits for its players.
	//
	// +optional
	// +default={"timeoutSeconds":60}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Drain"
	Drain ServerDrain `json:"drain,omitzero"`

	// startupDeadlineSeconds is how long a server may take to let players in
	// before it counts as failed, in seconds. Large modpacks need 240 to 540.
	// Default: the manager's --startup-deadline, 300.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Startup deadline in seconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	StartupDeadlineSeconds int32 `json:"startupDeadlineSeconds,omitempty"`

	// terminationGracePeriodSeconds is how long a stopping server has to save
	// its world before it is killed, in seconds. Default: 60.
	//
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Time to stop in seconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	TerminationGracePeriodSeconds int32 `json:"terminationGracePeriodSeconds,omitempty"`

	// failedRetentionSeconds is how long a failed server is kept for
	// diagnosis, in seconds; a persistent one holds its ordinal that long.
	// Default: 3600.
	//
	// +optional
	// +default=3600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Retention of failed servers in seconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	FailedRetentionSeconds *int32 `json:"failedRetentionSeconds,omitempty"`

	// server says how the game container is run.
	//
	// +optional
	// +default={"flavor":"Paper"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Game server",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Server GameServer `json:"server,omitzero"`

	// env are variables of the game container. Names beginning SPAWNERY_ and
	// names that the operator sets are refused. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Env []EnvVar `json:"env,omitempty"`

	// mounts are Secrets and ConfigMaps in the game container, read-only.
	// Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Mounts",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Mounts []Mount `json:"mounts,omitempty"`

	// resources of the game container. Default: those of the Network's
	// defaults.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// scheduling says where servers may run. Default: that of the Network's
	// defaults.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scheduling",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Scheduling *Scheduling `json:"scheduling,omitempty"`
}

// ServerGroupStatus is what the operator last saw of a ServerGroup.
//
// +kubebuilder:validation:MinProperties=1
type ServerGroupStatus struct {
	// conditions are Accepted, Available, Progressing, BackingOff, Degraded,
	// for an Ephemeral group ScalingLimited, and for a Persistent one
	// StorageResize.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec this status follows.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation"
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// phase sums the conditions up in one word.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase GroupPhase `json:"phase,omitempty"`

	// replicas is the number of servers.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Servers"
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of servers that let players in.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready servers"
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// updatedReplicas is the number of servers made from the present spec.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Up-to-date servers"
	UpdatedReplicas *int32 `json:"updatedReplicas,omitempty"`

	// onlinePlayers is the number of players on all servers together.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Players online"
	OnlinePlayers *int32 `json:"onlinePlayers,omitempty"`

	// freeSlots is the number of free seats that a proxy could send somebody
	// to; the scaler compares it with spareSlots.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Free seats"
	FreeSlots *int32 `json:"freeSlots,omitempty"`

	// boostedReplicas is the sum of the live boosts, also where the ceiling
	// holds servers back.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Boosted servers"
	BoostedReplicas *int32 `json:"boostedReplicas,omitempty"`

	// consecutiveFailures is the number of failed starts since the last
	// success.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Failed starts in a row"
	ConsecutiveFailures *int32 `json:"consecutiveFailures,omitempty"`

	// lastFailureAt is the time of the last failed start, from the first on.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last failure"
	LastFailureAt *metav1.Time `json:"lastFailureAt,omitempty"`

	// firstRegisteredAt is when a server of this group was first registered
	// with the proxies. Never cleared.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="First registered"
	FirstRegisteredAt *metav1.Time `json:"firstRegisteredAt,omitempty"`

	// lastDecision is what the scaler last decided, in numbers, and why.
	// Written when it changes.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last decision",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	LastDecision string `json:"lastDecision,omitempty"`
}

// ServerGroup runs servers that all do the same: a lobby, a minigame, or the
// numbered worlds of a survival server.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcgroup,categories=minecraft
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Players",type=integer,JSONPath=`.status.onlinePlayers`
// +kubebuilder:printcolumn:name="Free Slots",type=integer,JSONPath=`.status.freeSlots`
// +kubebuilder:printcolumn:name="Boosted",type=integer,JSONPath=`.status.boostedReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name must be a DNS label of at most 40 characters"
// +operator-sdk:csv:customresourcedefinitions:displayName="Server group",resources={{Server,v1alpha1,""},{Pod,v1,""},{PersistentVolumeClaim,v1,""}}
type ServerGroup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the owner wants.
	//
	// +required
	Spec ServerGroupSpec `json:"spec,omitzero"`

	// status is what the operator last saw.
	//
	// +optional
	Status ServerGroupStatus `json:"status,omitzero"`
}

// IsEphemeral says whether the group's servers are interchangeable and lose
// their world with their pod.
func (g *ServerGroup) IsEphemeral() bool {
	return g.Spec.Type == GroupEphemeral
}

// ServerGroupList is a list of ServerGroups.
//
// +kubebuilder:object:root=true
type ServerGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ServerGroup `json:"items"`
}
