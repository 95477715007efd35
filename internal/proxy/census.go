// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// census counts the players of this proxy for a report.
type census struct {
	report  *agentv1alpha1.ProxyReport
	view    *directory.View
	waiters map[waiter][]string // the names of each
	moving  map[string]*agentv1alpha1.MoveProgress
}

// waiter is what counts as one waiting player.
type waiter struct {
	group string
	// from is the address where names are believed, so that a flood of names
	// from one address orders no servers; else it is not set.
	from netip.Prefix
	// name is the player's where they are authenticated.
	name string
}

func newCensus(view *directory.View) *census {
	c := &census{
		report: &agentv1alpha1.ProxyReport{}, view: view,
		waiters: map[waiter][]string{}, moving: map[string]*agentv1alpha1.MoveProgress{},
	}
	for _, server := range view.Moving() {
		c.moving[server.GetName()] = &agentv1alpha1.MoveProgress{Server: server.GetName()}
	}
	return c
}

func (c *census) count(who mcproto.Profile, from netip.Addr, at session.Standing) {
	c.report.Roster = append(c.report.Roster, &agentv1alpha1.RosterEntry{
		Player: &agentv1alpha1.Player{Uuid: who.ID[:], Name: who.Name},
		Server: at.Server, Destination: at.Destination, Watches: at.Watches,
	})
	// A destination is a seat: who has one waits no more, whatever comes of it.
	if at.Waiting != "" && at.Destination == "" {
		w := waiter{group: at.Waiting, from: guard.PrefixOf(from)}
		if c.view.Settings.GetOnlineMode() {
			w = waiter{group: at.Waiting, name: who.Name}
		}
		c.waiters[w] = append(c.waiters[w], who.Name)
	}
	if progress := c.moving[at.Server]; progress != nil {
		progress.Remaining++
		if at.Stuck {
			progress.WithoutSeat++
		}
	}
}

// waiting tells each who counts apart, so that the manager can leave out those
// whom a server names meanwhile.
func (c *census) waiting() []*agentv1alpha1.WaitingPlayers {
	list := make([]*agentv1alpha1.WaitingPlayers, 0, len(c.waiters))
	for w, names := range c.waiters {
		slices.Sort(names)
		list = append(list, &agentv1alpha1.WaitingPlayers{Group: w.group, Players: 1, Names: names})
	}
	slices.SortFunc(list, func(a, b *agentv1alpha1.WaitingPlayers) int {
		return cmp.Or(cmp.Compare(a.GetGroup(), b.GetGroup()), slices.Compare(a.GetNames(), b.GetNames()))
	})
	return list
}

// moves tells of every server that is being emptied, also when nobody of this
// proxy is left there.
func (c *census) moves() []*agentv1alpha1.MoveProgress {
	var list []*agentv1alpha1.MoveProgress
	for _, server := range slices.Sorted(maps.Keys(c.moving)) {
		list = append(list, c.moving[server])
	}
	return list
}
