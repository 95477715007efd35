// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerSpec is written by the operator alone.
type ServerSpec struct {
	// groupRef names the ServerGroup this server belongs to. Immutable.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="groupRef is immutable"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Group"
	GroupRef GroupReference `json:"groupRef,omitzero"`

	// networkRef names the Network this server belongs to. Immutable.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="networkRef is immutable"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network"
	NetworkRef NetworkReference `json:"networkRef,omitzero"`

	// ordinal is the number of a persistent server, from 0; its claim is
	// <group>-<ordinal>-data. Absent for an ephemeral one.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ordinal",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Ordinal *int32 `json:"ordinal,omitempty"`

	// groupGeneration is the generation of the group when this server was
	// made. Information: what decides is podHash.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Generation of the group",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	GroupGeneration *int64 `json:"groupGeneration,omitempty"`

	// podHash is a digest of what the owner chose for the pod of this server.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Hash of the pod",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodHash string `json:"podHash,omitempty"`

	// retireReason says why this server takes nobody new. Absent: it does.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Reason of retirement",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	RetireReason RetireReason `json:"retireReason,omitempty"`
}

// ServerStatus is what the operator last saw of a Server. Counts in it lag
// behind by up to 15 seconds; a change that matters is written at once.
//
// +kubebuilder:validation:MinProperties=1
type ServerStatus struct {
	// conditions are Accepted, Ready, ForwardingActive, CountsAgree and
	// DrainProgressing.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase is where this server is in its life.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase ServerPhase `json:"phase,omitempty"`

	// podName is the name of the pod made for this server.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pod",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"}
	PodName string `json:"podName,omitempty"`

	// podUID is the UID of the pod made for this server.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="UID of the pod"
	PodUID string `json:"podUID,omitempty"`

	// address is where the proxies reach the game: address:port.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=259
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Address in the cluster"
	Address string `json:"address,omitempty"`

	// players is the number of players. Absent: unknown.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Players"
	Players *int32 `json:"players,omitempty"`

	// slots is the number of players the server lets in. Absent: unknown.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Seats"
	Slots *int32 `json:"slots,omitempty"`

	// playableSlots is how many of the slots count as capacity, as far as a
	// plugin set it. Absent: the group's value holds.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Playable seats"
	PlayableSlots *int32 `json:"playableSlots,omitempty"`

	// joinsOpen is false while a plugin keeps the door closed. Absent: unknown.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Open for joins"
	JoinsOpen *bool `json:"joinsOpen,omitempty"`

	// roundEndedAt is when a plugin said that the round of this server has
	// ended: its game's exit with code 0 is no failure from then on, however
	// short the server was ready. Absent: none has, or it was taken back.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Round ended"
	RoundEndedAt *metav1.Time `json:"roundEndedAt,omitempty"`

	// emptySince is the first of the consecutive reports of no players, from
	// when players could first join. Absent while somebody is there, or nothing
	// is known.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Empty since"
	EmptySince *metav1.Time `json:"emptySince,omitempty"`

	// servedAt is when the first player ever was on this server.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last served"
	ServedAt *metav1.Time `json:"servedAt,omitempty"`

	// registered says whether the proxies send players here.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Registered with the proxies"
	Registered *bool `json:"registered,omitempty"`

	// wasRegistered says whether the proxies ever sent players here. Written
	// before the first registration, and never cleared.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Was registered"
	WasRegistered *bool `json:"wasRegistered,omitempty"`

	// startedAt is when the startup deadline began to run.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Started"
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// readySince is when this server last became ready.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready since"
	ReadySince *metav1.Time `json:"readySince,omitempty"`

	// drainStartedAt is when its players began to be moved.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Drain started"
	DrainStartedAt *metav1.Time `json:"drainStartedAt,omitempty"`

	// retiringSince is when it began to take nobody new.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Retiring since"
	RetiringSince *metav1.Time `json:"retiringSince,omitempty"`

	// failedAt is when it failed.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Failed"
	FailedAt *metav1.Time `json:"failedAt,omitempty"`

	// readinessLosses counts how often it stopped being ready, until it has
	// been ready for ten minutes.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Losses of readiness"
	ReadinessLosses *int32 `json:"readinessLosses,omitempty"`

	// storageResizePending says that the grown claim waits for a restart of
	// this server.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Resize of storage pending"
	StorageResizePending *bool `json:"storageResizePending,omitempty"`

	// storageResizeError is what the API server said when the claim was to
	// grow.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Error of the resize"
	StorageResizeError string `json:"storageResizeError,omitempty"`

	// drainTimeoutSeconds is the group's drain.timeoutSeconds as last seen, in
	// seconds. It counts when the group is gone.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Drain timeout in seconds"
	DrainTimeoutSeconds int32 `json:"drainTimeoutSeconds,omitempty"`

	// failedRetentionSeconds is the group's value as last seen, in seconds.
	// It counts when the group is gone.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Retention after failure in seconds"
	FailedRetentionSeconds *int32 `json:"failedRetentionSeconds,omitempty"`
}

// Server is one Minecraft server of a group. The operator makes it; deleting
// it drains the server, and the group makes another if it needs one.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcsrv,categories=minecraft
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.groupRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Players",type=integer,JSONPath=`.status.players`
// +kubebuilder:printcolumn:name="Slots",type=integer,JSONPath=`.status.slots`
// +kubebuilder:printcolumn:name="Registered",type=boolean,JSONPath=`.status.registered`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="Server",resources={{Pod,v1,""},{PersistentVolumeClaim,v1,""}}
type Server struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the operator wants.
	//
	// +required
	Spec ServerSpec `json:"spec,omitzero"`

	// status is what the operator last saw.
	//
	// +optional
	Status ServerStatus `json:"status,omitzero"`
}

// ServerList is a list of Servers.
//
// +kubebuilder:object:root=true
type ServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Server `json:"items"`
}
