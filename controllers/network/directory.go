// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"net"
	"strconv"

	"k8s.io/utils/ptr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/seats"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// directoryOf lists the servers the proxies are told of. It follows from what
// is persisted in each Server's status, so that a restarted manager tells the
// same; a server that was never registered is in no list.
func directoryOf(seen observation) sessions.Directory {
	groups := map[string]*v1alpha1.ServerGroup{}
	var directory sessions.Directory
	for i := range seen.serverGroups {
		group := &seen.serverGroups[i]
		groups[group.Name] = group
		directory.Groups = append(directory.Groups, &agentv1alpha1.DirectoryGroup{
			Name: group.Name, DisplayName: cmp.Or(group.Spec.DisplayName, group.Name),
			JoinPermission: joinPermissionOf(group),
		})
	}
	for _, server := range seen.servers {
		if ptr.Deref(server.Status.WasRegistered, false) && server.Status.Address != "" {
			directory.Servers = append(directory.Servers, entryOf(server, groups[server.Spec.GroupRef.Name]))
		}
	}
	directory.Players = seen.players
	return directory
}

// joinPermissionOf is nil where everybody may join.
func joinPermissionOf(group *v1alpha1.ServerGroup) *agentv1alpha1.JoinPermission {
	wanted := group.Spec.JoinPermission
	permission := &agentv1alpha1.JoinPermission{Node: cmp.Or(wanted.Node, "spawnery.join."+group.Name)}
	switch wanted.Mode {
	case v1alpha1.JoinRequired:
		permission.Mode = agentv1alpha1.JoinMode_JOIN_MODE_REQUIRED
	case v1alpha1.JoinDenyOnly:
		permission.Mode = agentv1alpha1.JoinMode_JOIN_MODE_DENY_ONLY
	default:
		return nil
	}
	return permission
}

// entryOf describes one server; group is nil when it is gone.
func entryOf(server seenServer, group *v1alpha1.ServerGroup) *agentv1alpha1.DirectoryServer {
	entry := &agentv1alpha1.DirectoryServer{
		Name:        server.Name,
		Group:       server.Spec.GroupRef.Name,
		Address:     server.Status.Address,
		SeatAddress: seatAddress(server.Status.Address),
		Door:        sighting.DoorOf(&server.Status),
		Phase:       string(server.Status.Phase),
		Forwarding:  true,
	}
	figures := fleet.Figures{Slots: int(ptr.Deref(server.Status.Slots, 0))}
	if group != nil {
		figures.Group = int(group.Spec.PlayableSlots)
		figures.Slots = cmp.Or(figures.Slots, int(group.Spec.MaxPlayers))
		entry.Forwarding = group.Spec.Server.Forwarding != v1alpha1.ForwardingNone
	}
	figures.Plugin = int(ptr.Deref(server.Status.PlayableSlots, 0))
	seats := fleet.NewSeats(figures)
	entry.Slots, entry.PlayableSlots = int32(seats.Slots), int32(seats.Playable)
	if server.said.Freshness == sessions.Fresh {
		entry.Players = new(int32(sighting.Players(server.said, server.there)))
	}
	return entry
}

// seatAddress is where the agent beside a game answers for seats.
func seatAddress(game string) string {
	host, _, err := net.SplitHostPort(game)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(seats.Port))
}
