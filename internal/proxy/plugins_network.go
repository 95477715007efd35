// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// What players of other proxies are needed for takes a while: the manager is
// asked. Bounds of the connection come first.

// elsewhere has a task done for which the other proxies are needed.
func (d *plugins) elsewhere(via session.Via, r bungee.Request, task func(context.Context) outcome) outcome {
	if !via.MayAsk() {
		return pluginRefused
	}
	return d.later(r.Subchannel, task)
}

// errand has other proxies do something, in the order in which plugins ask.
func (d *plugins) errand(via session.Via, r bungee.Request, errand *agentv1alpha1.Errand) outcome {
	return d.begin(via, r, errand, became)
}

// besides is errand for what this proxy has done its part of: when there is
// nobody else, that was all.
func (d *plugins) besides(via session.Via, r bungee.Request, errand *agentv1alpha1.Errand) outcome {
	return d.begin(via, r, errand, func(result *agentv1alpha1.ErrandResult) outcome {
		if result.GetVerdict() == agentv1alpha1.Verdict_VERDICT_NOT_FOUND {
			return pluginDone
		}
		return became(result)
	})
}

func (d *plugins) begin(
	via session.Via, r bungee.Request, errand *agentv1alpha1.Errand, judge func(*agentv1alpha1.ErrandResult) outcome,
) outcome {
	if !via.MayAsk() {
		return pluginRefused
	}
	waits, why := d.proxy.errands.begin(errand)
	if waits == nil {
		return judge(why)
	}
	what := d.later(r.Subchannel, func(ctx context.Context) outcome { return judge(d.proxy.errands.await(ctx, errand, waits)) })
	if what == pluginRefused {
		// Nobody has room to wait for it; it is under way all the same.
		d.proxy.errands.forget(errand)
		return pluginDone
	}
	return what
}

func became(result *agentv1alpha1.ErrandResult) outcome {
	switch result.GetVerdict() {
	case agentv1alpha1.Verdict_VERDICT_DONE:
		return pluginDone
	case agentv1alpha1.Verdict_VERDICT_NOT_FOUND:
		return pluginNobody
	case agentv1alpha1.Verdict_VERDICT_MALFORMED:
		return pluginMalformed
	case agentv1alpha1.Verdict_VERDICT_FAILED:
		return pluginUnreachable
	case agentv1alpha1.Verdict_VERDICT_REFUSED, agentv1alpha1.Verdict_VERDICT_TOO_OFTEN, agentv1alpha1.Verdict_VERDICT_UNSPECIFIED:
	}
	return pluginRefused
}

func byName(name string) *agentv1alpha1.Player { return &agentv1alpha1.Player{Name: name} }

func (d *plugins) connectOther(via session.Via, r bungee.Request) outcome {
	if player := d.proxy.roster.named(r.Player); player != nil {
		return d.later(r.Subchannel, func(ctx context.Context) outcome { return sent(d.send(ctx, player, r.Target)) })
	}
	return d.errand(via, r, &agentv1alpha1.Errand{Errand: &agentv1alpha1.Errand_SendPlayer{
		SendPlayer: &agentv1alpha1.SendPlayer{Player: byName(r.Player), To: r.Target},
	}})
}

func (d *plugins) ipOther(via session.Via, r bungee.Request) outcome {
	if player := d.proxy.roster.named(r.Player); player != nil {
		return d.answer(via, bungee.AnswerIPOther(player.Profile().Name, player.Remote()))
	}
	return d.elsewhere(via, r, func(ctx context.Context) outcome {
		entry := d.named(ctx, r.Player)
		if entry == nil {
			return pluginNobody
		}
		result := d.proxy.errands.run(ctx, &agentv1alpha1.Errand{Errand: &agentv1alpha1.Errand_FindPlayer{
			FindPlayer: &agentv1alpha1.FindPlayer{Player: entry.GetPlayer()},
		}})
		from, found := remoteOf(result)
		if !found {
			return became(result)
		}
		return d.answer(via, bungee.AnswerIPOther(entry.GetPlayer().GetName(), from))
	})
}

func (d *plugins) uuidOther(via session.Via, r bungee.Request) outcome {
	if player := d.proxy.roster.named(r.Player); player != nil {
		return d.answer(via, bungee.AnswerUUIDOther(player.Profile().Name, player.Profile().ID))
	}
	return d.elsewhere(via, r, func(ctx context.Context) outcome {
		entry := d.named(ctx, r.Player)
		id, err := uuid.FromBytes(entry.GetPlayer().GetUuid())
		if err != nil {
			return pluginNobody
		}
		return d.answer(via, bungee.AnswerUUIDOther(entry.GetPlayer().GetName(), id))
	})
}

// named finds a player of another proxy.
func (d *plugins) named(ctx context.Context, name string) *agentv1alpha1.RosterEntry {
	for _, entry := range d.proxy.errands.elsewhere(ctx) {
		if strings.EqualFold(entry.GetPlayer().GetName(), name) {
			return entry
		}
	}
	return nil
}

