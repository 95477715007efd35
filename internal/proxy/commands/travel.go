// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"slices"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/grants"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// Names that a proxy takes unless its owner leaves them to the servers.
const (
	serverCommand = "server"
	glistCommand  = "glist"
	sendCommand   = "send"
	hubCommand    = "hub"
	lobbyCommand  = "lobby"
)

// mostListed bounds the servers of one group in a list of places to go.
const mostListed = 30

// travel are the commands by which players move about.
func (c *Console) travel() []command {
	everybody := func(permissions.Player) bool { return true }
	nothing := func(permissions.Player, []string) []string { return nil }
	return []command{
		{serverCommand, c.mayServer, c.server, c.suggestServer},
		{sendCommand, func(who permissions.Player) bool { return c.mayUse(who, sendCommand) }, c.send, c.suggestSend},
		{glistCommand, func(who permissions.Player) bool { return c.mayUse(who, glistCommand) }, c.glist, c.suggestGlist},
		{hubCommand, everybody, c.home, nothing},
		{lobbyCommand, everybody, c.home, nothing},
	}
}

// said is what is known of a player and a command. Grants written for another
// proxy hold where nothing is said by our name.
func (c *Console) said(who permissions.Player, name string) permissions.Answer {
	if answer := c.grants.Check(who, grants.Command+name); answer != permissions.Unknown {
		return answer
	}
	return c.grants.Check(who, grants.VelocityCommand+name)
}

func (c *Console) mayUse(who permissions.Player, name string) bool {
	return c.said(who, name) == permissions.Granted
}

// mayServer: players move about by it, so it is there unless it is denied.
func (c *Console) mayServer(who permissions.Player) bool {
	return c.said(who, serverCommand) != permissions.Denied
}

// server lists where the player may go, or takes them there.
func (c *Console) server(by Asker, arguments []string) Reply {
	if len(arguments) == 0 {
		return says(c.places(by)...)
	}
	return moves(by, Target{Place: arguments[0]})
}

// moves sends the player. Whoever arrives sees where they are.
func moves(by Asker, to Target) Reply {
	return Reply{Later: func(ctx context.Context) []mcproto.Text {
		if why := by.Send(ctx, to); why != nil {
			return []mcproto.Text{*why}
		}
		return nil
	}}
}

// home takes the player to the first of the fallback groups that has a seat,
// but from none of them to a later one.
func (c *Console) home(by Asker, _ []string) Reply {
	view := c.store.View()
	here := view.Server(by.Server()).GetGroup()
	var groups []string
	for _, group := range view.Settings.GetFallbackGroups() {
		if group == here {
			break
		}
		if view.HasGroup(group) && c.grants.MayJoin(by.Identity(), group) {
			groups = append(groups, group)
		}
	}
	switch {
	case len(groups) > 0:
		return moves(by, Target{Groups: groups})
	case slices.Contains(view.Settings.GetFallbackGroups(), here):
		return says(messages.Text(messages.JoinHere, mcproto.Plain(view.DisplayName(here))))
	}
	return says(messages.Text(messages.JoinNone))
}

// places are the servers that the player may go to, by their groups.
func (c *Console) places(by Asker) []mcproto.Text {
	view := c.store.View()
	lines := []mcproto.Text{messages.Text(messages.CommandServerNowhere)}
	if at := by.Server(); at != "" {
		lines[0] = messages.Text(messages.CommandServerHere, mcproto.Plain(at))
	}
	for _, group := range view.Groups() {
		servers := slices.DeleteFunc(view.Servers(group.GetName()), func(s *agentv1alpha1.DirectoryServer) bool { return !open(s) })
		if len(servers) > 0 && c.grants.MayJoin(by.Identity(), group.GetName()) {
			lines = append(lines, listPlaces(view, group, servers))
		}
	}
	return lines
}

// open is true for a server that a player may name.
func open(s *agentv1alpha1.DirectoryServer) bool {
	return s.GetDoor() == agentv1alpha1.DoorState_DOOR_STATE_OPEN || s.GetDoor() == agentv1alpha1.DoorState_DOOR_STATE_BY_NAME
}

func listPlaces(view *directory.View, group *agentv1alpha1.DirectoryGroup, servers []*agentv1alpha1.DirectoryServer) mcproto.Text {
	name := place(group.GetName(), messages.Text(messages.CommandServerJoin, mcproto.Plain(view.DisplayName(group.GetName()))))
	name.Color = groupColor
	var list mcproto.Text
	for i, s := range servers {
		if i == mostListed {
			list.Extra = append(list.Extra, messages.Text(messages.CommandServerMore, number(len(servers)-i)))
			break
		}
		if i > 0 {
			list.Extra = append(list.Extra, mcproto.Plain(" "))
		}
		list.Extra = append(list.Extra, place(s.GetName(), listServer(s)))
	}
	return messages.Text(messages.CommandServerGroup, name, list)
}

// place is a name that leads there.
func place(name string, hover mcproto.Text) mcproto.Text {
	return mcproto.Text{
		Text: name, Hover: &hover,
		Click: mcproto.Click{Action: mcproto.RunCommand, Value: "/" + serverCommand + " " + name},
	}
}

func (c *Console) suggestServer(who permissions.Player, before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return c.destinations(func(group string) bool { return c.grants.MayJoin(who, group) })
}

// destinations are the names of groups that fit and of their open servers.
func (c *Console) destinations(fits func(group string) bool) []string {
	view := c.store.View()
	var names []string
	for _, group := range view.Groups() {
		if !fits(group.GetName()) {
			continue
		}
		names = append(names, group.GetName())
		for _, s := range view.Servers(group.GetName()) {
			if open(s) {
				names = append(names, s.GetName())
			}
		}
	}
	return names
}
