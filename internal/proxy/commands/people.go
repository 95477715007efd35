// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// Words for several players.
const (
	currentPlayers = "current"
	allPlayers     = "all"
)

// glist counts the players of the network by groups; with all it names them.
func (c *Console) glist(by Asker, arguments []string) Reply {
	view := c.store.View()
	lines := []mcproto.Text{messages.Text(messages.CommandGlist, number(view.NetworkPlayers))}
	if len(arguments) > 0 && strings.EqualFold(arguments[0], allPlayers) {
		return c.put(by, &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_NamePlayers{NamePlayers: &agentv1alpha1.NamePlayers{}}}, named)
	}
	for _, group := range view.Groups() {
		players := 0
		for _, s := range view.Servers(group.GetName()) {
			players += int(s.GetPlayers())
		}
		line := messages.Text(messages.CommandGlistGroup, mcproto.Plain(group.GetName()), number(players))
		line.Click = mcproto.Click{Action: mcproto.RunCommand, Value: "/" + glistCommand + " " + allPlayers}
		lines = append(lines, line)
	}
	return says(lines...)
}

// named lists players by servers.
func named(answer *agentv1alpha1.CloudAnswer) []mcproto.Text {
	lines := []mcproto.Text{messages.Text(messages.CommandGlist, number(len(answer.GetPlayers())))}
	servers := map[string][]string{}
	for _, entry := range answer.GetPlayers() {
		servers[entry.GetServer()] = append(servers[entry.GetServer()], entry.GetPlayer().GetName())
	}
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		names := servers[server]
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
		where := mcproto.Plain(server)
		if server == "" {
			where = messages.Text(messages.CommandGlistNowhere)
		}
		lines = append(lines, messages.Text(messages.CommandGlistServer, where, number(len(names)), mcproto.Plain(strings.Join(names, ", "))))
	}
	if answer.GetDetail() != "" {
		lines = append(lines, mcproto.Plain(answer.GetDetail()))
	}
	return lines
}

func (c *Console) suggestGlist(_ permissions.Player, before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return []string{allPlayers}
}

// send moves one player, those of the asker's server, or everybody.
func (c *Console) send(by Asker, arguments []string) Reply {
	if len(arguments) != 2 {
		return says(messages.Text(messages.CommandUsage, mcproto.Plain("/send <player|current|all> <server or group>")))
	}
	switch who := strings.ToLower(arguments[0]); {
	case who == allPlayers:
		return c.move(by, &agentv1alpha1.MovePlayers{
			Who: &agentv1alpha1.MovePlayers_Everybody{Everybody: &agentv1alpha1.Everybody{}}, To: arguments[1],
		})
	case who == currentPlayers && by.Server() != "":
		return c.move(by, &agentv1alpha1.MovePlayers{Who: &agentv1alpha1.MovePlayers_Server{Server: by.Server()}, To: arguments[1]})
	}
	return c.moveOne(by, arguments[0], arguments[1])
}

// cloudSend moves one player.
func (c *Console) cloudSend(by Asker, arguments []string) Reply {
	if len(arguments) != 2 {
		return says(messages.Text(messages.CommandUsage, mcproto.Plain("/cloud send <player> <server or group>")))
	}
	return c.moveOne(by, arguments[0], arguments[1])
}

func (c *Console) moveOne(by Asker, who, to string) Reply {
	return c.move(by, &agentv1alpha1.MovePlayers{Who: &agentv1alpha1.MovePlayers_Player{Player: &agentv1alpha1.Player{Name: who}}, To: to})
}

func (c *Console) move(by Asker, wish *agentv1alpha1.MovePlayers) Reply {
	ask := &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_MovePlayers{MovePlayers: wish}}
	return c.put(by, ask, func(answer *agentv1alpha1.CloudAnswer) []mcproto.Text {
		if answer.GetMoved() == 0 && answer.GetStayed() == 0 {
			return []mcproto.Text{mcproto.Plain(sentence(answer.GetDetail()))}
		}
		lines := []mcproto.Text{messages.Text(messages.CommandSent, number(int(answer.GetMoved())), mcproto.Plain(wish.GetTo()))}
		if answer.GetStayed() > 0 {
			lines = append(lines, messages.Text(messages.CommandStayed, number(int(answer.GetStayed())), mcproto.Plain(answer.GetDetail())))
		}
		return lines
	})
}

func (c *Console) suggestCloudSend(before []string) []string {
	switch len(before) {
	case 0:
		return c.asks.Names()
	case 1:
		return c.destinations(func(string) bool { return true })
	}
	return nil
}

func (c *Console) suggestSend(_ permissions.Player, before []string) []string {
	names := c.suggestCloudSend(before)
	if len(before) == 0 {
		names = append(names, currentPlayers, allPlayers)
	}
	return names
}

// put asks the manager, and says what it answers; what was done, in the words of
// the command.
func (c *Console) put(by Asker, ask *agentv1alpha1.CloudAsk, done func(*agentv1alpha1.CloudAnswer) []mcproto.Text) Reply {
	return Reply{Later: func(ctx context.Context) []mcproto.Text {
		answer, err := c.asks.Ask(ctx, by.Identity(), ask)
		switch {
		case err != nil:
			return []mcproto.Text{unasked(err)}
		case answer.GetVerdict() == agentv1alpha1.Verdict_VERDICT_DONE:
			return done(answer)
		}
		line := mcproto.Plain(sentence(answer.GetDetail()))
		line.Color = refusedColor
		return []mcproto.Text{line}
	}}
}
