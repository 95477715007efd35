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
		{name: "list", node: grants.CloudRead, help: messages.CommandHelpList, run: c.list, suggest: first(c.groupNames)},
	}
}

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

func (c *Console) groupNames() []string {
	var names []string
	for _, group := range c.store.View().Groups() {
		names = append(names, group.GetName())
	}
	return names
}
