// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"strings"
	"sync"

	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// roster is everybody who is authenticated on this proxy, each once: by UUID,
// and by name without case, as servers compare them.
type roster struct {
	mu     sync.Mutex
	byID   map[uuid.UUID]*session.Player
	byName map[string]*session.Player
	order  map[*session.Player]int  // how many there were before each
	coming map[*session.Player]bool // those of whom other proxies are asked still
}

func newRoster() *roster {
	return &roster{
		byID: map[uuid.UUID]*session.Player{}, byName: map[string]*session.Player{},
		order: map[*session.Player]int{}, coming: map[*session.Player]bool{},
	}
}

// admit puts the player on the roster. A nil text means that they are; any
// other is why they may not come in.
func (r *roster) admit(ctx context.Context, player *session.Player, rule agentv1alpha1.Precedence) *mcproto.Text {
	for {
		older := r.put(player)
		if older == nil {
			return nil
		}
		if !r.makesWay(ctx, older, rule) {
			return new(messages.Text(messages.LoginDuplicate, mcproto.Plain(older.Profile().Name)))
		}
	}
}

// makesWay reports whether a player has gone for the sake of a newer one. Where
// nobody has proven who they are whoever is alive stays, or anybody could throw
// anybody out.
func (r *roster) makesWay(ctx context.Context, older *session.Player, rule agentv1alpha1.Precedence) bool {
	if rule != agentv1alpha1.Precedence_PRECEDENCE_NEWEST_WINS && !older.Leaving() && older.Alive(ctx) {
		return false
	}
	// It may be stuck in a write to a client that is gone.
	go older.Disconnect(messages.Text(messages.LoginElsewhere))
	select {
	case <-older.Gone():
		r.remove(older)
		return true
	case <-ctx.Done():
		return false
	}
}

// put returns whoever is here instead.
func (r *roster) put(player *session.Player) *session.Player {
	who := player.Profile()
	name := strings.ToLower(who.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if older := r.byID[who.ID]; older != nil {
		return older
	}
	if older := r.byName[name]; older != nil {
		return older
	}
	r.order[player], r.coming[player] = len(r.byID), true
	r.byID[who.ID], r.byName[name] = player, player
	return nil
}

// remove takes a player off; one who was replaced already is not found.
func (r *roster) remove(player *session.Player) {
	who := player.Profile()
	name := strings.ToLower(who.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.order, player)
	delete(r.coming, player)
	if r.byID[who.ID] == player {
		delete(r.byID, who.ID)
	}
	if r.byName[name] == player {
		delete(r.byName, name)
	}
}

// letIn makes somebody who was put on the roster one of the players.
func (r *roster) letIn(player *session.Player) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.coming, player)
}

// as is the player who is there with that UUID or name, or nil.
func (r *roster) as(who *agentv1alpha1.Player) *session.Player {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.byName[strings.ToLower(who.GetName())]
	if id, err := uuid.FromBytes(who.GetUuid()); err == nil && r.byID[id] != nil {
		found = r.byID[id]
	}
	if r.coming[found] {
		return nil
	}
	return found
}

// all lists the players in no order.
func (r *roster) all() []*session.Player {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*session.Player, 0, len(r.byID))
	for _, player := range r.byID {
		if !r.coming[player] {
			list = append(list, player)
		}
	}
	return list
}

// find returns the player with that UUID, or nil.
func (r *roster) find(who *agentv1alpha1.Player) *session.Player {
	id, err := uuid.FromBytes(who.GetUuid())
	if err != nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// named returns the player of that name, however it is written, or nil.
func (r *roster) named(name string) *session.Player {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byName[strings.ToLower(name)]
}

func (r *roster) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

// before is how many players there were when a player came, so that of two who
// come for the last place one gets it.
func (r *roster) before(player *session.Player) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.order[player]
}
