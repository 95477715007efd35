// SPDX-License-Identifier: Apache-2.0

// Package bungee reads and writes what plugins of servers and a proxy say to each
// other on the channel bungeecord:main, as BungeeCord and Velocity understand it.
package bungee

import (
	"errors"
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

const (
	// Channel is what the messages travel on, in both directions.
	Channel = "bungeecord:main"
	// LegacyChannel is its name from before 1.13, which plugins still use.
	LegacyChannel = "BungeeCord"
	// All as a target is every player or every other server.
	All = "ALL"
	// Online as a target of Forward is every other server with players; so is All
	// here, for nothing is kept for a server that is empty.
	Online = "ONLINE"
	// MaxMessage is the most that a server takes on a plugin channel, in bytes: it
	// disconnects the player over which a longer message comes.
	MaxMessage = 32767
	// maxRequest bounds a whole message of a plugin: two long texts, and a name.
	maxRequest = 160 << 10
)

// Subchannel is what a message is about: its first word.
type Subchannel int

// The subchannels.
const (
	Unknown Subchannel = iota
	ForwardToPlayer
	Forward
	Connect
	ConnectOther
	IP
	IPOther
	PlayerCount
	PlayerList
	GetServers
	GetServer
	Message
	MessageRaw
	UUID
	UUIDOther
	ServerIP
	KickPlayer
	KickPlayerRaw
)

var subchannelNames = [...]string{
	"unknown", "ForwardToPlayer", "Forward", "Connect", "ConnectOther", "IP", "IPOther", "PlayerCount", "PlayerList",
	"GetServers", "GetServer", "Message", "MessageRaw", "UUID", "UUIDOther", "ServerIP", "KickPlayer", "KickPlayerRaw",
}

// String is the name that plugins use.
func (s Subchannel) String() string { return subchannelNames[s] }

// Subchannels are all that are known.
func Subchannels() []Subchannel {
	known := make([]Subchannel, 0, len(subchannelNames)-1)
	for s := ForwardToPlayer; s <= KickPlayerRaw; s++ {
		known = append(known, s)
	}
	return known
}

var byName = func() map[string]Subchannel {
	names := map[string]Subchannel{}
	for _, s := range Subchannels() {
		names[s.String()] = s
	}
	return names
}()

// field is one that follows a subchannel's name.
type field int

const (
	fieldPlayer field = iota
	fieldTarget
	fieldText
	fieldPayload
)

// layouts are the fields of each subchannel, in order; those that are not here
// have none.
var layouts = map[Subchannel][]field{
	ForwardToPlayer: {fieldPlayer, fieldPayload},
	Forward:         {fieldTarget, fieldPayload},
	Connect:         {fieldTarget},
	ConnectOther:    {fieldPlayer, fieldTarget},
	IPOther:         {fieldPlayer},
	PlayerCount:     {fieldTarget},
	PlayerList:      {fieldTarget},
	Message:         {fieldPlayer, fieldText},
	MessageRaw:      {fieldPlayer, fieldText},
	UUIDOther:       {fieldPlayer},
	ServerIP:        {fieldTarget},
	KickPlayer:      {fieldPlayer, fieldText},
	KickPlayerRaw:   {fieldPlayer, fieldText},
}

// Request is one message of a plugin. What its subchannel has no field for is
// empty.
type Request struct {
	Subchannel Subchannel
	// Player whom it is about; All where everybody may be meant.
	Player string
	// Target is a server or a group, or All.
	Target string
	// Text for a player: with § codes, or JSON on the raw subchannels.
	Text string
	// Payload is what another server gets, as it came. It aliases the message.
	Payload []byte
}

// ErrUnknown is the error of a message on a subchannel that does not exist.
var ErrUnknown = errors.New("no such subchannel")

// Parse reads a message. What follows its last field is left out.
func Parse(data []byte) (Request, error) {
	if len(data) > maxRequest {
		return Request{}, fmt.Errorf("%w: a message of %d bytes, at most %d are taken", mcproto.ErrMalformed, len(data), maxRequest)
	}
	r := mcproto.NewReader(data)
	name := r.JavaString()
	if err := r.Err(); err != nil {
		return Request{}, fmt.Errorf("reading the subchannel: %w", err)
	}
	request := Request{Subchannel: byName[name]}
	if request.Subchannel == Unknown {
		return Request{}, fmt.Errorf("%w: %.40q", ErrUnknown, name)
	}
	for _, f := range layouts[request.Subchannel] {
		switch f {
		case fieldPlayer:
			request.Player = r.JavaString()
		case fieldTarget:
			request.Target = r.JavaString()
		case fieldText:
			request.Text = r.JavaString()
		case fieldPayload:
			request.Payload = r.Rest()
		}
	}
	if err := r.Err(); err != nil {
		return Request{Subchannel: request.Subchannel}, fmt.Errorf("reading %s: %w", request.Subchannel, err)
	}
	return request, nil
}
