// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"sync"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/grants"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// mostHappenings bounds what is told at once; of more only the number is told.
const mostHappenings = 10

const usageEvents = "/cloud events on|off"

// feed is who wants to be told what happens, by UUID.
type feed struct {
	mu     sync.Mutex
	wanted map[string]bool
}

// events begins or ends to tell a player what happens.
func (c *Console) events(by Asker, arguments []string) Reply {
	if len(arguments) != 1 || arguments[0] != "on" && arguments[0] != "off" {
		return usage(usageEvents)
	}
	c.feed.mu.Lock()
	defer c.feed.mu.Unlock()
	if arguments[0] == "off" {
		delete(c.feed.wanted, by.Identity().UUID)
		return says(messages.Text(messages.CommandEventsOff))
	}
	if c.feed.wanted == nil {
		c.feed.wanted = map[string]bool{}
	}
	c.feed.wanted[by.Identity().UUID] = true
	return says(messages.Text(messages.CommandEventsOn, clickable("/cloud events off")))
}

// Wants reports whether a player is to be told what happens: they have asked for
// it, and may.
func (c *Console) Wants(who permissions.Player) bool {
	c.feed.mu.Lock()
	wanted := c.feed.wanted[who.UUID]
	c.feed.mu.Unlock()
	return wanted && c.holds(who, grants.CloudEvents)
}

// Happenings are what has happened between two views of the network, in words.
func Happenings(before, after *directory.View) []mcproto.Text {
	if !before.Complete() || !after.Complete() {
		return nil
	}
	var lines []mcproto.Text
	for _, group := range after.Groups() {
		was := before.Group(group.GetName())
		lines = append(lines, serversOf(before, after, group.GetName())...)
		if was != nil {
			lines = append(lines, changesOf(was, group)...)
		}
	}
	if more := len(lines) - mostHappenings; more > 0 {
		lines = append(lines[:mostHappenings], messages.Text(messages.CommandEventsMore, number(more)))
	}
	for i := range lines {
		lines[i].Color = serverColor
	}
	return lines
}

// serversOf tells of the servers of one group that came, changed or went.
func serversOf(before, after *directory.View, group string) []mcproto.Text {
	var lines []mcproto.Text
	for _, is := range after.Servers(group) {
		switch was := before.Server(is.GetName()); {
		case was == nil:
			lines = append(lines, messages.Text(messages.CommandEventNew, place(is.GetName(), listServer(is)), mcproto.Plain(is.GetPhase())))
		case was.GetPhase() != is.GetPhase():
			lines = append(lines, messages.Text(messages.CommandEventPhase,
				place(is.GetName(), listServer(is)), mcproto.Plain(is.GetPhase()), mcproto.Plain(was.GetPhase())))
		}
	}
	for _, was := range before.Servers(group) {
		if after.Server(was.GetName()) == nil {
			lines = append(lines, messages.Text(messages.CommandEventGone, mcproto.Plain(was.GetName())))
		}
	}
	return lines
}

// changesOf tells of boosts and trouble of one group.
func changesOf(was, is *agentv1alpha1.DirectoryGroup) []mcproto.Text {
	name := mcproto.Plain(is.GetName())
	var lines []mcproto.Text
	if was.GetBoosted() != is.GetBoosted() {
		lines = append(lines, messages.Text(messages.CommandEventBoosted, name, number(int(is.GetBoosted())), number(int(was.GetBoosted()))))
	}
	switch {
	case is.Pinned != nil && (was.Pinned == nil || was.GetPinned() != is.GetPinned()):
		lines = append(lines, messages.Text(messages.CommandEventPinned, name, number(int(is.GetPinned()))))
	case is.Pinned == nil && was.Pinned != nil:
		lines = append(lines, messages.Text(messages.CommandEventUnpinned, name, number(int(was.GetPinned()))))
	}
	switch {
	case was.GetTrouble() == is.GetTrouble():
	case is.GetTrouble() == "":
		lines = append(lines, messages.Text(messages.CommandEventWell, name))
	case was.GetTrouble() == "":
		// Words that change while it lasts are in /cloud info.
		lines = append(lines, messages.Text(messages.CommandStatusTrouble, name, mcproto.Plain(sentence(is.GetTrouble()))))
	}
	return lines
}
