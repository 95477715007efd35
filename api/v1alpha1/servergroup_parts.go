// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

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

	// annotations are copied to claims when they are made, for what reads
	// claims: provisioners, autoresizers, backups. A change reaches claims made
	// after it; those there are stay as they are. Default: none.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.size() <= 317 && key.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && self[key].size() <= 1024)",message="an annotation has a qualified name as its key, and a value of at most 1024 characters"
	// +kubebuilder:validation:XValidation:rule="!self.exists(key, key.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|spawnery[.]cloud)/'))",message="annotations of kubernetes.io, k8s.io and spawnery.cloud are not an owner's to set"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Consolidation says whether players are gathered on fewer servers.
//
// +kubebuilder:validation:Enum=Disabled;Enabled
type Consolidation string

const (
	// ConsolidationDisabled leaves players where they are.
	ConsolidationDisabled Consolidation = "Disabled"
	// ConsolidationEnabled retires servers that the others can do without.
	ConsolidationEnabled Consolidation = "Enabled"
)

// UpdateStrategy says which servers of an old spec may be told to go.
//
// +kubebuilder:validation:Enum=RollingUpdate;WhenEmpty
type UpdateStrategy string

const (
	// UpdateRolling retires also those that have players.
	UpdateRolling UpdateStrategy = "RollingUpdate"
	// UpdateWhenEmpty replaces those that are empty by themselves.
	UpdateWhenEmpty UpdateStrategy = "WhenEmpty"
)

// ServerUpdate says how the servers of an Ephemeral group are replaced when its
// spec changes. A new server comes first.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="self.strategy != 'WhenEmpty' || self.maxStaleSeconds == 0",message="maxStaleSeconds must be 0 with strategy WhenEmpty"
type ServerUpdate struct {
	// strategy is RollingUpdate or WhenEmpty. RollingUpdate retires servers of
	// the old spec: they take nobody new, and their players stay until they
	// leave. WhenEmpty waits until a server is empty. Default: RollingUpdate.
	//
	// +optional
	// +default="RollingUpdate"
	Strategy UpdateStrategy `json:"strategy,omitempty"`

	// maxUnavailable is how many servers may be on their way out at once
	// because of an update. Default: 1.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`

	// maxStaleSeconds is how long a server that is retired because of an update
	// or a pin keeps its players, in seconds, before they are moved as in any
	// drain. 0: as long as they stay. Must be 0 with strategy WhenEmpty.
	// Default: 0.
	//
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	MaxStaleSeconds *int32 `json:"maxStaleSeconds,omitempty"`

	// minAvailable is the number of servers that players can join and that an
	// update leaves at least; less than scaling.maxReplicas. Default: none.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinAvailable int32 `json:"minAvailable,omitempty"`
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
// +kubebuilder:validation:Enum=Paper;Vanilla;Fabric;Custom
type Flavor string

const (
	// FlavorPaper is Paper and what descends from it.
	FlavorPaper Flavor = "Paper"
	// FlavorVanilla is Mojang's own server.
	FlavorVanilla Flavor = "Vanilla"
	// FlavorFabric is Fabric with the mod FabricProxy-Lite.
	FlavorFabric Flavor = "Fabric"
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

// TemplateMode says what becomes of files that are there already.
//
// +kubebuilder:validation:Enum=IfMissing;Always
type TemplateMode string

const (
	// TemplateIfMissing leaves a file alone that is there already.
	TemplateIfMissing TemplateMode = "IfMissing"
	// TemplateAlways replaces a file that is there already.
	TemplateAlways TemplateMode = "Always"
)

// TemplateLayer is a tree of files that is copied into the data directory before
// a server starts.
//
// +kubebuilder:validation:ExactlyOneOf=image;fromGameImage;persistentVolumeClaim
// +kubebuilder:validation:XValidation:rule="!has(self.path) || !has(self.fromGameImage)",message="path is only allowed with image and persistentVolumeClaim; fromGameImage is a path itself"
type TemplateLayer struct {
	// image holds the files; it needs no program. It is named by digest, so
	// that every server gets the same, and pulled with the pull secrets of the
	// game's. Needs Kubernetes 1.35, nodes included.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^@ ]+@sha256:[a-f0-9]{64}$')",message="image of a layer must be named by its digest, as in registry.example.org/plugins@sha256:<64 digits>"
	Image string `json:"image,omitempty"`

	// fromGameImage is a directory of the game's own image, an absolute path;
	// also what the data directory hides there. Needs no program in the image.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/[^/]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(part, part == '..' || part == '.')",message="fromGameImage must not contain . or .. as a part"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^/(proc|sys|dev|spawnery)(/|$)')",message="/proc, /sys, /dev and /spawnery are no part of the game's image"
	FromGameImage string `json:"fromGameImage,omitempty"`

	// persistentVolumeClaim names a claim with the files, in the same
	// namespace; it is mounted read-only, and must be one that every node of
	// the group's can mount. Never a claim of the group's own worlds.
	//
	// +optional
	PersistentVolumeClaim LocalReference `json:"persistentVolumeClaim,omitzero"`

	// path of the directory in the image or claim whose content is copied, an
	// absolute path there. Default: all of it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/[^/]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(part, part == '..' || part == '.')",message="path must not contain . or .. as a part"
	Path string `json:"path,omitempty"`

	// mode is IfMissing or Always, file by file. IfMissing leaves alone what is
	// there already, so that an edit survives a restart; Always replaces it.
	// Neither deletes anything. Default: IfMissing for Persistent, Always for
	// Ephemeral.
	//
	// +optional
	Mode TemplateMode `json:"mode,omitempty"`
}

// GameServer says how the game container is run.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="self.flavor != 'Vanilla' || self.forwarding == 'None'",message="forwarding must be None with flavor Vanilla"
type GameServer struct {
	// flavor is Paper, Vanilla, Fabric or Custom: which files the agent prepares
	// before the game starts. Paper also covers what descends from it, such as
	// Purpur and Folia; Fabric needs the mod FabricProxy-Lite; Custom gets
	// server.properties and nothing else, and is for Forge, NeoForge and
	// whatever brings its own settings of forwarding. Default: Paper.
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

	// template are layers of files that are copied into the data directory
	// before the game's settings are written: plugins, maps, what the image
	// has baked in. Of a file that several layers have the last layer's is
	// taken. A change replaces the servers. Default: none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Template []TemplateLayer `json:"template,omitempty"`

	// overlayEnv names variables of env whose values may stand in the files of
	// configOverlay, as ${env:NAME}. What such a value takes from another
	// variable by $(NAME) must be listed too. Default: none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	OverlayEnv []string `json:"overlayEnv,omitempty"`

	// user that game and agent run as. Default: that of the Network's
	// defaults.
	//
	// +optional
	User *ServerUser `json:"user,omitempty"`
}

// JoinMode says what becomes of players of whom a permission is not known.
//
// +kubebuilder:validation:Enum=Required;DenyOnly
type JoinMode string

const (
	// JoinRequired lets in who was granted the permission.
	JoinRequired JoinMode = "Required"
	// JoinDenyOnly lets in who was not denied the permission.
	JoinDenyOnly JoinMode = "DenyOnly"
)

// JoinPermission says who may join a group.
type JoinPermission struct {
	// node is the permission. Default: spawnery.join.<group>.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`
	Node string `json:"node,omitempty"`

	// mode is Required or DenyOnly. Required lets in who was granted the
	// permission, DenyOnly everybody who was not denied it. In offline mode a
	// grant counts only where its group has trustOfflineNames.
	//
	// +required
	Mode JoinMode `json:"mode,omitempty"`
}
