// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"golang.org/x/time/rate"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// pluginTasks bounds what plugins have asked for and waits, or is under way.
const pluginTasks = 256

// plugins answers what plugins of servers say on bungeecord:main. A plugin is
// trusted within its Network, as on BungeeCord.
type plugins struct {
	proxy *Proxy
	// tasks are what takes a while.
	tasks chan func(context.Context)
	// broadcasts bound what everybody reads, over all connections: each is work
	// for every player of the proxy.
	broadcasts *rate.Limiter
}

// broadcastsPerSecond and broadcastBurst are more than anybody reads.
const (
	broadcastsPerSecond = 20
	broadcastBurst      = 100
)

func newPlugins(p *Proxy) *plugins {
	return &plugins{proxy: p, tasks: make(chan func(context.Context), pluginTasks), broadcasts: rate.NewLimiter(broadcastsPerSecond, broadcastBurst)}
}

// work does what takes a while until ctx ends.
func (d *plugins) work(ctx context.Context) {
	underWay := make(chan struct{}, pluginTasks)
	for {
		select {
		case <-ctx.Done():
			return
		case task := <-d.tasks:
			select {
			case underWay <- struct{}{}:
			case <-ctx.Done():
				return
			}
			go func() {
				defer func() { <-underWay }()
				task(ctx)
			}()
		}
	}
}

// outcome is what became of a plugin's message.
type outcome string

// The outcomes.
const (
	// pluginDone: it was answered or carried out.
	pluginDone outcome = "done"
	// pluginLater: whoever carries it out counts it.
	pluginLater outcome = ""
	// pluginNobody: what it names is not there, or nobody is there to take it.
	pluginNobody outcome = "nobody"
	// pluginRefused: it passes a bound, or a server does not take the player.
	pluginRefused outcome = "refused"
	// pluginMalformed: it cannot be read.
	pluginMalformed outcome = "malformed"
	// pluginUnreachable: it needs the other proxies, and no manager reaches them.
	pluginUnreachable outcome = "unreachable"
)

var pluginOutcomes = []outcome{pluginDone, pluginNobody, pluginRefused, pluginMalformed, pluginUnreachable}

// Refused implements session.Plugins.
func (d *plugins) Refused() { d.count(bungee.Unknown, pluginRefused) }

func (d *plugins) count(about bungee.Subchannel, became outcome) {
	if became != pluginLater {
		d.proxy.metrics.plugins.WithLabelValues(about.String(), string(became)).Inc()
	}
}

// handlers answer each subchannel.
var handlers = map[bungee.Subchannel]func(*plugins, session.Via, bungee.Request) outcome{
	bungee.ForwardToPlayer: (*plugins).forwardToPlayer,
	bungee.Forward:         (*plugins).forward,
	bungee.Connect:         (*plugins).connect,
	bungee.ConnectOther:    (*plugins).connectOther,
	bungee.IP:              (*plugins).ip,
	bungee.IPOther:         (*plugins).ipOther,
	bungee.PlayerCount:     (*plugins).playerCount,
	bungee.PlayerList:      (*plugins).playerList,
	bungee.GetServers:      (*plugins).getServers,
	bungee.GetServer:       (*plugins).getServer,
	bungee.Message:         (*plugins).message,
	bungee.MessageRaw:      (*plugins).message,
	bungee.UUID:            (*plugins).uuid,
	bungee.UUIDOther:       (*plugins).uuidOther,
	bungee.ServerIP:        (*plugins).serverIP,
	bungee.KickPlayer:      (*plugins).kick,
	bungee.KickPlayerRaw:   (*plugins).kick,
}

// Hear implements session.Plugins.
func (d *plugins) Hear(via session.Via, data []byte) {
	request, err := bungee.Parse(data)
	if err != nil {
		d.proxy.log.V(1).Info("a plugin's message was not understood", "server", via.Server(), "cause", err.Error())
		d.count(request.Subchannel, pluginMalformed)
		return
	}
	d.count(request.Subchannel, handlers[request.Subchannel](d, via, request))
}

