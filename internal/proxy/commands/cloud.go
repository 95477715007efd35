// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"slices"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/grants"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const root = "cloud"

// subcommand is one word after /cloud.
type subcommand struct {
	name    string
	node    string // the permission it needs
	help    messages.Key
	run     func(by Asker, arguments []string) Reply
	suggest func(before []string) []string // what may follow its first arguments
}

func (c *Console) subcommands() []subcommand {
	return []subcommand{
		{"list", grants.CloudRead, messages.CommandHelpList, c.list, first(c.groupNames)},
		{"info", grants.CloudRead, messages.CommandHelpInfo, c.info, first(c.groupsAndServers)},
		{"status", grants.CloudRead, messages.CommandHelpStatus, c.status, first(nothing)},
		{"scale", grants.CloudScale, messages.CommandHelpScale, c.scale, c.suggestScale},
		{"start", grants.CloudScale, messages.CommandHelpStart, c.start, c.suggestStart},
		{"stop", grants.CloudScale, messages.CommandHelpStop, c.stop, first(c.groupNames)},
		{"retire", grants.CloudRetire, messages.CommandHelpRetire, c.retire, first(c.serverNames)},
		{"unretire", grants.CloudRetire, messages.CommandHelpUnretire, c.unretire, first(c.serverNames)},
		{"send", grants.CloudSend, messages.CommandHelpSend, c.cloudSend, c.suggestCloudSend},
		{"events", grants.CloudEvents, messages.CommandHelpEvents, c.events, first(func() []string { return []string{"on", "off"} })},
	}
}

func nothing() []string { return nil }

// first suggests for the first argument alone.
func first(names func() []string) func([]string) []string {
	return func(before []string) []string {
		if len(before) > 0 {
			return nil
		}
		return names()
	}
}

func (c *Console) allowed(who permissions.Player) []subcommand {
	var list []subcommand
	for _, sub := range c.cloud {
		if c.holds(who, sub.node) {
			list = append(list, sub)
		}
	}
	return list
}

func (c *Console) runCloud(by Asker, words []string) Reply {
	if len(words) == 0 || words[0] == "help" {
		return says(help(c.allowed(by.Identity()))...)
	}
	i := slices.IndexFunc(c.cloud, func(sub subcommand) bool { return sub.name == words[0] })
	if i < 0 {
		return says(messages.Text(messages.CommandUnknown, mcproto.Plain(words[0])))
	}
	if !c.holds(by.Identity(), c.cloud[i].node) {
		return says(messages.Text(messages.CommandDenied, mcproto.Plain(c.cloud[i].node)))
	}
	return c.cloud[i].run(by, words[1:])
}

func help(allowed []subcommand) []mcproto.Text {
	lines := []mcproto.Text{messages.Text(messages.CommandHelp)}
	for _, sub := range allowed {
		line := messages.Text(sub.help)
		line.Click = mcproto.Click{Action: mcproto.SuggestCommand, Value: "/" + root + " " + sub.name}
		lines = append(lines, line)
	}
	return lines
}

func (c *Console) suggestCloud(who permissions.Player, before []string) []string {
	allowed := c.allowed(who)
	if len(before) == 0 {
		names := []string{"help"}
		for _, sub := range allowed {
			names = append(names, sub.name)
		}
		return names
	}
	i := slices.IndexFunc(allowed, func(sub subcommand) bool { return sub.name == before[0] })
	if i < 0 {
		return nil
	}
	return allowed[i].suggest(before[1:])
}

func (c *Console) groupsAndServers() []string { return append(c.groupNames(), c.serverNames()...) }

func (c *Console) serverNames() []string {
	var names []string
	for _, group := range c.store.View().Groups() {
		for _, server := range c.store.View().Servers(group.GetName()) {
			names = append(names, server.GetName())
		}
	}
	return names
}

func (c *Console) groupNames() []string {
	var names []string
	for _, group := range c.store.View().Groups() {
		names = append(names, group.GetName())
	}
	return names
}
