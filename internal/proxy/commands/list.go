// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"strconv"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const (
	groupColor  = "gold"
	serverColor = "gray"
)

// list prints every group, or one, with its servers.
func (c *Console) list(_ Asker, arguments []string) Reply {
	view := c.store.View()
	groups := view.Groups()
	if len(arguments) > 0 {
		if !view.HasGroup(arguments[0]) {
			return says(messages.Text(messages.CommandListNoGroup, mcproto.Plain(arguments[0])))
		}
		groups = []*agentv1alpha1.DirectoryGroup{{Name: arguments[0]}}
	}
	if len(groups) == 0 {
		return says(messages.Text(messages.CommandListEmpty))
	}
	var lines []mcproto.Text
	for _, group := range groups {
		lines = append(lines, listGroup(view, group.GetName())...)
	}
	return says(lines...)
}

func listGroup(view *directory.View, group string) []mcproto.Text {
	servers := view.Servers(group)
	players, free := 0, 0
	var lines []mcproto.Text
	for _, server := range servers {
		players += int(server.GetPlayers())
		free += server.FreeSeats()
		lines = append(lines, listServer(server))
	}
	head := messages.Text(messages.CommandListGroup, mcproto.Plain(group), number(players), number(free), number(len(servers)))
	head.Color = groupColor
	head.Click = mcproto.Click{Action: mcproto.SuggestCommand, Value: "/" + root + " list " + group}
	return append([]mcproto.Text{head}, lines...)
}

func listServer(s *agentv1alpha1.DirectoryServer) mcproto.Text {
	name, phase := mcproto.Plain(s.GetName()), mcproto.Plain(s.GetPhase())
	line := messages.Text(messages.CommandListUnknown, name, number(int(s.GetSlots())), phase)
	if s.Players != nil {
		line = messages.Text(messages.CommandListServer, name, number(int(s.GetPlayers())), number(int(s.GetSlots())), number(s.FreeSeats()), phase)
	}
	line.Color = serverColor
	return line
}

func number(n int) mcproto.Text { return mcproto.Plain(strconv.Itoa(n)) }
