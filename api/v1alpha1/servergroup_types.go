// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
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
	// online. Live boosts add to it, and a pin takes its place.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the most servers the group ever has, those not counted
	// that take nobody new and go when their players have left. It binds
	// against demand, boosts and changeovers alike.
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

	// consolidation is Disabled or Enabled. Players that are spread over all
	// servers keep every one occupied, so that none ever empties. Enabled
	// retires one server after another, the emptiest whose players the others
	// can take with spareSlots still free, each once that has held for
	// scaleDownStabilizationSeconds. Its players stay until they leave.
	// Default: Disabled.
	//
	// +optional
	// +default="Disabled"
	Consolidation Consolidation `json:"consolidation,omitempty"`
}

// ServerGroupSpec describes servers that all do the same. An edit of image,
// maxPlayers, server, configOverlay, ports, env, mounts, resources, scheduling or
// the grace period needs new servers: those of an Ephemeral group are replaced as update says,
// those of a Persistent one ordinal by ordinal, each drained before it is made
// again with its claim. Every other field takes effect on running servers.
//
// +kubebuilder:validation:XValidation:rule="!has(self.playableSlots) || self.playableSlots <= self.maxPlayers",message="playableSlots must not exceed maxPlayers"
// +kubebuilder:validation:XValidation:rule="has(self.scaling) == (self.type == 'Ephemeral')",message="scaling is required for type Ephemeral and forbidden for Persistent"
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == (self.type == 'Persistent')",message="replicas is required for type Persistent and forbidden for Ephemeral"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == (self.type == 'Persistent')",message="storage is required for type Persistent and forbidden for Ephemeral"
// +kubebuilder:validation:XValidation:rule="!has(self.update) || self.type == 'Ephemeral'",message="update is only allowed for type Ephemeral"
// +kubebuilder:validation:XValidation:rule="!has(self.update) || !has(self.update.minAvailable) || !has(self.scaling) || self.update.minAvailable < self.scaling.maxReplicas",message="update.minAvailable must be less than scaling.maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.ports) || !self.ports.exists(one, one.protocol == 'TCP' && one.port == self.server.port)",message="server.port is the game's own and needs no entry in ports"
// +kubebuilder:validation:XValidation:rule="!has(self.mounts) || self.mounts.all(mount, mount.mountPath != self.server.dataDir && !self.server.dataDir.startsWith(mount.mountPath + '/'))",message="a mount must not cover server.dataDir"
// +kubebuilder:validation:XValidation:rule="!has(self.server.overlayEnv) || self.server.overlayEnv.all(name, has(self.env) && self.env.exists(variable, variable.name == name))",message="server.overlayEnv must name variables of env"
// +kubebuilder:validation:XValidation:rule="self.server.flavor != 'Fabric' || self.server.forwarding != 'Velocity' || !has(self.env) || !self.env.exists(variable, variable.name.startsWith('FABRIC_PROXY_SECRET'))",message="env names beginning FABRIC_PROXY_SECRET belong to the operator with flavor Fabric: use forwardingSecretRef of the Network"
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

	// enforcePlayableSlots makes the playable seats of a server a door: once
	// they are taken a further login is refused, also of who asks for this very
	// server, up to maxPlayers for players with the permission
	// spawnery.join.full.<group> alone. Those take no playable seat at the door.
	// Read at runtime; nobody is kicked when it changes. Default: false.
	//
	// +optional
	// +default=false
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enforce the playable seats",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	EnforcePlayableSlots *bool `json:"enforcePlayableSlots,omitempty"`

	// displayName is what players read. Default: the group's name.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Display name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	DisplayName string `json:"displayName,omitempty"`

	// joinPermission says who may join this group, at a proxy's choice and when
	// sent there by name. It is a permission of the Network's permissions, which
	// proxies ask when a player comes; who is on a server stays. Read at runtime.
	// Default: everybody may.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Permission to join",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	JoinPermission JoinPermission `json:"joinPermission,omitzero"`

	// scaling sizes an Ephemeral group; required there, forbidden for
	// Persistent.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scaling (Ephemeral)"
	Scaling Scaling `json:"scaling,omitzero"`

	// update says how servers of an Ephemeral group are replaced when its spec
	// changes; forbidden for Persistent. Default: RollingUpdate, one at a time,
	// and no server is ever forced to go.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Update (Ephemeral)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Update ServerUpdate `json:"update,omitzero"`

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

	// ports of the game container beside the game's own, for voice chat, votes,
	// maps, metrics. The policy of the group opens them; no Service leads to
	// them. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(one, self.exists_one(other, other.port == one.port && other.protocol == one.protocol))",message="every port is given once with the same protocol"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ports",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Ports []ServerPort `json:"ports,omitempty"`

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

	// configOverlay lays files over the prepared ones before the game starts,
	// with ${SPAWNERY_SERVER}, ${SPAWNERY_GROUP}, ${SPAWNERY_ORDINAL} and, for
	// names in server.overlayEnv, ${env:NAME} replaced; $${ stands for ${. Keys
	// that the operator sets are refused. Of two files at one path the later is
	// laid over the earlier. An edit of a ConfigMap reaches servers that start
	// after it. Default: none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Configuration overlay",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ConfigOverlay []ConfigOverlay `json:"configOverlay,omitempty"`

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
	// NodeDraining, for an Ephemeral group ScalingLimited, and for a Persistent
	// one StorageResize.
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

	// boostedReplicas is the sum of the live boosts of mode Add, also where the
	// ceiling holds servers back; 0 while the group is pinned.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Boosted servers"
	BoostedReplicas *int32 `json:"boostedReplicas,omitempty"`

	// pinnedReplicas is the number that the newest live boost of mode Exact
	// holds an Ephemeral group at, as it is written there. Absent: the group is
	// not pinned.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pinned servers"
	PinnedReplicas *int32 `json:"pinnedReplicas,omitempty"`

	// pinnedUntil is when that boost expires. Absent: the group is not pinned,
	// or its pin has no end.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pinned until"
	PinnedUntil *metav1.Time `json:"pinnedUntil,omitempty"`

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

	// observedRetry is the last value of the annotation spawnery.cloud/retry
	// that started over after failures, its first 253 characters.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed retry"
	ObservedRetry string `json:"observedRetry,omitempty"`

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
// +kubebuilder:validation:XValidation:rule="self.spec.type != 'Persistent' || !has(self.spec.server.template) || !self.spec.server.template.exists(layer, has(layer.persistentVolumeClaim) && layer.persistentVolumeClaim.name.endsWith('-data') && layer.persistentVolumeClaim.name.startsWith(self.metadata.name + '-') && layer.persistentVolumeClaim.name.substring(self.metadata.name.size() + 1).matches('^[0-9]+-data$'))",message="a layer must not be a claim of the group's own worlds"
// +operator-sdk:csv:customresourcedefinitions:displayName="Server group",resources={{Server,v1alpha1,""},{PodDisruptionBudget,v1,""},{NetworkPolicy,v1,""},{Pod,v1,""},{PersistentVolumeClaim,v1,""}}
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