func (d *plugins) playerList(via session.Via, r bungee.Request) outcome {
	target, known := d.target(r.Target)
	if r.Target == bungee.All {
		target, known = bungee.All, true
	}
	if !known {
		return pluginNobody
	}
	servers := d.within(target)
	return d.elsewhere(via, r, func(ctx context.Context) outcome {
		counts := func(server string) bool { return target == bungee.All || slices.Contains(servers, server) }
		names := map[string]struct{}{}
		for _, entry := range d.proxy.errands.elsewhere(ctx) {
			// Who is here too has just come, and is where this proxy says.
			if counts(entry.GetServer()) && d.proxy.roster.named(entry.GetPlayer().GetName()) == nil {
				names[entry.GetPlayer().GetName()] = struct{}{}
			}
		}
		for _, player := range d.proxy.roster.all() {
			if counts(player.Standing().Server) {
				names[player.Profile().Name] = struct{}{}
			}
		}
		return d.answer(via, bungee.AnswerPlayerList(target, slices.Sorted(maps.Keys(names))))
	})
}

// textProtocol is whose component format texts travel in between proxies: every
// proxy reads it.
const textProtocol = 766

func (d *plugins) message(via session.Via, r bungee.Request) outcome {
	line, err := readable(r)
	if err != nil {
		return pluginMalformed
	}
	tell := &agentv1alpha1.TellPlayers{Text: line.JSON(textProtocol)}
	if r.Player == bungee.All {
		if !d.broadcasts.AllowN(d.proxy.config.Clock.Now(), 1) {
			return pluginRefused
		}
		for _, player := range d.proxy.roster.all() {
			player.Hear(line)
		}
		return d.besides(via, r, &agentv1alpha1.Errand{Errand: &agentv1alpha1.Errand_TellPlayers{TellPlayers: tell}})
	}
	if player := d.proxy.roster.named(r.Player); player != nil {
		player.Hear(line)
		return pluginDone
	}
	tell.Player = byName(r.Player)
	return d.errand(via, r, &agentv1alpha1.Errand{Errand: &agentv1alpha1.Errand_TellPlayers{TellPlayers: tell}})
}

func (d *plugins) kick(via session.Via, r bungee.Request) outcome {
	reason, err := readable(r)
	if err != nil {
		return pluginMalformed
	}
	if player := d.proxy.roster.named(r.Player); player != nil {
		return d.later(r.Subchannel, func(context.Context) outcome {
			player.Disconnect(reason)
			return pluginDone
		})
	}
	return d.errand(via, r, &agentv1alpha1.Errand{Errand: &agentv1alpha1.Errand_DisconnectPlayer{
		DisconnectPlayer: &agentv1alpha1.DisconnectPlayer{Player: byName(r.Player), Reason: reason.JSON(textProtocol)},
	}})
}

func (d *plugins) forwardToPlayer(via session.Via, r bungee.Request) outcome {
	if len(r.Payload) > bungee.MaxMessage {
		return pluginRefused
	}
	payload := &agentv1alpha1.PluginPayload{Player: byName(r.Player), Payload: slices.Clone(r.Payload)}
	if d.proxy.roster.named(r.Player) == nil {
		return d.errand(via, r, &agentv1alpha1.Errand{Errand: &agentv1alpha1.Errand_PluginPayload{PluginPayload: payload}})
	}
	if !d.deliver(payload) {
		return pluginNobody
	}
	return pluginDone
}

func (d *plugins) forward(via session.Via, r bungee.Request) outcome {
	if len(r.Payload) > bungee.MaxMessage {
		return pluginRefused
	}
	servers, known := d.receivers(via, r.Target)
	if !known {
		return pluginNobody
	}
	payload := &agentv1alpha1.PluginPayload{Payload: slices.Clone(r.Payload)}
	carriers := d.carriers()
	for _, server := range servers {
		if carrier, here := carriers[server]; !here || !carrier.Send(payload.Payload) {
			payload.Servers = append(payload.Servers, server)
		}
	}
	errand := &agentv1alpha1.Errand{Errand: &agentv1alpha1.Errand_PluginPayload{PluginPayload: payload}}
	switch len(payload.Servers) {
	case 0:
		return pluginDone
	case len(servers):
		return d.errand(via, r, errand)
	}
	return d.besides(via, r, errand)
}

// receivers are the servers that a target of Forward stands for: of many, those
// other than the one that asks.
func (d *plugins) receivers(via session.Via, target string) ([]string, bool) {
	var servers []string
	if target == bungee.All || target == bungee.Online {
		for _, server := range d.proxy.store.View().All() {
			servers = append(servers, server.GetName())
		}
	} else {
		name, known := d.target(target)
		if servers = d.within(name); !known || slices.Equal(servers, []string{name}) {
			return servers, known
		}
	}
	return slices.DeleteFunc(servers, func(server string) bool { return server == via.Server() }), true
}

// carriers are the connections of this proxy's players over which plugins of
// each server are reached.
func (d *plugins) carriers() map[string]session.Via {
	found := map[string]session.Via{}
	for _, player := range d.proxy.roster.all() {
		via, on := player.Via()
		if !on {
			continue
		}
		if _, have := found[via.Server()]; !have && via.Plays() {
			found[via.Server()] = via
		}
	}
	return found
}

// deliver hands a payload to plugins over connections of this proxy; false: over
// none.
func (d *plugins) deliver(payload *agentv1alpha1.PluginPayload) bool {
	if len(payload.GetPayload()) > bungee.MaxMessage {
		return false
	}
	if payload.GetPlayer() != nil {
		player, err := d.proxy.hosts(payload.GetPlayer())
		if err != nil {
			return false
		}
		via, on := player.Via()
		return on && via.Plays() && via.Send(payload.GetPayload())
	}
	delivered := false
	carriers := d.carriers()
	for _, server := range payload.GetServers() {
		if via, here := carriers[server]; here {
			delivered = via.Send(payload.GetPayload()) || delivered
		}
	}
	return delivered
}
