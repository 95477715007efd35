// SPDX-License-Identifier: Apache-2.0

// Package commands answers what players type at the proxy: /cloud, and the
// commands by which they move about the network.
package commands

import (
	"context"
	"errors"
	"slices"
	"strings"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
)

// Grants answers what a player may do.
type Grants interface {
	// Check is what is known of the player and a permission.
	Check(who permissions.Player, node string) permissions.Answer
	// MayJoin reports whether the player may be sent to a group.
	MayJoin(who permissions.Player, group string) bool
}

// Asker is the player who types.
type Asker interface {
	Identity() permissions.Player
	// Server is the one the player is on; empty: none.
	Server() string
	// Send takes the player to a server, or to any server of the first of some
	// groups that has a seat. It returns why they stayed; nil: they did not.
	Send(ctx context.Context, to Target) *mcproto.Text
}

// Manager is whom staff asks for what the proxy cannot do by itself.
type Manager interface {
	// Ask waits for the answer. It fails with ErrNoManager or ErrOldManager when
	// nothing was asked; after any other error it may be done all the same.
	Ask(ctx context.Context, who permissions.Player, ask *agentv1alpha1.CloudAsk) (*agentv1alpha1.CloudAnswer, error)
	// Names are those of players, for completions.
	Names() []string
}

var (
	// ErrNoManager means that no manager can be asked.
	ErrNoManager = errors.New("no manager is connected")
	// ErrOldManager means that the manager is of a version that is asked nothing.
	ErrOldManager = errors.New("the manager takes no such question")
)

// Target is where a player wants to be.
type Target struct {
	// Place is a server or a group.
	Place string
	// Groups are tried in order. Unused with a Place.
	Groups []string
}

// Reply is what a command line comes to.
type Reply struct {
	// Lines are told at once.
	Lines []mcproto.Text
	// Later does what takes a while, and returns what is told then; nil: there
	// is nothing to wait for.
	Later func(ctx context.Context) []mcproto.Text
}

func says(lines ...mcproto.Text) Reply { return Reply{Lines: lines} }

// Console answers commands from the network's directory.
type Console struct {
	store  *directory.Store
	grants Grants
	asks   Manager
	cloud  []subcommand
	own    []command
	feed   feed
}

// command is a name that the proxy takes at the root.
type command struct {
	name string
	// may reports whether a player may use it; who may not is left to the servers.
	may     func(who permissions.Player) bool
	run     func(by Asker, arguments []string) Reply
	suggest func(who permissions.Player, before []string) []string
}

// NewConsole answers those who hold the permissions.
func NewConsole(store *directory.Store, book Grants, manager Manager) *Console {
	c := &Console{store: store, grants: book, asks: manager}
	c.cloud = c.subcommands()
	c.own = append([]command{{
		name: root, may: func(who permissions.Player) bool { return len(c.allowed(who)) > 0 },
		run: c.runCloud, suggest: c.suggestCloud,
	}}, c.travel()...)
	return c
}

// defaultCommands are the names that a proxy takes of which nobody says so.
var defaultCommands = []string{serverCommand, sendCommand, glistCommand, hubCommand, lobbyCommand}

// taken reports whether the proxy takes the name, by its owner's choice: the
// others belong to the servers.
func (c *Console) taken(name string) bool {
	if name == root {
		return true
	}
	return slices.Contains(takenOf(c.store.View().Settings), name)
}

func takenOf(settings *agentv1alpha1.ProxySettings) []string {
	if chosen := settings.GetCommands(); chosen != nil {
		return chosen.GetNames()
	}
	return defaultCommands
}

// find returns a command that the player may use.
func (c *Console) find(who permissions.Player, name string) (command, bool) {
	i := slices.IndexFunc(c.own, func(known command) bool { return known.name == name })
	if i < 0 || !c.taken(name) || !c.own[i].may(who) {
		return command{}, false
	}
	return c.own[i], true
}

// Literals are the names the proxy takes from this player. What they may not
// use they do not see, and the name is left to the servers.
func (c *Console) Literals(who permissions.Player) []string {
	var names []string
	for _, known := range c.own {
		if _, may := c.find(who, known.name); may {
			names = append(names, known.name)
		}
	}
	return names
}

// Run answers a command line without its slash; false: it is not ours.
func (c *Console) Run(by Asker, line string) (Reply, bool) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Reply{}, false
	}
	known, ours := c.find(by.Identity(), words[0])
	if !ours {
		return Reply{}, false
	}
	return known.run(by, words[1:]), true
}

// Suggest completes the last word of a command line with its slash; false: the
// line is not ours.
func (c *Console) Suggest(who permissions.Player, line string) ([]string, bool) {
	rest, slash := strings.CutPrefix(line, "/")
	name, arguments, spaced := strings.Cut(rest, " ")
	if !slash || !spaced {
		return nil, false
	}
	known, ours := c.find(who, name)
	if !ours {
		return nil, false
	}
	words := strings.Split(arguments, " ")
	last := len(words) - 1
	return beginningWith(known.suggest(who, words[:last]), words[last]), true
}

func beginningWith(words []string, prefix string) []string {
	matches := slices.DeleteFunc(words, func(word string) bool {
		return len(word) < len(prefix) || !strings.EqualFold(word[:len(prefix)], prefix)
	})
	slices.Sort(matches)
	return slices.Compact(matches)
}

// holds reports whether the player was granted the node; nothing said of it is
// a no.
func (c *Console) holds(who permissions.Player, node string) bool {
	return c.grants.Check(who, node) == permissions.Granted
}
