// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// connectsKept is how many orders to move a player are remembered, so that one
// that comes again is answered and not carried out again.
const connectsKept = 256

// connectWithin bounds one: the manager waits a second longer.
const connectWithin = 5 * time.Second

// capabilities are what a proxy announces to the manager.
var capabilities = []string{agentv1alpha1.CapabilityConnect, agentv1alpha1.CapabilityConfig, agentv1alpha1.CapabilityNewcomers, agentv1alpha1.CapabilityErrands}

// connects are the orders to move players.
type connects struct {
	mu sync.Mutex
	// known are the results by the order's id, nil while it is carried out.
	known map[string]*agentv1alpha1.ConnectResult
	// order of the ids, the oldest first.
	order []string
}

// carryOut moves a player, once per order.
func (c *connects) carryOut(
	ctx context.Context, p *Proxy, order *agentv1alpha1.ConnectOrder, answer func(*agentv1alpha1.ProxyMessage),
) {
	tell := func(result *agentv1alpha1.ConnectResult) {
		answer(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_ConnectResult{ConnectResult: result}})
	}
	result, begun := c.begin(order.GetId())
	if result != nil {
		tell(result)
	}
	if !begun {
		return
	}
	go func() {
		result := p.connect(ctx, order)
		result.Id = order.GetId()
		c.end(result)
		tell(result)
	}()
}

// begin reports whether an order is new; of an old one it returns the result.
func (c *connects) begin(id string) (*agentv1alpha1.ConnectResult, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if result, old := c.known[id]; old {
		return result, false
	}
	if c.known == nil {
		c.known = map[string]*agentv1alpha1.ConnectResult{}
	}
	if len(c.order) == connectsKept {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.known[id] = nil
	c.order = append(c.order, id)
	return nil, true
}

func (c *connects) end(result *agentv1alpha1.ConnectResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, kept := c.known[result.GetId()]; kept {
		c.known[result.GetId()] = result
	}
}

// connect takes a player elsewhere who is where the order says.
func (p *Proxy) connect(ctx context.Context, order *agentv1alpha1.ConnectOrder) *agentv1alpha1.ConnectResult {
	player := p.roster.find(order.GetPlayer())
	if player == nil || player.Standing().Server != order.GetFrom() {
		return &agentv1alpha1.ConnectResult{
			Verdict: agentv1alpha1.Verdict_VERDICT_NOT_FOUND, Detail: "the player is not on " + order.GetFrom() + " any more",
		}
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	err := player.Switch(ctx, order.GetTo())
	if _, stays := errors.AsType[*session.Switched](err); stays {
		return &agentv1alpha1.ConnectResult{Verdict: agentv1alpha1.Verdict_VERDICT_REFUSED, Detail: err.Error()}
	}
	if err != nil {
		return &agentv1alpha1.ConnectResult{
			Verdict: agentv1alpha1.Verdict_VERDICT_FAILED,
			Detail:  fmt.Sprintf("it is not known whether the player stays or is moved yet: %v", err),
		}
	}
	return &agentv1alpha1.ConnectResult{Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
}
