// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The drain times of a ProxyGroup that sets none.
const (
	// DefaultProxyDrainSeconds is for groups that move nobody to another proxy,
	// so that people get time to finish.
	DefaultProxyDrainSeconds int32 = 3600
	// DefaultTransferDrainSeconds is for groups that send players on: whoever is
	// left by then cannot be.
	DefaultTransferDrainSeconds int32 = 300
)

// DefaultWithdrawSeconds is how long a proxy is out of service before it sends
// its players on.
const DefaultWithdrawSeconds int32 = 15

// RoutingStrategy chooses among the servers of a group.
//
// +kubebuilder:validation:Enum=Spread;Fill
type RoutingStrategy string

const (
	// RoutingSpread takes the server with the fewest players, network-wide.
	RoutingSpread RoutingStrategy = "Spread"
	// RoutingFill takes the server with the most players, network-wide, of
	// those with a free playable seat.
	RoutingFill RoutingStrategy = "Fill"
)

// ForcedHost sends players who connect to a host to groups of its own.
type ForcedHost struct {
	// host is what a player's client connects to: a DNS name or an IPv4 address,
	// or *. and a DNS name for every name below that one. With an SRV record
	// clients say its target, not what was typed. Compared without port, without
	// what mods append, and with IDN in ASCII.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches(r'^([*][.])?[0-9\\p{Ll}\\p{Lo}]([-0-9\\p{Ll}\\p{Lo}\\p{M}]*[0-9\\p{Ll}\\p{Lo}\\p{M}])?([.][0-9\\p{Ll}\\p{Lo}]([-0-9\\p{Ll}\\p{Lo}\\p{M}]*[0-9\\p{Ll}\\p{Lo}\\p{M}])?)*$')",message="host must be a DNS name in lower case without a port, such as play.example.org, or *. and one"
	Host string `json:"host,omitempty"`

	// groups are ServerGroups, in the order in which they are tried.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=40
	Groups []string `json:"groups,omitempty"`
}

// Routing says where players go.
type Routing struct {
	// fallbackGroups are ServerGroups, in the order in which they are tried
	// for a first join and for anyone who must leave a server. A group that does
	// not exist is passed over, and named in the condition Accepted.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=40
	FallbackGroups []string `json:"fallbackGroups,omitempty"`

	// forcedHosts send players who connect to a host to groups of its own, which
	// are tried before the fallback groups, for a first join only. The host itself
	// wins over a wildcard, the longest wildcard over shorter ones. A group that
	// does not exist is passed over, and named in the condition Accepted. Default:
	// none.
	//
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	ForcedHosts []ForcedHost `json:"forcedHosts,omitempty"`

	// strategy chooses among the servers of a group. Spread takes the one
	// with the fewest players, network-wide. Fill takes the one with the most
	// that still has a free playable seat, so that other servers empty and an
	// ephemeral group needs fewer. A change takes effect with the next player.
	// Default: Spread.
	//
	// +optional
	// +default="Spread"
	Strategy RoutingStrategy `json:"strategy,omitempty"`

	// holdSeconds is how long a player for whom no server has a seat waits
	// for one, in seconds. 0 refuses at once. Default: 120.
	//
	// +optional
	// +default=120
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	HoldSeconds *int32 `json:"holdSeconds,omitempty"`
}

// ProxyProtocol says who speaks for players by the PROXY protocol.
type ProxyProtocol struct {
	// trustedCIDRs are the addresses of load balancers in front of the proxies, as
	// ranges. Connections from there must begin with a header of version 1 or 2,
	// whose address is the player's; a connection from anywhere else that begins
	// with one is closed.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self)",message="trustedCIDRs must be ranges of addresses such as 10.0.0.0/8"
	TrustedCIDRs []string `json:"trustedCIDRs,omitempty"`
}

// RateLimits bound how often one address may log in or ask for the server list
// at one proxy. One address is an IPv4 address or an IPv6 /64. An IPv4 /24 and an
// IPv6 /48 get ten times as much together.
//
// +kubebuilder:validation:MinProperties=1
type RateLimits struct {
	// loginsPerSecond is how many logins an address gets back each second, after
	// loginBurst of them. Further ones are refused with a message that says when
	// to try again; nobody who is in is affected. Default: 1.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	LoginsPerSecond int32 `json:"loginsPerSecond,omitempty"`

	// loginBurst is how many logins of an address are taken at once. Default: 20.
	//
	// +optional
	// +default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	LoginBurst int32 `json:"loginBurst,omitempty"`

	// statusPerSecond is how many requests of the server list an address gets back
	// each second, after statusBurst of them. Further ones are closed unanswered.
	// Default: 10.
	//
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	StatusPerSecond int32 `json:"statusPerSecond,omitempty"`

	// statusBurst is how many requests of the server list an address may make at
	// once. Default: 50.
	//
	// +optional
	// +default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	StatusBurst int32 `json:"statusBurst,omitempty"`

	// exemptCIDRs are ranges of addresses that no rate holds for, such as those of
	// a school, a LAN party, a monitor or bots of a test. Default: none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self)",message="exemptCIDRs must be ranges of addresses such as 10.0.0.0/8"
	ExemptCIDRs []string `json:"exemptCIDRs,omitempty"`
}

