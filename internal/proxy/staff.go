// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/commands"
)

// staffDesk puts to the manager what staff on this proxy wants of it.
type staffDesk struct {
	mu   sync.Mutex
	say  func(*agentv1alpha1.ProxyMessage)
	able []string // what the manager announced last
	open map[string]chan *agentv1alpha1.CloudAnswer
}

// greeted takes in the manager's welcome, and how to speak to it.
func (d *staffDesk) greeted(welcome *agentv1alpha1.Welcome, say func(*agentv1alpha1.ProxyMessage)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say, d.able = say, welcome.GetCapabilities()
}

// answered takes in an answer; one that nobody waits for any more is dropped.
func (d *staffDesk) answered(answer *agentv1alpha1.CloudAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if waiting := d.open[answer.GetId()]; waiting != nil {
		waiting <- answer
		delete(d.open, answer.GetId())
	}
}

// Ask implements commands.Manager.
func (p *Proxy) Ask(ctx context.Context, who permissions.Player, ask *agentv1alpha1.CloudAsk) (*agentv1alpha1.CloudAnswer, error) {
	if !p.connected.Load() {
		return nil, commands.ErrNoManager
	}
	ask.Id, ask.By = uuid.NewString(), &agentv1alpha1.Player{Name: who.Name}
	if id, err := uuid.Parse(who.UUID); err == nil {
		ask.By.Uuid = id[:]
	}
	answer, err := p.staff.put(ask)
	if err != nil {
		return nil, err
	}
	select {
	case result := <-answer:
		return result, nil
	case <-ctx.Done():
		p.staff.forget(ask.GetId())
		return nil, fmt.Errorf("waiting for the manager: %w", context.Cause(ctx))
	}
}

func (d *staffDesk) put(ask *agentv1alpha1.CloudAsk) (<-chan *agentv1alpha1.CloudAnswer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.say == nil:
		return nil, commands.ErrNoManager
	case !slices.Contains(d.able, agentv1alpha1.CapabilityCloud):
		return nil, commands.ErrOldManager
	}
	answer := make(chan *agentv1alpha1.CloudAnswer, 1)
	if d.open == nil {
		d.open = map[string]chan *agentv1alpha1.CloudAnswer{}
	}
	d.open[ask.GetId()] = answer
	d.say(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_CloudAsk{CloudAsk: ask}})
	return answer, nil
}

func (d *staffDesk) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, id)
}

// Names implements commands.Manager: who is on this proxy.
func (p *Proxy) Names() []string {
	var names []string
	for _, player := range p.roster.all() {
		names = append(names, player.Profile().Name)
	}
	return names
}

// tellEvery is how often at most players are told what has happened.
const tellEvery = time.Second

// tellNews tells those who want to know what happens in the network.
func (p *Proxy) tellNews(ctx context.Context) {
	before := p.store.View()
	for {
		changed := p.store.Changed()
		after := p.store.View()
		if lines := commands.Happenings(before, after); len(lines) > 0 {
			for _, player := range p.roster.all() {
				if p.console.Wants(player.Identity()) {
					player.Tell(lines...)
				}
			}
		}
		before = after
		p.pause(ctx, tellEvery)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
