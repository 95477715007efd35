// SPDX-License-Identifier: Apache-2.0

// Package grants answers what a player may do on this network, from the grants
// that the manager sent last.
package grants

import (
	"sync"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// Nodes of permissions.
const (
	// CloudRead lets a player look at groups and servers.
	CloudRead = "spawnery.cloud.read"
	// CloudScale lets a player set for a while how many servers a group has,
	// CloudRetire retire servers, CloudSend send players elsewhere, and
	// CloudEvents be told what happens.
	CloudScale  = "spawnery.cloud.scale"
	CloudRetire = "spawnery.cloud.retire"
	CloudSend   = "spawnery.cloud.send"
	CloudEvents = "spawnery.cloud.events"
	// Command, followed by its name, lets a player use a command of the proxy;
	// VelocityCommand says the same of grants that were written for Velocity.
	Command, VelocityCommand = "spawnery.command.", "velocity.command."
	// JoinFull, followed by a group's name, lets a player join full rounds.
	JoinFull = "spawnery.join.full."
	// JoinLimit lets a player in while the network is full.
	JoinLimit = "spawnery.join.limit"
)

// Book holds the grants in force. Its methods may be called from any
// goroutine.
type Book struct {
	store *directory.Store
	log   logr.Logger

	mu    sync.Mutex
	from  *agentv1alpha1.ProxySettings // what rules were made of
	rules *permissions.Rules
}

// NewBook reads grants from the settings in store. What they say that has no
// effect is logged.
func NewBook(store *directory.Store, log logr.Logger) *Book {
	return &Book{store: store, log: log, rules: permissions.New(nil)}
}

// Holds reports whether the player was granted the node; nothing said of it is
// a no.
func (b *Book) Holds(who permissions.Player, node string) bool {
	return b.Check(who, node) == permissions.Granted
}

// Check is what the grants say about a node.
func (b *Book) Check(who permissions.Player, node string) permissions.Answer {
	return b.current().Check(who, node)
}

// Privilege is what the player's grants add to joining a group.
func (b *Book) Privilege(who permissions.Player, group string) routing.Privilege {
	if b.Holds(who, JoinFull+group) {
		return routing.JoinsFull
	}
	return routing.Ordinary
}

// MayJoin reports whether the player may be sent to a group. What is not known
// of them is a no where the group requires its permission, and else a yes.
func (b *Book) MayJoin(who permissions.Player, group string) bool {
	needed := b.store.View().Group(group).GetJoinPermission()
	switch needed.GetMode() {
	case agentv1alpha1.JoinMode_JOIN_MODE_UNSPECIFIED:
		return true
	case agentv1alpha1.JoinMode_JOIN_MODE_DENY_ONLY:
		return b.current().Check(who, needed.GetNode()) != permissions.Denied
	case agentv1alpha1.JoinMode_JOIN_MODE_REQUIRED:
	}
	return b.Holds(who, needed.GetNode())
}

// current makes the rules anew when the settings have changed.
func (b *Book) current() *permissions.Rules {
	settings := b.store.View().Settings
	b.mu.Lock()
	defer b.mu.Unlock()
	if settings == b.from {
		return b.rules
	}
	entries := make([]permissions.Entry, 0, len(settings.GetPermissions()))
	for _, group := range settings.GetPermissions() {
		entries = append(entries, permissions.Entry{
			Name: group.GetName(), TrustOfflineNames: group.GetTrustOfflineNames(),
			Players: group.GetPlayers(), Permissions: group.GetPermissions(), Inherits: group.GetInherits(),
		})
	}
	before := b.rules.Warnings()
	b.from, b.rules = settings, permissions.New(entries)
	if len(before) != len(b.rules.Warnings()) {
		for _, warning := range b.rules.Warnings() {
			b.log.Info("a grant has no effect", "why", warning)
		}
	}
	return b.rules
}
