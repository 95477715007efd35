// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"net"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		directory.Groups = append(directory.Groups, groupOf(group))
	}
	for _, server := range seen.servers {
		if ptr.Deref(server.Status.WasRegistered, false) && server.Status.Address != "" {
			directory.Servers = append(directory.Servers, entryOf(server, groups[server.Spec.GroupRef.Name]))
		}
	}
	directory.Players = seen.players
	return directory
}

// groupOf describes one group.
func groupOf(group *v1alpha1.ServerGroup) *agentv1alpha1.DirectoryGroup {
	is := &agentv1alpha1.DirectoryGroup{
		Name: group.Name, DisplayName: cmp.Or(group.Spec.DisplayName, group.Name),
		JoinPermission: joinPermissionOf(group), Type: string(group.Spec.Type),
		Boosted: ptr.Deref(group.Status.BoostedReplicas, 0), Pinned: group.Status.PinnedReplicas, Trouble: troubleOf(group),
	}
	if group.Spec.Type == v1alpha1.GroupPersistent {
		is.MinServers = ptr.Deref(group.Spec.Replicas, 0)
		is.MaxServers = is.MinServers
	} else {
		is.MinServers, is.MaxServers = ptr.Deref(group.Spec.Scaling.MinReplicas, 0), group.Spec.Scaling.MaxReplicas
	}
	if until := group.Status.PinnedUntil; until != nil {
		is.PinnedUntil = timestamppb.New(until.Time)
	}
	return is
}

// longestTrouble bounds what a chat line shows of a condition, in characters.
const longestTrouble = 300

func shortened(words string) string {
	if characters := []rune(words); len(characters) > longestTrouble {
		return string(characters[:longestTrouble]) + "…"
	}
	return words
}

// troubleOf is why a group does not have the servers that it should.
func troubleOf(group *v1alpha1.ServerGroup) string {
	for _, kind := range []string{v1alpha1.ConditionDegraded, v1alpha1.ConditionBackingOff, v1alpha1.ConditionScalingLimited} {
		if condition := apimeta.FindStatusCondition(group.Status.Conditions, kind); condition != nil && condition.Status == metav1.ConditionTrue {
			return shortened(condition.Message)
		}
	}
	return ""
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
