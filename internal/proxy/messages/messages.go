// SPDX-License-Identifier: Apache-2.0

// Package messages is the catalogue of what the proxy says to players: keys
// that a resource pack or a network may translate, and what everybody else
// reads.
package messages

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// Key names one message. It is public: packs and networks translate by it.
type Key string

// The messages. messages.json holds their arguments and fallbacks.
const (
	VersionOld     Key = "spawnery.version.old"
	VersionUnknown Key = "spawnery.version.unknown"

	LoginStarting        Key = "spawnery.login.starting"
	LoginReplaced        Key = "spawnery.login.replaced"
	LoginUnauthenticated Key = "spawnery.login.unauthenticated"
	LoginLimited         Key = "spawnery.login.limited"
	LoginQueue           Key = "spawnery.login.queue"
	LoginUnreachable     Key = "spawnery.login.unreachable"
	LoginSlow            Key = "spawnery.login.slow"
	LoginNonsense        Key = "spawnery.login.nonsense"
	LoginDuplicate       Key = "spawnery.login.duplicate"
	LoginElsewhere       Key = "spawnery.login.elsewhere"
	LoginFull            Key = "spawnery.login.full"

	JoinFull        Key = "spawnery.join.full"
	JoinDenied      Key = "spawnery.join.denied"
	JoinNone        Key = "spawnery.join.none"
	JoinUnknown     Key = "spawnery.join.unknown"
	JoinHere        Key = "spawnery.join.here"
	JoinBusy        Key = "spawnery.join.busy"
	JoinFailed      Key = "spawnery.join.failed"
	JoinUnsafe      Key = "spawnery.join.unsafe"
	JoinUnreachable Key = "spawnery.join.unreachable"
	JoinSlow        Key = "spawnery.join.slow"

	Hold            Key = "spawnery.hold"
	HoldFull        Key = "spawnery.hold.full"
	HoldEnded       Key = "spawnery.hold.ended"
	Fallback        Key = "spawnery.fallback"
	FallbackLost    Key = "spawnery.fallback.lost"
	FallbackClosing Key = "spawnery.fallback.closing"
	Lost            Key = "spawnery.lost"
	Shutdown        Key = "spawnery.shutdown"

	LimitLogins   Key = "spawnery.limit.logins"
	LimitPackets  Key = "spawnery.limit.packets"
	LimitProtocol Key = "spawnery.limit.protocol"

	CommandHelp        Key = "spawnery.command.help"
	CommandHelpList    Key = "spawnery.command.help.list"
	CommandUnknown     Key = "spawnery.command.unknown"
	CommandDenied      Key = "spawnery.command.denied"
	CommandListGroup   Key = "spawnery.command.list.group"
	CommandListServer  Key = "spawnery.command.list.server"
	CommandListUnknown Key = "spawnery.command.list.unknown"
	CommandListEmpty   Key = "spawnery.command.list.empty"
	CommandListNoGroup Key = "spawnery.command.list.nogroup"
	CommandBusy        Key = "spawnery.command.busy"

	CommandServerHere    Key = "spawnery.command.server.here"
	CommandServerNowhere Key = "spawnery.command.server.nowhere"
	CommandServerGroup   Key = "spawnery.command.server.group"
	CommandServerJoin    Key = "spawnery.command.server.join"
	CommandServerMore    Key = "spawnery.command.server.more"
	CommandGlist         Key = "spawnery.command.glist"
	CommandGlistGroup    Key = "spawnery.command.glist.group"

	CommandUsage         Key = "spawnery.command.usage"
	CommandHelpInfo      Key = "spawnery.command.help.info"
	CommandHelpStatus    Key = "spawnery.command.help.status"
	CommandHelpScale     Key = "spawnery.command.help.scale"
	CommandHelpStart     Key = "spawnery.command.help.start"
	CommandHelpStop      Key = "spawnery.command.help.stop"
	CommandHelpRetire    Key = "spawnery.command.help.retire"
	CommandHelpUnretire  Key = "spawnery.command.help.unretire"
	CommandHelpSend      Key = "spawnery.command.help.send"
	CommandGlistServer   Key = "spawnery.command.glist.server"
	CommandGlistNowhere  Key = "spawnery.command.glist.nowhere"
	CommandSent          Key = "spawnery.command.sent"
	CommandStayed        Key = "spawnery.command.stayed"
	CommandScaled        Key = "spawnery.command.scaled"
	CommandStarted       Key = "spawnery.command.started"
	CommandBoostMade     Key = "spawnery.command.boost.made"
	CommandBoostEnded    Key = "spawnery.command.boost.ended"
	CommandBoostNone     Key = "spawnery.command.boost.none"
	CommandBoostByHand   Key = "spawnery.command.boost.byhand"
	CommandRetired       Key = "spawnery.command.retired"
	CommandUnretired     Key = "spawnery.command.unretired"
	CommandNoManager     Key = "spawnery.command.manager.none"
	CommandOldManager    Key = "spawnery.command.manager.old"
	CommandNoAnswer      Key = "spawnery.command.manager.late"
	CommandInfoServer    Key = "spawnery.command.info.server"
	CommandDoorOpen      Key = "spawnery.command.door.open"
	CommandDoorByName    Key = "spawnery.command.door.byname"
	CommandDoorMoving    Key = "spawnery.command.door.moving"
	CommandDoorClosed    Key = "spawnery.command.door.closed"
	CommandInfoGroup     Key = "spawnery.command.info.group"
	CommandInfoPinned    Key = "spawnery.command.info.pinned"
	CommandInfoForever   Key = "spawnery.command.info.forever"
	CommandInfoBoosted   Key = "spawnery.command.info.boosted"
	CommandInfoRequired  Key = "spawnery.command.info.required"
	CommandInfoDenyOnly  Key = "spawnery.command.info.denyonly"
	CommandGrants        Key = "spawnery.command.grants"
	CommandStatus        Key = "spawnery.command.status"
	CommandStatusServers Key = "spawnery.command.status.servers"
	CommandStatusTrouble Key = "spawnery.command.status.trouble"

	CommandHelpEvents    Key = "spawnery.command.help.events"
	CommandEventsOn      Key = "spawnery.command.events.on"
	CommandEventsOff     Key = "spawnery.command.events.off"
	CommandEventsMore    Key = "spawnery.command.events.more"
	CommandEventNew      Key = "spawnery.command.event.new"
	CommandEventPhase    Key = "spawnery.command.event.phase"
	CommandEventGone     Key = "spawnery.command.event.gone"
	CommandEventBoosted  Key = "spawnery.command.event.boosted"
	CommandEventPinned   Key = "spawnery.command.event.pinned"
	CommandEventUnpinned Key = "spawnery.command.event.unpinned"
	CommandEventWell     Key = "spawnery.command.event.well"
)