// ProxyCommand is the name of a command of the proxies.
//
// +kubebuilder:validation:Enum=server;send;glist;hub;lobby
type ProxyCommand string

// ProxyConfig is what the proxies show and enforce.
//
// +kubebuilder:validation:MinProperties=1
type ProxyConfig struct {
	// motd is the text in a client's server list, in a subset of MiniMessage:
	// colours such as <gold> or <#ffaa00>, <bold>, <italic>, <underlined>,
	// <strikethrough>, <obfuscated> and their short forms, <newline>, <reset>,
	// closing tags, and \< for a <. Other tags are shown as they are.
	// Default: the Network's name.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	MOTD string `json:"motd,omitempty"`

	// favicon is the picture beside this network in a client's server list: a key
	// of a ConfigMap that holds a PNG of 64 by 64 pixels and at most 16 KiB. The
	// proxies mount the ConfigMap, and show an edit within about a minute. One that
	// is missing or no such picture is not shown, and ConfigApplied says why; it
	// keeps no proxy from starting. Another name replaces the proxies, one at a
	// time; another key does not. Default: none.
	//
	// +optional
	Favicon FaviconSource `json:"favicon,omitzero"`

	// protocols names a ConfigMap with rows of packet ids, for versions of the game
	// that this release does not know: each of its keys holds one row, or a list of
	// them, in the form of the built-in table. A row for a version that is built in
	// replaces that one. The proxies mount the ConfigMap, and take an edit over
	// within about a minute, for players who join then. A bad row is left out, and
	// ConfigApplied says why. Another name replaces the proxies, one at a time.
	// Default: the built-in table alone.
	//
	// +optional
	Protocols LocalReference `json:"protocols,omitzero"`

	// messages names a ConfigMap of this network's own words for what the proxies
	// say to players, who read them in the language of their game. The proxies mount
	// the ConfigMap, and use an edit within about a minute. Words that cannot be used
	// are left out, and ConfigApplied says why. Another name replaces the proxies,
	// one at a time. Default: the built-in messages, which are English, and which
	// resource packs may translate.
	//
	// +optional
	Messages MessageSource `json:"messages,omitzero"`

	// playerLimit is the number of players that the server list shows as the
	// maximum, network-wide. Nobody is refused because of it unless
	// enforcePlayerLimit is set. Default: 500.
	//
	// +optional
	// +default=500
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	PlayerLimit int32 `json:"playerLimit,omitempty"`

	// enforcePlayerLimit refuses logins while playerLimit players are online,
	// network-wide, but for players with the permission spawnery.join.limit.
	// Proxies learn of each other's players with a delay of about a second, and
	// that many joins too many may get in. Nobody is kicked. Default: false.
	//
	// +optional
	// +default=false
	EnforcePlayerLimit *bool `json:"enforcePlayerLimit,omitempty"`

	// maxHeld is how many players one proxy holds for routing.holdSeconds;
	// further ones without a place are refused at once. Default: 200.
	//
	// +optional
	// +default=200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxHeld int32 `json:"maxHeld,omitempty"`

	// proxyProtocol lets load balancers say whose connection they pass on, so
	// that servers, bans and limits see players' addresses. Default: nobody
	// speaks for others.
	//
	// +optional
	ProxyProtocol ProxyProtocol `json:"proxyProtocol,omitzero"`

	// rateLimits bound how often one address may log in or ask for the server
	// list, before anybody is authenticated and, with proxyProtocol, by the
	// player's address. Default: 1 login a second after 20, 10 requests of the
	// server list a second after 50, nobody exempt.
	//
	// +optional
	RateLimits RateLimits `json:"rateLimits,omitzero"`

	// commands are the names that the proxies take of what players type: server,
	// send, glist, hub and lobby. One that is left out belongs to the servers, as
	// every other name but cloud does; with an empty list all of them do. A change
	// takes effect at once, and players see it in their completions on the next
	// server. Default: all five.
	//
	// +optional
	// +default=["server","send","glist","hub","lobby"]
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Commands []ProxyCommand `json:"commands,omitempty"`
}

