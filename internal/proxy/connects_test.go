// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"strconv"
	"strings"
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// ordered has the proxy carry an order out, as if the manager gave it so often,
// and returns the last result.
func (n *network) ordered(p *Proxy, times int, order *agentv1alpha1.ConnectOrder) *agentv1alpha1.ConnectResult {
	n.t.Helper()
	results := make(chan *agentv1alpha1.ConnectResult, times)
	var last *agentv1alpha1.ConnectResult
	for range times {
		p.peer().OnOrder(n.ctx, &agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Connect{Connect: order}},
			func(message *agentv1alpha1.ProxyMessage) { results <- message.GetConnectResult() })
		select {
		case last = <-results:
		case <-n.ctx.Done():
			n.t.Fatal("no result")
		}
	}
	if last.GetId() != order.GetId() {
		n.t.Errorf("%q was answered, want %q", last.GetId(), order.GetId())
	}
	return last
}

func TestThePlayerWhoIsNamedIsMovedOncePerOrder(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	id := p.player("Ada").Profile().ID
	order := func(id, from, to string, who []byte) *agentv1alpha1.ConnectOrder {
		return &agentv1alpha1.ConnectOrder{Id: id, Player: &agentv1alpha1.Player{Uuid: who, Name: "Ada"}, From: from, To: to}
	}
	if got := n.ordered(p, 2, order("1", "lobby-a", "survival", id[:])); got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_DONE {
		t.Errorf("the result is %v", got)
	}
	n.on(b, "survival-0")
	if got := len(b.Stats().Switches); got != 1 {
		t.Errorf("moved %d times", got)
	}
	for what, wrong := range map[string]*agentv1alpha1.ConnectOrder{
		"not there any more": order("2", "lobby-a", "survival", id[:]),
		"somebody else":      order("3", "survival-0", "lobby", make([]byte, 16)),
		"nobody":             order("4", "survival-0", "lobby", nil),
	} {
		if got := n.ordered(p, 1, wrong); got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_NOT_FOUND || got.GetDetail() == "" {
			t.Errorf("%s: %v", what, got)
		}
	}
	n.on(b, "survival-0")
	n.unharmed()
}

func TestAMoveThatIsRefusedSaysWhy(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{}).Stop()
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	id := p.player("Ada").Profile().ID
	got := n.ordered(p, 2, &agentv1alpha1.ConnectOrder{Id: "1", Player: &agentv1alpha1.Player{Uuid: id[:]}, From: "lobby-a", To: "survival-0"})
	if got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_REFUSED || got.GetDetail() != "survival-0 could not be joined: it does not answer" {
		t.Errorf("the result is %v", got)
	}
	n.on(b, "lobby-a")
}

func TestAMoveThatIsStillUnderWayIsNotCalledRefused(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	ctx, end := context.WithCancel(n.ctx)
	done := make(chan struct{})
	defer close(done)
	n.liar("survival-0", func(*mcproto.Conn, *mcproto.Protocol) { end(); <-done })
	id := p.player("Ada").Profile().ID
	got := p.connect(ctx, &agentv1alpha1.ConnectOrder{Id: "1", Player: &agentv1alpha1.Player{Uuid: id[:]}, From: "lobby-a", To: "survival-0"})
	if got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_FAILED || !strings.Contains(got.GetDetail(), "not known whether the player stays or is moved yet") {
		t.Errorf("the result is %v", got)
	}
	n.on(b, "lobby-a")
}

func TestWhatIsRememberedOfMovesIsBounded(t *testing.T) {
	var c connects
	for number := range 3 * connectsKept {
		id := strconv.Itoa(number)
		if _, begun := c.begin(id); !begun {
			t.Fatalf("order %s is not new", id)
		}
		c.end(&agentv1alpha1.ConnectResult{Id: id})
	}
	c.end(&agentv1alpha1.ConnectResult{Id: "0"})
	if len(c.known) != connectsKept || len(c.order) != connectsKept {
		t.Errorf("%d are remembered in an order of %d", len(c.known), len(c.order))
	}
}
