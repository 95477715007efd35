// SPDX-License-Identifier: Apache-2.0

// Package commands answers what players type at the proxy: /cloud.
package commands

import (
	"slices"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/grants"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const root = "cloud"

// Grants answers whether a player holds a permission.
type Grants interface {
	Holds(who permissions.Player, node string) bool
}

// Console answers commands from the network's directory.
type Console struct {
	store  *directory.Store
	grants Grants
	tree   []subcommand
}

// subcommand is one word after /cloud.
type subcommand struct {
	name    string
	node    string // the permission it needs
	help    messages.Key
	run     func(arguments []string) []mcproto.Text
	suggest func() []string // its first argument
}

// NewConsole answers those who hold the permissions.
func NewConsole(store *directory.Store, book Grants) *Console {
	c := &Console{store: store, grants: book}
	c.tree = []subcommand{
		{name: "list", node: grants.CloudRead, help: messages.CommandHelpList, run: c.list, suggest: c.groupNames},
	}
	return c
}

// Literals are the names the proxy takes from this player. Somebody who may
// use nothing sees nothing, and the name is left to the servers.
func (c *Console) Literals(who permissions.Player) []string {
	if len(c.allowed(who)) == 0 {
		return nil
	}
	return []string{root}
}

func (c *Console) allowed(who permissions.Player) []subcommand {
	var list []subcommand
	for _, sub := range c.tree {
		if c.grants.Holds(who, sub.node) {
			list = append(list, sub)
		}
	}
	return list
}

// Run answers a command line without its slash; false: it is not ours.
func (c *Console) Run(who permissions.Player, line string) ([]mcproto.Text, bool) {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != root {
		return nil, false
	}
	allowed := c.allowed(who)
	if len(allowed) == 0 {
		return nil, false
	}
	if len(words) == 1 || words[1] == "help" {
		return help(allowed), true
	}
	i := slices.IndexFunc(c.tree, func(sub subcommand) bool { return sub.name == words[1] })
	if i < 0 {
		return []mcproto.Text{messages.Text(messages.CommandUnknown, mcproto.Plain(words[1]))}, true
	}
	if !c.grants.Holds(who, c.tree[i].node) {
		return []mcproto.Text{messages.Text(messages.CommandDenied, mcproto.Plain(c.tree[i].node))}, true
	}
	return c.tree[i].run(words[2:]), true
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

// Suggest completes the last word of a command line with its slash; false: the
// line is not ours.
func (c *Console) Suggest(who permissions.Player, line string) ([]string, bool) {
	rest, ours := strings.CutPrefix(line, "/"+root+" ")
	allowed := c.allowed(who)
	if !ours || len(allowed) == 0 {
		return nil, false
	}
	name, argument, deeper := strings.Cut(rest, " ")
	if !deeper {
		names := []string{"help"}
		for _, sub := range allowed {
			names = append(names, sub.name)
		}
		return beginningWith(names, name), true
	}
	i := slices.IndexFunc(allowed, func(sub subcommand) bool { return sub.name == name })
	if i < 0 || strings.Contains(argument, " ") {
		return nil, true
	}
	return beginningWith(allowed[i].suggest(), argument), true
}

func beginningWith(words []string, prefix string) []string {
	matches := slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, prefix) })
	slices.Sort(matches)
	return matches
}

func (c *Console) groupNames() []string {
	var names []string
	for _, group := range c.store.View().Groups() {
		names = append(names, group.GetName())
	}
	return names
}
