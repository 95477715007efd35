// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Absent is the id of a packet that a version does not have. No packet read
// from a connection that keeps to the protocol has it.
const Absent int32 = -1

// maxProtocol is the first number of the range the game uses for snapshots.
const maxProtocol = 1 << 30

// Packet ids that are the same in every supported version.
const (
	HandshakeIntention int32 = 0x00

	StatusRequest  int32 = 0x00 // to the server
	StatusPing     int32 = 0x01 // to the server
	StatusResponse int32 = 0x00 // to the client
	StatusPong     int32 = 0x01 // to the client

	LoginDisconnect     int32 = 0x00 // to the client
	LoginEncryption     int32 = 0x01 // to the client
	LoginSuccess        int32 = 0x02 // to the client
	LoginCompression    int32 = 0x03 // to the client
	LoginPluginRequest  int32 = 0x04 // to the client
	LoginCookieRequest  int32 = 0x05 // to the client
	LoginStart          int32 = 0x00 // to the server
	LoginEncryptionDone int32 = 0x01 // to the server
	LoginPluginResponse int32 = 0x02 // to the server
	LoginAcknowledged   int32 = 0x03 // to the server
	LoginCookieResponse int32 = 0x04 // to the server
)

// Protocol is what differs between versions of the game: the ids of the
// packets we look at, and the end of Login Success.
type Protocol struct {
	Number      int32
	Versions    []string // releases that speak it, oldest first
	Source      string   // where the row was taken from, for people
	SuccessTail SuccessTail

	ConfigClient ConfigClientIDs // configuration, to the client
	ConfigServer ConfigServerIDs // configuration, to the server
	PlayClient   PlayClientIDs   // play, to the client
	PlayServer   PlayServerIDs   // play, to the server
}

// SuccessTail is what follows the profile in Login Success.
type SuccessTail string

// The known ends of Login Success.
const (
	TailStrictErrorHandling SuccessTail = "strictErrorHandling" // one boolean
	TailNone                SuccessTail = "plain"
	TailSessionID           SuccessTail = "sessionID" // one UUID
)

// ConfigClientIDs are the ids of configuration packets to the client.
type ConfigClientIDs struct {
	CookieRequest    int32 `id:"cookie_request"`
	PluginMessage    int32 `id:"plugin_message"`
	Disconnect       int32 `id:"disconnect"`
	Finish           int32 `id:"finish"`
	KeepAlive        int32 `id:"keep_alive"`
	Ping             int32 `id:"ping"`
	RegistryData     int32 `id:"registry_data"`
	ResourcePackPop  int32 `id:"resource_pack_pop"`
	ResourcePackPush int32 `id:"resource_pack_push"`
	StoreCookie      int32 `id:"store_cookie"`
	Transfer         int32 `id:"transfer"`
	FeatureFlags     int32 `id:"feature_flags"`
	Tags             int32 `id:"tags"`
	KnownPacks       int32 `id:"known_packs"`
	ClearDialog      int32 `id:"clear_dialog,optional"`
	ShowDialog       int32 `id:"show_dialog,optional"`
	CodeOfConduct    int32 `id:"code_of_conduct,optional"`
}

// ConfigServerIDs are the ids of configuration packets to the server.
type ConfigServerIDs struct {
	ClientInformation   int32 `id:"client_information"`
	CookieResponse      int32 `id:"cookie_response"`
	PluginMessage       int32 `id:"plugin_message"`
	Finish              int32 `id:"finish"`
	KeepAlive           int32 `id:"keep_alive"`
	Pong                int32 `id:"pong"`
	ResourcePack        int32 `id:"resource_pack"`
	KnownPacks          int32 `id:"known_packs"`
	CustomClick         int32 `id:"custom_click,optional"`
	AcceptCodeOfConduct int32 `id:"accept_code_of_conduct,optional"`
}

// PlayClientIDs are the ids of play packets to the client.
type PlayClientIDs struct {
	Bundle             int32 `id:"bundle"`
	ClearTitles        int32 `id:"clear_titles"`
	Suggestions        int32 `id:"suggestions"`
	Commands           int32 `id:"commands"`
	CookieRequest      int32 `id:"cookie_request"`
	PluginMessage      int32 `id:"plugin_message"`
	Disconnect         int32 `id:"disconnect"`
	KeepAlive          int32 `id:"keep_alive"`
	Login              int32 `id:"login"`
	Ping               int32 `id:"ping"`
	PlayerPosition     int32 `id:"player_position"`
	ResourcePackPop    int32 `id:"resource_pack_pop"`
	ResourcePackPush   int32 `id:"resource_pack_push"`
	StartConfiguration int32 `id:"start_configuration"`
	StoreCookie        int32 `id:"store_cookie"`
	SystemChat         int32 `id:"system_chat"`
	TabList            int32 `id:"tab_list"`
	Transfer           int32 `id:"transfer"`
	ClearDialog        int32 `id:"clear_dialog,optional"`
	ShowDialog         int32 `id:"show_dialog,optional"`
}