// answer sends to the server that asked.
func (d *plugins) answer(via session.Via, data []byte) outcome {
	if !via.Send(data) {
		return pluginRefused
	}
	return pluginDone
}

// later has a task done that takes a while, and counts what it comes to.
func (d *plugins) later(about bungee.Subchannel, task func(context.Context) outcome) outcome {
	select {
	case d.tasks <- func(ctx context.Context) { d.count(about, task(ctx)) }:
		return pluginLater
	default:
		return pluginRefused
	}
}

func (d *plugins) ip(via session.Via, _ bungee.Request) outcome {
	return d.answer(via, bungee.AnswerIP(via.Player().Remote()))
}

func (d *plugins) uuid(via session.Via, _ bungee.Request) outcome {
	return d.answer(via, bungee.AnswerUUID(via.Player().Profile().ID))
}

func (d *plugins) getServer(via session.Via, _ bungee.Request) outcome {
	return d.answer(via, bungee.AnswerGetServer(via.Server()))
}

// target is a server or a group as the network calls it: Kubernetes writes names
// in lower case, and plugins write them as they like.
func (d *plugins) target(name string) (string, bool) {
	name = strings.ToLower(name)
	view := d.proxy.store.View()
	return name, view.Server(name) != nil || view.HasGroup(name)
}

// within are the servers that a target stands for: itself, or those of a group.
func (d *plugins) within(target string) []string {
	view := d.proxy.store.View()
	if view.Server(target) != nil {
		return []string{target}
	}
	var names []string
	for _, server := range view.Servers(target) {
		names = append(names, server.GetName())
	}
	return names
}

func (d *plugins) getServers(via session.Via, _ bungee.Request) outcome {
	var names []string
	for _, server := range d.proxy.store.View().All() {
		names = append(names, server.GetName())
	}
	return d.answer(via, bungee.AnswerGetServers(names))
}

// serverIP answers for servers only: a group listens nowhere.
func (d *plugins) serverIP(via session.Via, r bungee.Request) outcome {
	server := d.proxy.store.View().Server(strings.ToLower(r.Target))
	host, text, err := net.SplitHostPort(server.GetAddress())
	if err != nil {
		return pluginNobody
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return pluginNobody
	}
	return d.answer(via, bungee.AnswerServerIP(server.GetName(), host, uint16(port)))
}

// playerCount counts as the directory does. The manager's numbers are about a
// second old, this proxy's own are not.
func (d *plugins) playerCount(via session.Via, r bungee.Request) outcome {
	if r.Target == bungee.All {
		return d.answer(via, bungee.AnswerPlayerCount(bungee.All, d.proxy.online()))
	}
	target, known := d.target(r.Target)
	if !known {
		return pluginNobody
	}
	here := map[string]int{}
	for _, player := range d.proxy.roster.all() {
		here[player.Standing().Server]++
	}
	players := 0
	for _, name := range d.within(target) {
		players += max(here[name], int(d.proxy.store.View().Server(name).GetPlayers()))
	}
	return d.answer(via, bungee.AnswerPlayerCount(target, players))
}

func (d *plugins) connect(via session.Via, r bungee.Request) outcome {
	player := via.Player()
	return d.later(r.Subchannel, func(ctx context.Context) outcome { return sent(d.send(ctx, player, r.Target)) })
}

// send takes a player of this proxy elsewhere, who is told why when that fails.
func (d *plugins) send(ctx context.Context, player *session.Player, to string) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	err := player.Switch(ctx, strings.ToLower(to))
	if stays, ok := errors.AsType[*session.Switched](err); ok {
		player.Hear(stays.Reason)
	}
	return err
}

func sent(err error) outcome {
	if err != nil {
		return pluginRefused
	}
	return pluginDone
}

// readable is what a player reads of a message.
func readable(r bungee.Request) (mcproto.Text, error) {
	if r.Subchannel == bungee.MessageRaw || r.Subchannel == bungee.KickPlayerRaw {
		return mcproto.ParseTextJSON(r.Text)
	}
	return messages.Legacy(r.Text), nil
}
