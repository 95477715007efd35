// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// balancer passes one connection on to a proxy, with a header before it.
func (n *network) balancer(p *Proxy, header string) string {
	n.t.Helper()
	l := listen(n.t)
	n.t.Cleanup(func() { l.Close() })
	go func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", p.address())
		if err != nil {
			return
		}
		defer server.Close()
		if _, err := io.WriteString(server, header); err != nil {
			return
		}
		go func() { _, _ = io.Copy(server, client); server.Close() }()
		_, _ = io.Copy(client, server)
	}()
	return l.Addr().String()
}

func trusting(cidrs ...string) *agentv1alpha1.ProxyProtocol {
	return &agentv1alpha1.ProxyProtocol{TrustedCidrs: cidrs}
}

func TestAServerSeesTheAddressThatATrustedBalancerNames(t *testing.T) {
	n := newNetwork(t)
	n.settings.ProxyProtocol = trusting("127.0.0.0/8")
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	at := n.balancer(p, "PROXY TCP4 203.0.113.9 10.0.0.2 51234 25565\r\n")
	n.on(n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Address = at }), "lobby-a")
	client, err := lobby.ClientOf("Ada")
	if err != nil || client.Address != "203.0.113.9" {
		t.Errorf("the server sees %q, %v", client.Address, err)
	}
	if got := p.player("Ada").Address().String(); got != "203.0.113.9" {
		t.Errorf("the proxy counts %s", got)
	}
	n.unharmed()
}

// closed reports whether the proxy ends a connection that sends this.
func closed(t *testing.T, p *Proxy, sent []byte) bool {
	t.Helper()
	c, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(sent); err != nil {
		return true
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(c)
	return len(answer) == 0
}

func TestATrustedBalancerThatNamesNobodyIsNotServed(t *testing.T) {
	n := newNetwork(t)
	n.settings.ProxyProtocol = trusting("127.0.0.0/8")
	n.add("lobby-a", rig{})
	p := n.front()
	if !closed(t, p, bytes.Repeat([]byte{1}, 64)) {
		t.Error("a connection without a header was answered")
	}
}

func TestAHeaderOfSomebodyElseIsRefused(t *testing.T) {
	for name, trusted := range map[string]*agentv1alpha1.ProxyProtocol{"nobody is trusted": nil, "others are": trusting("192.0.2.0/24")} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.settings.ProxyProtocol = trusted
			n.add("lobby-a", rig{})
			p := n.front()
			if !closed(t, p, []byte("PROXY TCP4 203.0.113.9 10.0.0.2 51234 25565\r\n")) {
				t.Error("a forged header was answered")
			}
			n.on(n.bot(p, "Ada"), "lobby-a")
			if got := p.player("Ada").Address().String(); got != "127.0.0.1" {
				t.Errorf("the proxy counts %s", got)
			}
		})
	}
}
