// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkSpec describes what the proxies and servers of a network share.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.networkPolicyEgress) || self.networkPolicy == 'Strict'",message="networkPolicyEgress is only allowed with networkPolicy Strict"
type NetworkSpec struct {
	// forwardingSecretRef names the Secret whose key "secret" proves to a
	// server that a player comes from one of this Network's proxies.
	// Default: <network>-forwarding, made by the operator with a random
	// secret when it is first needed, and kept when the Network is deleted.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Forwarding secret",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ForwardingSecretRef LocalReference `json:"forwardingSecretRef,omitzero"`

	// defaults apply to every group of the Network that does not set the
	// field itself; a group's own value replaces the default as a whole.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Defaults of all groups",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Defaults *NetworkDefaults `json:"defaults,omitempty"`

	// onlineMode says whether players must prove their account to the session
	// server. A change gives every player another UUID: it takes effect at
	// once while no claim of the Network exists, and otherwise only when the
	// annotation spawnery.cloud/confirm-online-mode holds the wanted value.
	// Default: true.
	//
	// +optional
	// +default=true
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Online mode",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	OnlineMode *bool `json:"onlineMode,omitempty"`

	// permissions are the grants that the proxies know by themselves.
	// Default: nobody may do anything that needs a permission.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Permissions"
	Permissions []PermissionGroup `json:"permissions,omitempty"`

	// networkPolicy is Ingress, Strict or Disabled: what the NetworkPolicy of
	// each ServerGroup allows. Ingress lets this Network's proxies alone reach
	// game and agent of a server, and others what ports names; what servers
	// reach is left open. Strict also closes that, but for name servers, the
	// manager and networkPolicyEgress. Disabled makes no policy. It takes
	// effect on a cluster that enforces policies, and restarts nothing.
	// Default: Ingress.
	//
	// +optional
	// +default="Ingress"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Ingress","urn:alm:descriptor:com.tectonic.ui:select:Strict","urn:alm:descriptor:com.tectonic.ui:select:Disabled","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy PolicyMode `json:"networkPolicy,omitempty"`

	// networkPolicyEgress is what servers may reach beside name servers and the
	// manager; only allowed with networkPolicy Strict. Default: nothing.
	//
	// +optional
	// +listType=map
	// +listMapKey=cidr
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="What servers may reach",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicyEgress []EgressRule `json:"networkPolicyEgress,omitempty"`
}

// PolicyMode says what the NetworkPolicy of a ServerGroup allows.
//
// +kubebuilder:validation:Enum=Ingress;Strict;Disabled
type PolicyMode string

const (
	// PolicyIngress bounds who reaches servers.
	PolicyIngress PolicyMode = "Ingress"
	// PolicyStrict bounds also whom servers reach.
	PolicyStrict PolicyMode = "Strict"
	// PolicyDisabled bounds nothing.
	PolicyDisabled PolicyMode = "Disabled"
)

// EgressRule is a range of addresses that servers may reach.
type EgressRule struct {
	// cidr is the range, such as 10.0.0.0/8.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).masked() == cidr(self)",message="cidr must be a range of addresses by its first one, as in 10.0.0.0/8"
	CIDR string `json:"cidr,omitempty"`

	// ports that may be reached there. Default: every port of every protocol.
	//
	// +optional
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MaxItems=16
	Ports []EgressPort `json:"ports,omitempty"`
}

// EgressPort is a port that servers may reach.
type EgressPort struct {
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
}

// NetworkDefaults are the values of groups that set none of their own.
type NetworkDefaults struct {
	// imagePullSecrets name the Secrets that hold the credentials for
	// pulling images. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []LocalReference `json:"imagePullSecrets,omitempty"`

	// resources of the game container of servers, and of proxies.
	// Default: none requested, none limited.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// scheduling says where servers and proxies may run. Default: anywhere.
	//
	// +optional
	Scheduling *Scheduling `json:"scheduling,omitempty"`

	// user that game and agent run as. Default: policy Fixed, 1000.
	//
	// +optional
	User *ServerUser `json:"user,omitempty"`
}

// PermissionGroup grants permission nodes to players.
type PermissionGroup struct {
	// name by which other groups inherit from this one.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// trustOfflineNames lets the grants of this group apply although the
	// Network runs in offline mode, where anybody can take any name.
	// Default: false.
	//
	// +optional
	// +default=false
	TrustOfflineNames *bool `json:"trustOfflineNames,omitempty"`

	// players are the members, by name or by UUID. Default: none, the group
	// is only inherited from.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=36
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9_]{1,16}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$`
	Players []string `json:"players,omitempty"`

	// permissions are nodes such as spawnery.cloud.read. A node that ends in
	// * covers everything that begins like it; one that begins with - denies.
	// The longest match decides. Default: none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^-?(\*|[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?)$`
	Permissions []string `json:"permissions,omitempty"`

	// inherits names groups whose nodes hold for this one too, unless it says
	// otherwise itself. Default: none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=40
	Inherits []string `json:"inherits,omitempty"`
}

// NetworkStatus is what the operator last saw of a Network.
//
// +kubebuilder:validation:MinProperties=1
type NetworkStatus struct {
	// conditions are Accepted, NamespacePrepared, ForwardingSecretReady,
	// OnlineModeSettled and ChannelDegraded.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// onlineMode is the mode in force. Absent until the Network was accepted.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Online mode in force"
	OnlineMode *bool `json:"onlineMode,omitempty"`

	// proxyGroups is the number of ProxyGroups that name this Network.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Proxy groups"
	ProxyGroups *int32 `json:"proxyGroups,omitempty"`

	// serverGroups is the number of ServerGroups that name this Network.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Server groups"
	ServerGroups *int32 `json:"serverGroups,omitempty"`

	// onlinePlayers is the number of players on all servers together.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Players online"
	OnlinePlayers *int32 `json:"onlinePlayers,omitempty"`
}

// Network is a Minecraft network: proxies that players log in to, and groups
// of servers behind them. A namespace has one; of two the oldest is accepted.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcnet,categories=minecraft
// +kubebuilder:printcolumn:name="Proxies",type=integer,JSONPath=`.status.proxyGroups`
// +kubebuilder:printcolumn:name="Groups",type=integer,JSONPath=`.status.serverGroups`
// +kubebuilder:printcolumn:name="Players",type=integer,JSONPath=`.status.onlinePlayers`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name must be a DNS label of at most 40 characters"
// +operator-sdk:csv:customresourcedefinitions:displayName="Network",resources={{Secret,v1,""},{ConfigMap,v1,""},{ServiceAccount,v1,""}}
type Network struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the owner wants.
	//
	// +optional
	// +default={"onlineMode":true}
	Spec NetworkSpec `json:"spec,omitzero"`

	// status is what the operator last saw.
	//
	// +optional
	Status NetworkStatus `json:"status,omitzero"`
}

// NetworkList is a list of Networks.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Network `json:"items"`
}