// Message is one entry of the catalogue.
type Message struct {
	Key Key `json:"key"`
	// Arguments names what each placeholder stands for, in order.
	Arguments []string `json:"arguments,omitempty"`
	// Fallback is what a client without a translation shows, in English.
	Fallback string `json:"fallback"`
}

//go:embed messages.json
var embedded []byte

var catalogue, order = mustParse(embedded)

// mustParse reads what was compiled in; a test reads the same.
func mustParse(data []byte) (map[Key]Message, []Key) {
	var list []Message
	if err := json.Unmarshal(data, &list); err != nil {
		panic(fmt.Sprintf("messages.json: %v", err))
	}
	byKey, keys := make(map[Key]Message, len(list)), make([]Key, 0, len(list))
	for _, m := range list {
		byKey[m.Key] = m
		keys = append(keys, m.Key)
	}
	return byKey, keys
}

// All lists the catalogue in its own order.
func All() []Message {
	list := make([]Message, 0, len(order))
	for _, key := range order {
		list = append(list, catalogue[key])
	}
	return list
}

// Text is the message as a component, its arguments filled in by the client.
func Text(key Key, arguments ...mcproto.Text) mcproto.Text {
	return mcproto.Text{Translate: string(key), Fallback: catalogue[key].Fallback, With: arguments}
}
