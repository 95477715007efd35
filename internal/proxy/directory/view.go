// SPDX-License-Identifier: Apache-2.0

// Package directory holds what the manager told this proxy about the network:
// its settings and its servers, also while no manager answers and after a
// restart.
package directory

import (
	"cmp"
	"maps"
	"slices"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// View is the network at one moment. It and everything in it are shared and
// never changed.
type View struct {
	// Settings of this proxy; nil before any were received.
	Settings *agentv1alpha1.ProxySettings
	// NetworkPlayers is everybody on the network, as the manager last knew.
	NetworkPlayers int

	revision uint64 // 0 until this process received a full list
	complete bool
	servers  map[string]*agentv1alpha1.DirectoryServer
	groups   []*agentv1alpha1.DirectoryGroup
}

// Complete reports whether a whole server list and settings are held.
func (v *View) Complete() bool { return v.complete && v.Settings != nil }

// Server finds a server by name; nil when there is none.
func (v *View) Server(name string) *agentv1alpha1.DirectoryServer { return v.servers[name] }

// Servers lists the servers of a group by name.
func (v *View) Servers(group string) []*agentv1alpha1.DirectoryServer {
	var list []*agentv1alpha1.DirectoryServer
	for _, s := range v.servers {
		if s.GetGroup() == group {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *agentv1alpha1.DirectoryServer) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return list
}

// All lists every server by name.
func (v *View) All() []*agentv1alpha1.DirectoryServer {
	return slices.SortedFunc(maps.Values(v.servers), func(a, b *agentv1alpha1.DirectoryServer) int { return cmp.Compare(a.GetName(), b.GetName()) })
}

// Moving lists the servers whose players are to be moved away, by name.
func (v *View) Moving() []*agentv1alpha1.DirectoryServer {
	var list []*agentv1alpha1.DirectoryServer
	for _, s := range v.servers {
		if s.GetDoor() == agentv1alpha1.DoorState_DOOR_STATE_MOVING {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *agentv1alpha1.DirectoryServer) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return list
}

// Groups lists the groups by name.
func (v *View) Groups() []*agentv1alpha1.DirectoryGroup { return v.groups }

// Group finds a group by name; nil when there is none.
func (v *View) Group(name string) *agentv1alpha1.DirectoryGroup {
	for _, g := range v.groups {
		if g.GetName() == name {
			return g
		}
	}
	return nil
}

// HasGroup reports whether there is such a group.
func (v *View) HasGroup(name string) bool { return v.Group(name) != nil }

// DisplayName is what players read instead of the group's name.
func (v *View) DisplayName(group string) string {
	return cmp.Or(v.Group(group).GetDisplayName(), group)
}

// directory is the view's server list as the manager would send it.
func (v *View) directory() *agentv1alpha1.Directory {
	d := &agentv1alpha1.Directory{Revision: v.revision, Full: true, NetworkPlayers: int32(v.NetworkPlayers), Groups: v.groups}
	for _, s := range v.servers {
		d.Servers = append(d.Servers, s)
	}
	return d
}
