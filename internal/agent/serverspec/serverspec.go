// SPDX-License-Identifier: Apache-2.0

// Package serverspec is the agreement between whoever renders a server's pod
// and the agent inside it: one document, and the ports, paths and headers both
// sides use. It depends on nothing, so that either side may import it.
package serverspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
)

// Variable is the environment variable of the containers prepare and agent
// that holds the Spec as JSON.
const Variable = "SPAWNERY_SERVER_SPEC"

// Where the agent listens and what it is asked there.
const (
	// Port is the agent's port on the pod's address.
	Port = 9357
	// LocalPort is the agent's port on 127.0.0.1, for plugins.
	LocalPort = 9358
	// LivePath answers 200 as soon as the agent runs. A startup probe of the
	// sidecar must use it: the game is started only after that probe.
	LivePath = "/livez"
	// ReadyPath answers 200 while the server is ready and 503, with a sentence
	// that says why, while it is not.
	ReadyPath = "/readyz"
	// StopPath is the preStop hook of the game container: it saves the world,
	// stops the game, and answers when that is done.
	StopPath = "/v1/stop"
	// StopHeader carries Spec.StopToken. A caller without it is refused.
	StopHeader = "X-Spawnery-Stop"
)

// Where things are mounted.
const (
	// RunDir is an in-memory volume that only prepare and agent share.
	RunDir = "/run/spawnery"
	// ForwardingDir holds the forwarding secret for prepare and agent.
	ForwardingDir = "/etc/spawnery/forwarding"
	// ForwardingKey is the file in ForwardingDir in force.
	ForwardingKey = "secret"
	// ForwardingPreviousKey is the file with the secret before a rotation.
	ForwardingPreviousKey = "previous"
	// OverlayDir holds the owner's ConfigMaps for prepare, each in a directory
	// of its own.
	OverlayDir = "/etc/spawnery/overlay"
	// OwnFiles is part of the names of files that prepare makes for itself.
	OwnFiles = ".spawnery-"
	// ChannelDir holds endpoint and CA of the channel, for the agent.
	ChannelDir = "/etc/spawnery/channel"
	// TokenFile is the pod-bound token, mounted into the agent alone.
	TokenFile = "/var/run/secrets/spawnery/token"
	// TerminationLog takes the sentence prepare refuses to start with.
	TerminationLog = "/dev/termination-log"
)

// Where the container that copies layers finds them. The data directory is not
// where the game sees it: there it would hide what the image has.
const (
	// LayersDir has a directory for each layer that is mounted, by its number
	// from 1.
	LayersDir = "/spawnery/layers"
	// LayersDataDir is the data volume.
	LayersDataDir = "/spawnery/data"
	// ProgramDir holds the agent's program where the image is the game's.
	ProgramDir = "/spawnery/bin"
)

// Flavor says which files prepare writes for the game.
type Flavor string

const (
	// FlavorPaper reads server.properties and Paper's forwarding settings.
	FlavorPaper Flavor = "Paper"
	// FlavorVanilla reads server.properties and knows no forwarding.
	FlavorVanilla Flavor = "Vanilla"
	// FlavorFabric reads server.properties and the settings of the mod
	// FabricProxy-Lite.
	FlavorFabric Flavor = "Fabric"
	// FlavorCustom reads server.properties; how it forwards is the image's.
	FlavorCustom Flavor = "Custom"
)

// Forwarding says how the game learns who a player is.
type Forwarding string

const (
	// ForwardingVelocity is Velocity's modern forwarding with the shared secret.
	ForwardingVelocity Forwarding = "Velocity"
	// ForwardingNone is none: whoever reaches the port is anybody.
	ForwardingNone Forwarding = "None"
)

// UnknownKeys says what becomes of a key that the file is not known to have.
type UnknownKeys string

const (
	// UnknownKeysRefuse stops prepare.
	UnknownKeysRefuse UnknownKeys = "Refuse"
	// UnknownKeysAllow writes it.
	UnknownKeysAllow UnknownKeys = "Allow"
)

// OverlayFile is one file of an owner's ConfigMap.
type OverlayFile struct {
	// Directory below OverlayDir where the ConfigMap is mounted.
	Directory string `json:"directory"`
	// ConfigMap is its name, for messages.
	ConfigMap string `json:"configMap"`
	// Key of the ConfigMap.
	Key string `json:"key"`
	// Path within the data directory.
	Path string `json:"path"`
	// UnknownKeys is UnknownKeysRefuse where it is empty.
	UnknownKeys UnknownKeys `json:"unknownKeys,omitempty"`
}

