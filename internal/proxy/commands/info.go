// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const usageInfo = "/cloud info <group or server>"

// info tells all of one group or server.
func (c *Console) info(_ Asker, arguments []string) Reply {
	if len(arguments) != 1 {
		return usage(usageInfo)
	}
	view, name := c.store.View(), arguments[0]
	if server := view.Server(name); server != nil {
		return says(infoServer(server)...)
	}
	if group := view.Group(name); group != nil {
		return says(append(infoGroup(view, group), messages.Text(messages.CommandGrants))...)
	}
	return says(messages.Text(messages.JoinUnknown, mcproto.Plain(name)))
}

func infoServer(s *agentv1alpha1.DirectoryServer) []mcproto.Text {
	of := clickable("/cloud info " + s.GetGroup())
	of.Text = s.GetGroup()
	head := listServer(s)
	head.Color = groupColor
	return []mcproto.Text{head, messages.Text(messages.CommandInfoServer, of, messages.Text(doorKey(s.GetDoor())))}
}

func doorKey(door agentv1alpha1.DoorState) messages.Key {
	switch door {
	case agentv1alpha1.DoorState_DOOR_STATE_OPEN:
		return messages.CommandDoorOpen
	case agentv1alpha1.DoorState_DOOR_STATE_BY_NAME:
		return messages.CommandDoorByName
	case agentv1alpha1.DoorState_DOOR_STATE_MOVING:
		return messages.CommandDoorMoving
	case agentv1alpha1.DoorState_DOOR_STATE_CLOSED, agentv1alpha1.DoorState_DOOR_STATE_UNSPECIFIED:
	}
	return messages.CommandDoorClosed
}

func infoGroup(view *directory.View, group *agentv1alpha1.DirectoryGroup) []mcproto.Text {
	lines := listGroup(view, group.GetName())[:1]
	if group.GetType() != "" {
		lines = append(lines, messages.Text(messages.CommandInfoGroup, mcproto.Plain(view.DisplayName(group.GetName())),
			mcproto.Plain(strings.ToLower(group.GetType())), mcproto.Plain(bounds(group))))
	}
	if group.Pinned != nil {
		until := messages.Text(messages.CommandInfoForever)
		if ends := group.GetPinnedUntil(); ends != nil {
			until = instant(ends.AsTime())
		}
		lines = append(lines, messages.Text(messages.CommandInfoPinned, number(int(group.GetPinned())), until))
	}
	if group.GetBoosted() > 0 {
		lines = append(lines, messages.Text(messages.CommandInfoBoosted, number(int(group.GetBoosted()))))
	}
	switch join := group.GetJoinPermission(); join.GetMode() {
	case agentv1alpha1.JoinMode_JOIN_MODE_REQUIRED:
		lines = append(lines, messages.Text(messages.CommandInfoRequired, mcproto.Plain(join.GetNode())))
	case agentv1alpha1.JoinMode_JOIN_MODE_DENY_ONLY:
		lines = append(lines, messages.Text(messages.CommandInfoDenyOnly, mcproto.Plain(join.GetNode())))
	case agentv1alpha1.JoinMode_JOIN_MODE_UNSPECIFIED:
	}
	if trouble := group.GetTrouble(); trouble != "" {
		line := mcproto.Plain("  " + sentence(trouble))
		line.Color = refusedColor
		lines = append(lines, line)
	}
	return lines
}

// bounds are how many servers a group may have.
func bounds(group *agentv1alpha1.DirectoryGroup) string {
	least, most := strconv.Itoa(int(group.GetMinServers())), strconv.Itoa(int(group.GetMaxServers()))
	if least == most {
		return most
	}
	return least + " to " + most
}

// status sums up the network.
func (c *Console) status(Asker, []string) Reply {
	view := c.store.View()
	phases := map[string]int{}
	servers, free := 0, 0
	for _, group := range view.Groups() {
		for _, server := range view.Servers(group.GetName()) {
			servers++
			free += server.FreeSeats()
			phases[server.GetPhase()]++
		}
	}
	var parts []string
	for _, phase := range slices.SortedFunc(maps.Keys(phases), func(a, b string) int {
		return cmp.Or(cmp.Compare(phases[b], phases[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, strconv.Itoa(phases[phase])+" "+phase)
	}
	name := mcproto.Plain(view.Settings.GetNetwork())
	name.Color = groupColor
	lines := []mcproto.Text{
		messages.Text(messages.CommandStatus, name, number(view.NetworkPlayers), number(int(view.Settings.GetPlayerLimit())), number(free)),
		messages.Text(messages.CommandStatusServers, number(len(view.Groups())), number(servers), mcproto.Plain(cmp.Or(strings.Join(parts, ", "), "none"))),
	}
	for _, group := range view.Groups() {
		if trouble := group.GetTrouble(); trouble != "" {
			line := messages.Text(messages.CommandStatusTrouble, mcproto.Plain(group.GetName()), mcproto.Plain(sentence(trouble)))
			line.Color = refusedColor
			lines = append(lines, line)
		}
	}
	return says(lines...)
}
