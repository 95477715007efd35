// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sync"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// clientHandler treats one packet of the client; serverHandler one of a
// server. A packet without a handler is relayed as it is.
type (
	clientHandler func(*Player, *mcproto.Frame) error
	serverHandler func(*Player, *link, *mcproto.Frame) error
)

// handlers finds the handler of a packet id. Ids are small; what lies beyond
// is relayed, and whoever gets it decides.
type handlers[H any] [256]H

func (h *handlers[H]) set(id int32, handler H) {
	if id != mcproto.Absent {
		h[id] = handler
	}
}

func (h *handlers[H]) of(id int32) H {
	if uint32(id) < uint32(len(h)) {
		return h[id]
	}
	var none H
	return none
}

// dialect is what is done with the packets of one version of the game.
type dialect struct {
	configFromClient, playFromClient handlers[clientHandler]
	configFromServer, playFromServer handlers[serverHandler]
}

var dialects sync.Map // *mcproto.Protocol → *dialect

func dialectOf(p *mcproto.Protocol) *dialect {
	if known, ok := dialects.Load(p); ok {
		return known.(*dialect)
	}
	made, _ := dialects.LoadOrStore(p, newDialect(p))
	return made.(*dialect)
}

func newDialect(p *mcproto.Protocol) *dialect {
	d := &dialect{}
	d.fromClient(p)
	d.fromServerInConfiguration(p)
	d.fromServerInPlay(p)
	return d
}

func (d *dialect) fromClient(p *mcproto.Protocol) {
	config := p.ConfigServer
	d.configFromClient.set(config.ClientInformation, (*Player).onClientInformation)
	d.configFromClient.set(config.PluginMessage, (*Player).onClientPluginMessage)
	d.configFromClient.set(config.CookieResponse, (*Player).onCookieResponse)
	d.configFromClient.set(config.KeepAlive, (*Player).onKeepAliveAnswer)
	d.configFromClient.set(config.Pong, (*Player).onPong)
	d.configFromClient.set(config.ResourcePack, (*Player).onPackStatus)
	d.configFromClient.set(config.KnownPacks, (*Player).onKnownPacks)
	d.configFromClient.set(config.Finish, (*Player).onFinished)

	play := p.PlayServer
	d.playFromClient.set(play.ClientInformation, (*Player).onClientInformation)
	d.playFromClient.set(play.PluginMessage, (*Player).onClientPluginMessage)
	d.playFromClient.set(play.CookieResponse, (*Player).onCookieResponse)
	d.playFromClient.set(play.KeepAlive, (*Player).onKeepAliveAnswer)
	d.playFromClient.set(play.Pong, (*Player).onPong)
	d.playFromClient.set(play.ResourcePack, (*Player).onPackStatus)
	d.playFromClient.set(play.ConfigurationAck, (*Player).onConfigurationAck)
	d.playFromClient.set(play.ChatCommand, (*Player).onCommand)
	d.playFromClient.set(play.Suggestions, (*Player).onSuggestionsRequest)
}

func (d *dialect) fromServerInConfiguration(p *mcproto.Protocol) {
	ids := p.ConfigClient
	d.configFromServer.set(ids.Disconnect, (*Player).onConfigDisconnect)
	d.configFromServer.set(ids.Finish, (*Player).onFinish)
	d.configFromServer.set(ids.RegistryData, (*Player).onRegistryData)
	d.configFromServer.set(ids.KnownPacks, (*Player).onKnownPacksRequest)
	d.configFromServer.set(ids.PluginMessage, (*Player).onServerPluginMessage)
	d.configFromServer.set(ids.KeepAlive, (*Player).onKeepAlive)
	d.configFromServer.set(ids.Ping, (*Player).onPing)
	d.configFromServer.set(ids.CookieRequest, (*Player).onCookieRequest)
	d.configFromServer.set(ids.StoreCookie, (*Player).onStoreCookie)
	d.configFromServer.set(ids.ResourcePackPush, (*Player).onPackPush)
}

func (d *dialect) fromServerInPlay(p *mcproto.Protocol) {
	ids := p.PlayClient
	d.playFromServer.set(ids.Disconnect, (*Player).onPlayDisconnect)
	d.playFromServer.set(ids.StartConfiguration, (*Player).onStartConfiguration)
	d.playFromServer.set(ids.Login, (*Player).onJoin)
	d.playFromServer.set(ids.Bundle, (*Player).onBundle)
	d.playFromServer.set(ids.PluginMessage, (*Player).onServerPluginMessage)
	d.playFromServer.set(ids.Commands, (*Player).onCommandTree)
	d.playFromServer.set(ids.KeepAlive, (*Player).onKeepAlive)
	d.playFromServer.set(ids.Ping, (*Player).onPing)
	d.playFromServer.set(ids.CookieRequest, (*Player).onCookieRequest)
	d.playFromServer.set(ids.StoreCookie, (*Player).onStoreCookie)
	d.playFromServer.set(ids.ResourcePackPush, (*Player).onPackPush)
}
