// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"cmp"
	"slices"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
)

// candidate is a server that may have a seat.
type candidate struct {
	server  *agentv1alpha1.DirectoryServer
	players int
	free    int // playable seats; negative when more are playing
}

// choice is the servers worth asking, the best first, or why there is none.
type choice struct {
	ranked []candidate
	lack   Lack
}

// candidates ranks a group's servers for a player who did not name one.
func (f *Finder) candidates(view *directory.View, r Request, group string) choice {
	found := choice{lack: LackServers}
	for _, server := range view.Servers(group) {
		if !r.Claim.open(server.GetDoor()) || r.avoids(server.GetName()) || server.GetSeatAddress() == "" {
			continue
		}
		found.lack = LackSeats
		players := f.estimates.players(server)
		limit := int(server.GetPlayableSlots())
		if r.Claim == ClaimNeed || r.bypasses(group) {
			limit = int(server.GetSlots())
		}
		if players >= limit {
			continue
		}
		found.ranked = append(found.ranked, candidate{server: server, players: players, free: int(server.GetPlayableSlots()) - players})
	}
	// A server whose counts are unknown most likely refuses, so it comes last;
	// one without a free playable seat is for those who need any.
	slices.SortStableFunc(found.ranked, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.players, b.players),
		)
	})
	return found
}

func rank(c candidate) int {
	switch {
	case c.server.Players == nil:
		return 2
	case c.free <= 0:
		return 1
	}
	return 0
}