// ProxyDrain bounds how long a proxy waits for its players to leave.
//
// +kubebuilder:validation:MinProperties=1
type ProxyDrain struct {
	// timeoutSeconds is how long a proxy that must go waits for its players,
	// in seconds; whoever is left is disconnected. Default: 300 if they are sent
	// to another proxy (update.transfer), 3600 if they are not.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// TransferMode says whether players of a proxy that must go are sent to another.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type TransferMode string

const (
	// TransferEnabled sends them to another proxy of the group.
	TransferEnabled TransferMode = "Enabled"
	// TransferDisabled waits until they have left.
	TransferDisabled TransferMode = "Disabled"
)

// ProxyUpdate says what becomes of the players of a proxy that must go.
//
// +kubebuilder:validation:MinProperties=1
type ProxyUpdate struct {
	// transfer is Enabled or Disabled. Enabled has their clients connect to
	// another proxy of the group by themselves, as soon as one takes players;
	// nobody logs in again, and they come back to the server they were on.
	// Disabled waits until they have left. Default: Enabled with an expose.type of
	// LoadBalancer and ClusterIP, Disabled with NodePort and HostPort, where the
	// same address may be the same proxy.
	//
	// +optional
	Transfer TransferMode `json:"transfer,omitempty"`

	// transferAddress is where clients are sent: host or host:port, with port
	// 25565 if none is given. Also those go there that have to connect anew
	// because a server refused them late. Default: to the host and port that each
	// came by.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=259
	// +kubebuilder:validation:Pattern=`^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?)(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$`
	TransferAddress string `json:"transferAddress,omitempty"`

	// withdrawSeconds is how long a proxy has been out of service, in seconds,
	// before it sends the first player on. Load balancers that notice later lead
	// players back to it. Default: 15.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	WithdrawSeconds *int32 `json:"withdrawSeconds,omitempty"`
}

// ProxyGroupSpec describes proxies that all do the same.
type ProxyGroupSpec struct {
	// networkRef names the Network this group belongs to. Immutable.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="networkRef is immutable"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network"
	NetworkRef NetworkReference `json:"networkRef,omitzero"`

	// replicas is the number of proxies. Default: 1.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas,omitempty"`

	// image of the proxy. Default: the operator's own image, which holds one.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// expose says how players reach the proxies.
	//
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exposure"
	Expose Expose `json:"expose,omitzero"`

	// routing says where players go.
	//
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Routing"
	Routing Routing `json:"routing,omitzero"`

	// config is what the proxies show. A change takes effect at once and
	// restarts nothing, but for the names of ConfigMaps, which are part of the
	// pods: those are replaced one at a time.
	//
	// +optional
	// +default={"playerLimit":500}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="What players see"
	Config ProxyConfig `json:"config,omitzero"`

	// drain bounds how long a proxy that must go waits for its players.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Drain",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Drain ProxyDrain `json:"drain,omitzero"`

	// update says what becomes of the players of a proxy that must go: because
	// the group's spec or its number changed, or its node leaves. A change takes
	// effect at once and restarts nothing.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Update",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Update ProxyUpdate `json:"update,omitzero"`

	// resources of the proxy container. Default: those of the Network's
	// defaults.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// scheduling says where proxies may run. Default: that of the Network's
	// defaults.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scheduling",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Scheduling *Scheduling `json:"scheduling,omitempty"`
}

// ProxyGroupStatus is what the operator last saw of a ProxyGroup.
//
// +kubebuilder:validation:MinProperties=1
type ProxyGroupStatus struct {
	// conditions are Accepted, Available, Progressing, NodeDraining,
	// ClientAddressHidden and ConfigApplied.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase sums the conditions up in one word.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase GroupPhase `json:"phase,omitempty"`

	// readyReplicas is the number of proxies that let players in.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready proxies"
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// address is what players type. Absent while nothing answers there.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=259
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Address for players",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Address string `json:"address,omitempty"`

	// connectedPlayers is the number of players connected to these proxies.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Players connected"
	ConnectedPlayers *int32 `json:"connectedPlayers,omitempty"`
}

// ProxyGroup runs the proxies that players log in to.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcproxy,categories=minecraft
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.address`
// +kubebuilder:printcolumn:name="Players",type=integer,JSONPath=`.status.connectedPlayers`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name must be a DNS label of at most 40 characters that begins with a letter"
// +operator-sdk:csv:customresourcedefinitions:displayName="Proxy group",resources={{Pod,v1,""},{Service,v1,""}}
type ProxyGroup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the owner wants.
	//
	// +required
	Spec ProxyGroupSpec `json:"spec,omitzero"`

	// status is what the operator last saw.
	//
	// +optional
	Status ProxyGroupStatus `json:"status,omitzero"`
}

// ProxyGroupList is a list of ProxyGroups.
//
// +kubebuilder:object:root=true
type ProxyGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ProxyGroup `json:"items"`
}