// Spec is everything about one server that is fixed for the life of its pod.
// Readers ignore fields they do not know.
type Spec struct {
	// Server is the name of the Server, which is the pod's.
	Server string `json:"server"`
	// Group is the name of the ServerGroup.
	Group string `json:"group"`
	// Ordinal is the place in a persistent group; absent in an ephemeral one.
	Ordinal *int32 `json:"ordinal,omitempty"`
	// Flavor says which files prepare writes.
	Flavor Flavor `json:"flavor"`
	// DataDir is where the data volume is mounted, in every container alike.
	DataDir string `json:"dataDir"`
	// DataVolume describes that volume to a person, such as "the claim
	// survival-0-data"; it is named when the directory cannot be written.
	DataVolume string `json:"dataVolume,omitempty"`
	// Port is where the game listens.
	Port int32 `json:"port"`
	// MaxPlayers is the limit the game enforces.
	MaxPlayers int32 `json:"maxPlayers"`
	// Forwarding must be None with FlavorVanilla.
	Forwarding Forwarding `json:"forwarding"`
	// OnlineMode is the Network's mode in force: true when the proxies
	// authenticate players.
	OnlineMode bool `json:"onlineMode"`
	// AcceptEULA says that the owner accepts Minecraft's EULA.
	AcceptEULA bool `json:"acceptEula,omitempty"`
	// Properties are the owner's additions to server.properties.
	Properties map[string]string `json:"properties,omitempty"`
	// Overlay lists the owner's files in the order to lay them over the
	// prepared ones.
	Overlay []OverlayFile `json:"overlay,omitempty"`
	// OverlayEnv names the variables of prepare whose values placeholders in
	// the owner's files may stand for.
	OverlayEnv []string `json:"overlayEnv,omitempty"`
	// GraceSeconds is the pod's terminationGracePeriodSeconds.
	GraceSeconds int32 `json:"graceSeconds"`
	// StopToken is the value of StopHeader in this pod's preStop hook: random,
	// per pod.
	StopToken string `json:"stopToken"`
	// Layers are copied into the data directory before anything else, in the
	// owner's order.
	Layers []Layer `json:"layers,omitempty"`
}

// Layer is a tree of files that is copied into the data directory.
type Layer struct {
	// Origin describes where it comes from to a person, such as "claim maps".
	Origin string `json:"origin"`
	// Root is the directory that nothing is read outside of.
	Root string `json:"root"`
	// Path is the directory in Root that is copied, absolute in it; "/" for all.
	Path string `json:"path"`
	// Mode says what becomes of files that are there already.
	Mode LayerMode `json:"mode"`
}

// LayerMode says what becomes of files that are there already.
type LayerMode string

const (
	// LayerIfMissing leaves them alone.
	LayerIfMissing LayerMode = "IfMissing"
	// LayerAlways replaces them.
	LayerAlways LayerMode = "Always"
)

// Encode renders the document for Variable. Equal specs give equal documents.
func (s Spec) Encode() (string, error) {
	if err := s.Validate(); err != nil {
		return "", err
	}
	document, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encoding the server's spec: %w", err)
	}
	return string(document), nil
}

// Decode reads a document made by Encode, by this version or another.
func Decode(document []byte) (Spec, error) {
	var s Spec
	if err := json.Unmarshal(document, &s); err != nil {
		return Spec{}, fmt.Errorf("reading the server's spec: %w", err)
	}
	if err := s.Validate(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// Validate reports everything in the spec that no server can be run with.
func (s Spec) Validate() error {
	rules := []struct {
		broken bool
		rule   string
	}{
		{s.Server == "", "server must not be empty"},
		{s.Group == "", "group must not be empty"},
		{!slices.Contains(flavors, s.Flavor), fmt.Sprintf("flavor %q is not known to this agent", s.Flavor)},
		{!slices.Contains(forwardings, s.Forwarding), fmt.Sprintf("forwarding %q is not known to this agent", s.Forwarding)},
		{s.Flavor == FlavorVanilla && s.Forwarding != ForwardingNone, "forwarding must be None with flavor Vanilla"},
		{!path.IsAbs(s.DataDir), "dataDir must be an absolute path"},
		{s.Port < 1 || s.Port > 65535, "port must be between 1 and 65535"},
		{s.Port == Port || s.Port == LocalPort, fmt.Sprintf("port must be neither %d nor %d, which are the agent's", Port, LocalPort)},
		{s.MaxPlayers < 1, "maxPlayers must be at least 1"},
		{s.GraceSeconds < 1, "graceSeconds must be at least 1"},
		{s.StopToken == "", "stopToken must not be empty"},
	}
	var errs []error
	for _, r := range rules {
		if r.broken {
			errs = append(errs, fmt.Errorf("server spec: %s", r.rule))
		}
	}
	for i, layer := range s.Layers {
		if !path.IsAbs(layer.Root) || !path.IsAbs(layer.Path) {
			errs = append(errs, fmt.Errorf("server spec: layer %d: root and path must be absolute paths", i+1))
		}
		if layer.Mode != LayerIfMissing && layer.Mode != LayerAlways {
			errs = append(errs, fmt.Errorf("server spec: layer %d: mode %q is not known to this agent", i+1, layer.Mode))
		}
	}
	return errors.Join(errs...)
}

var (
	flavors     = []Flavor{FlavorPaper, FlavorVanilla, FlavorFabric, FlavorCustom}
	forwardings = []Forwarding{ForwardingVelocity, ForwardingNone}
)

// managementPort is Mojang's own choice before it became random.
const managementPort = 25585

// ManagementPort is where the game's management protocol listens, on
// localhost: one port for all servers, moved only out of the game's way.
func (s Spec) ManagementPort() int32 {
	if s.Port == managementPort {
		return managementPort + 1
	}
	return managementPort
}
