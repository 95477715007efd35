// SPDX-License-Identifier: Apache-2.0

package placing

import (
	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// rank puts the request to the routing rules, with the best knowledge there is
// of every server.
func (f *Finder) rank(view *directory.View, r Request) routing.Ranking {
	request := routing.Request{Claim: r.Claim, Strategy: r.strategy, Exclude: r.Exclude}
	if r.Claim == routing.ByName {
		if server := view.Server(r.Server); server != nil && reachable(server) {
			request.Groups = []routing.Group{{Name: server.GetGroup(), Servers: []routing.Server{f.describe(server)}}}
		}
		return routing.Rank(request)
	}
	for _, name := range r.Groups {
		group := routing.Group{Name: name, Privilege: r.privilege(name)}
		for _, server := range view.Servers(name) {
			if reachable(server) {
				group.Servers = append(group.Servers, f.describe(server))
			}
		}
		request.Groups = append(request.Groups, group)
	}
	return routing.Rank(request)
}

// strategyOf is the one in force. A proxy that does not know it spreads.
func strategyOf(view *directory.View) routing.Strategy {
	if view.Settings.GetStrategy() == agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_FILL {
		return routing.Fill
	}
	return routing.Spread
}

// reachable leaves out servers that nobody new may come to, not even by name,
// and those without an agent to ask.
func reachable(s *agentv1alpha1.DirectoryServer) bool {
	switch s.GetDoor() {
	case agentv1alpha1.DoorState_DOOR_STATE_OPEN, agentv1alpha1.DoorState_DOOR_STATE_BY_NAME:
		return s.GetSeatAddress() != ""
	case agentv1alpha1.DoorState_DOOR_STATE_CLOSED, agentv1alpha1.DoorState_DOOR_STATE_MOVING,
		agentv1alpha1.DoorState_DOOR_STATE_UNSPECIFIED:
	}
	return false
}

func (f *Finder) describe(s *agentv1alpha1.DirectoryServer) routing.Server {
	described := routing.Server{
		Name:    s.GetName(),
		Seats:   fleet.Seats{Slots: int(s.GetSlots()), Playable: int(s.GetPlayableSlots())},
		Players: f.estimates.players(s),
		Counts:  fleet.CountsFresh,
	}
	if s.Players == nil {
		described.Counts = fleet.CountsUnknown
	}
	if s.GetDoor() == agentv1alpha1.DoorState_DOOR_STATE_BY_NAME {
		described.Door = fleet.DoorClosed
	}
	return described
}