// PlayServerIDs are the ids of play packets to the server.
type PlayServerIDs struct {
	TeleportConfirm   int32 `id:"teleport_confirm"`
	ChatAck           int32 `id:"chat_ack"`
	ChatCommand       int32 `id:"chat_command"`
	ChatCommandSigned int32 `id:"chat_command_signed"`
	ChatMessage       int32 `id:"chat_message"`
	ClientInformation int32 `id:"client_information"`
	Suggestions       int32 `id:"suggestions"`
	ConfigurationAck  int32 `id:"configuration_ack"`
	CookieResponse    int32 `id:"cookie_response"`
	PluginMessage     int32 `id:"plugin_message"`
	KeepAlive         int32 `id:"keep_alive"`
	Move              int32 `id:"move"` // on the ground or not, no position
	Pong              int32 `id:"pong"`
	ResourcePack      int32 `id:"resource_pack"`
	CustomClick       int32 `id:"custom_click,optional"`
}

// Protocols is a table of versions by protocol number. It is not changed after
// it was made.
type Protocols struct{ rows map[int32]*Protocol }

//go:embed protocols.json
var embeddedProtocols []byte

// DefaultProtocols is the table built into the program.
func DefaultProtocols() (*Protocols, error) { return ParseProtocols(embeddedProtocols) }

// ParseProtocols reads a table in the form of the embedded protocols.json: an
// array of rows, each complete in itself.
func ParseProtocols(data []byte) (*Protocols, error) {
	var rows []protocolRow
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("read the protocol table: %w", err)
	}
	table := &Protocols{rows: make(map[int32]*Protocol, len(rows))}
	for i := range rows {
		p, err := rows[i].protocol()
		if err != nil {
			return nil, fmt.Errorf("protocol %d: %w", rows[i].Protocol, err)
		}
		if table.rows[p.Number] != nil {
			return nil, fmt.Errorf("protocol %d is listed twice", p.Number)
		}
		table.rows[p.Number] = p
	}
	return table, nil
}

// With returns a table of both, in which the rows of other win.
func (t *Protocols) With(other *Protocols) *Protocols {
	rows := maps.Clone(t.rows)
	maps.Copy(rows, other.rows)
	return &Protocols{rows: rows}
}

// Lookup returns the row of a protocol number. It is shared: do not change it.
func (t *Protocols) Lookup(number int32) (*Protocol, bool) {
	p, ok := t.rows[number]
	return p, ok
}

// Numbers lists the protocols of the table, oldest first.
func (t *Protocols) Numbers() []int32 { return slices.Sorted(maps.Keys(t.rows)) }

// Oldest is the row with the lowest number; nil in an empty table.
func (t *Protocols) Oldest() *Protocol { return t.edge(0) }

// Newest is the row with the highest number; nil in an empty table.
func (t *Protocols) Newest() *Protocol { return t.edge(len(t.rows) - 1) }

func (t *Protocols) edge(i int) *Protocol {
	if len(t.rows) == 0 {
		return nil
	}
	return t.rows[t.Numbers()[i]]
}

type protocolRow struct {
	Protocol     int32             `json:"protocol"`
	Versions     []string          `json:"versions"`
	Source       string            `json:"source"`
	LoginSuccess SuccessTail       `json:"loginSuccess"`
	ConfigClient map[string]string `json:"configClient"`
	ConfigServer map[string]string `json:"configServer"`
	PlayClient   map[string]string `json:"playClient"`
	PlayServer   map[string]string `json:"playServer"`
}

func (row *protocolRow) protocol() (*Protocol, error) {
	p := &Protocol{Number: row.Protocol, Versions: row.Versions, Source: row.Source, SuccessTail: row.LoginSuccess}
	if p.Number <= 0 || p.Number >= maxProtocol || len(p.Versions) == 0 {
		return nil, errors.New("a released protocol number and its versions are needed")
	}
	if p.Source == "" {
		return nil, errors.New("source is missing: where were the ids taken from?")
	}
	if !slices.Contains([]SuccessTail{TailStrictErrorHandling, TailNone, TailSessionID}, p.SuccessTail) {
		return nil, fmt.Errorf("loginSuccess %q is unknown", p.SuccessTail)
	}
	for _, group := range []struct {
		name string
		ids  map[string]string
		into any
	}{
		{"configClient", row.ConfigClient, &p.ConfigClient},
		{"configServer", row.ConfigServer, &p.ConfigServer},
		{"playClient", row.PlayClient, &p.PlayClient},
		{"playServer", row.PlayServer, &p.PlayServer},
	} {
		if err := fillIDs(group.into, group.ids); err != nil {
			return nil, fmt.Errorf("%s: %w", group.name, err)
		}
	}
	return p, nil
}

// fillIDs sets every field of the struct that into points to from the id named
// in its tag, and refuses ids that are missing, unknown or given twice.
func fillIDs(into any, ids map[string]string) error {
	fields := reflect.ValueOf(into).Elem()
	taken := make(map[int32]string, len(ids))
	for field, value := range fields.Fields() {
		name, option, _ := strings.Cut(field.Tag.Get("id"), ",")
		text, ok := ids[name]
		switch {
		case !ok && option == "optional":
			value.SetInt(int64(Absent))
			continue
		case !ok:
			return fmt.Errorf("the id of %s is missing", name)
		}
		id, err := strconv.ParseUint(text, 0, 8)
		if err != nil {
			return fmt.Errorf("the id of %s: %w", name, err)
		}
		if other := taken[int32(id)]; other != "" {
			return fmt.Errorf("%s and %s have the same id %s", other, name, text)
		}
		taken[int32(id)] = name
		value.SetInt(int64(id))
	}
	known := make(map[string]bool)
	for _, name := range taken {
		known[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if !known[name] {
			return fmt.Errorf("packet %s is unknown", name)
		}
	}
	return nil
}
