// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// Census counts everybody of a group once, however many reports speak of them.
type Census struct {
	// Seated is how many seats are taken, by server: by those who are there and
	// those on the way.
	Seated map[string]int
	// Waiting is how many are held for the group without a seat.
	Waiting int
}

// Census takes the census of a group whose servers have these pods. Reports
// come from everywhere and at different times, so one player may be held by a
// proxy, have a seat by one agent and be online by another, all at once. The
// newest word about a player counts, and no other.
func (s *Store) Census(group types.NamespacedName, pods map[string]types.UID) Census {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := census{group: group.Name, servers: map[string]*server{}, were: map[string]sets.Set[string]{}}
	people := 0
	for name, uid := range pods {
		c.servers[name] = cmp.Or(s.servers[uid], &server{})
		people += len(c.servers[name].online)
	}
	c.words = make(map[string]word, people)
	// Of two words of the same instant the later one here counts: the game's.
	for known := range s.within(group.Namespace) {
		c.hearProxy(known)
	}
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		c.hearServer(name)
	}
	count := Census{Seated: c.placed()}
	for name := range c.servers {
		count.Seated[name] = max(count.Seated[name], c.online(name))
	}
	now := s.clock.Now()
	for known := range s.within(group.Namespace) {
		if freshness(known.sampledAt, now) == Fresh {
			count.Waiting += c.waiting(known)
		}
	}
	return count
}

// census collects the newest word about every player.
type census struct {
	group   string
	servers map[string]*server
	words   map[string]word
	// were are those who may be part of a server's number without being named,
	// wherever they are by the newest word.
	were map[string]sets.Set[string]
}

// word places one player.
type word struct {
	at time.Time
	// server of the group that the player is on or on the way to; empty: none.
	server string
	// among is whom the player waits with; nil: they do not wait.
	among *waiters
	// told is true for a player of whom a proxy spoke, not necessarily here.
	told bool
}

func (c *census) hear(player string, newer word) {
	older := c.words[player]
	newer.told = newer.told || older.told
	if newer.at.Before(older.at) {
		older.told = newer.told
		newer = older
	}
	c.words[player] = newer
}

func (c *census) hearProxy(known *proxy) {
	at := known.sampledAt
	for _, one := range known.said.roster {
		c.hear(one.player, word{at: at, server: c.ours(one.destination, one.server), told: true})
		c.was(one.player, one.server)
	}
	for _, held := range known.said.waiting[c.group] {
		for _, player := range held.players {
			c.hear(player, word{at: at, among: held, told: true})
		}
	}
	for _, gone := range known.left {
		// Whoever left after the game was asked is part of its answer.
		if on := c.servers[gone.server]; on != nil && gone.at.After(on.sampledAt) {
			c.was(gone.player, gone.server)
		}
	}
}

// ours is the first of the servers that is of the group. A player on the way
// from one server of the group to another has left the first, as seats go.
func (c *census) ours(servers ...string) string {
	for _, name := range servers {
		if _, ok := c.servers[name]; ok {
			return name
		}
	}
	return ""
}

func (c *census) was(player, server string) {
	if known := c.servers[server]; known == nil || known.nameless() == 0 {
		return
	}
	if c.were[server] == nil {
		c.were[server] = sets.New[string]()
	}
	c.were[server].Insert(player)
}

func (c *census) hearServer(name string) {
	known := c.servers[name]
	for _, player := range known.admitted {
		c.hear(player, word{at: known.saidAt, server: name, told: true})
		c.was(player, name)
	}
	for _, player := range known.online {
		c.hear(player, word{at: known.sampledAt, server: name})
	}
}

// placed counts whom proxies and seats put on each server, or on the way there.
func (c *census) placed() map[string]int {
	placed := make(map[string]int, len(c.servers))
	for _, about := range c.words {
		if about.told && about.server != "" {
			placed[about.server]++
		}
	}
	return placed
}

// online counts who is there by the game's word, less those who are elsewhere
// by a newer one. It and placed are not added up: a game may know a player by
// another name, or by none.
func (c *census) online(name string) int {
	known := c.servers[name]
	online := int(known.report.GetOnline())
	for _, player := range known.online {
		if c.words[player].server != name {
			online--
		}
	}
	unlisted := 0
	for player := range c.were[name].Difference(sets.New(known.online...)) {
		if c.words[player].server != name {
			unlisted++
		}
	}
	return max(0, online-min(unlisted, known.nameless()))
}

// nameless is how many are online whom the game does not name.
func (s *server) nameless() int { return max(0, int(s.report.GetOnline())-len(s.online)) }

// waiting counts whom a proxy holds and nobody has placed since.
func (c *census) waiting(known *proxy) int {
	sum := 0
	for _, held := range known.said.waiting[c.group] {
		if len(held.players) == 0 {
			// A proxy of before says how many, and not who.
			sum += held.count
			continue
		}
		still := 0
		for _, player := range held.players {
			if c.words[player].among == held {
				still++
			}
		}
		sum += min(held.count, still)
	}
	return sum
}

// waiters are players who count as so many: several from one address may be
// one, for names cost nothing where nobody is authenticated.
type waiters struct {
	count   int
	players []string
}

func (w *waiters) equal(other *waiters) bool {
	return w.count == other.count && slices.Equal(w.players, other.players)
}

// placed is a player as a proxy places them.
type placed struct{ player, server, destination string }

// departure is a player who, by a proxy's word, is not on a server any more.
type departure struct {
	player, server string
	at             time.Time
}

// departed notes who left a server between two reports of the proxy, and
// forgets it when no fresh number of a server can include them any more.
func (p *proxy) departed(before []placed, now time.Time) {
	p.left = slices.DeleteFunc(p.left, func(d departure) bool { return now.Sub(d.at) > FreshFor })
	on := make(map[string]string, len(p.said.roster))
	for _, one := range p.said.roster {
		on[one.player] = one.server
	}
	for _, one := range before {
		if one.server != "" && on[one.player] != one.server {
			p.left = append(p.left, departure{one.player, one.server, p.sampledAt})
		}
	}
}

// namesOf lists players as the census knows them.
func namesOf(players []*agentv1alpha1.Player) []string {
	list := make([]string, 0, len(players))
	for _, player := range players {
		list = append(list, nameOf(player))
	}
	return list
}

// nameOf is a player's name without case, as games compare them. It is the one
// thing that everybody who speaks of a player knows: a game without forwarding
// gives everybody another UUID.
func nameOf(player *agentv1alpha1.Player) string { return strings.ToLower(player.GetName()) }
