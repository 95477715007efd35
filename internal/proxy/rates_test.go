// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"strings"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

// shows fails the test unless a metric has that value.
func (p *Proxy) shows(t testing.TB, line string) {
	t.Helper()
	_, body := p.get(t, "/metrics")
	for got := range strings.Lines(body) {
		if strings.TrimSpace(got) == line {
			return
		}
	}
	name, _, _ := strings.Cut(line, " ")
	for got := range strings.Lines(body) {
		if strings.HasPrefix(got, name) {
			t.Errorf("got %swant %s", got, line)
			return
		}
	}
	t.Errorf("there is no %s", name)
}

// rationed is a proxy for whose rates no time passes: what an address has used up
// does not come back however long the test takes.
func (n *network) rationed() *Proxy {
	n.t.Helper()
	n.silent = true
	p := n.front()
	p.rates = newRates(clocktesting.NewFakePassiveClock(p.config.Clock.Now()))
	n.silent = false
	n.publish()
	return p
}

func TestLoginsOfAnAddressAreRationed(t *testing.T) {
	n := newNetwork(t)
	n.settings.RateLimits = &agentv1alpha1.RateLimits{LoginBurst: 2}
	n.add("lobby-a", rig{})
	p := n.rationed()
	n.joined(p, "Ada", "lobby-a")
	ben := n.joined(p, "Ben", "lobby-a")
	const why = "Too many logins come from your internet address. Please try again in 1 s."
	if got := n.ends(n.bot(p, "Cid")); got != why {
		t.Errorf("got %q, want %q", got, why)
	}
	p.shows(t, `spawnery_proxy_refused_connections_total{limit="login_rate"} 1`)
	// The client may read why before the proxy counts it.
	n.eventually("it is counted", func() bool {
		_, body := p.get(t, "/metrics")
		return strings.Contains(body, `spawnery_proxy_logins_total{outcome="rate_limited"} 1`)
	})
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.RateLimits.ExemptCidrs = []string{"127.0.0.1/32"} })
	for i := range 30 {
		n.bot(p, fmt.Sprint("Eve", i))
	}
	n.eventually("whoever is exempt is in", func() bool { return p.roster.size() == 32 })
	select {
	case <-ben.Done():
		t.Errorf("one who was in is out: %v", ben.Err())
	default:
	}
}

func TestServerListsOfAnAddressAreRationed(t *testing.T) {
	n := newNetwork(t)
	n.settings.RateLimits = &agentv1alpha1.RateLimits{StatusBurst: 3}
	p := n.rationed()
	answered := 0
	for range 10 {
		if _, err := slp.Ping(n.ctx, p.address(), 769); err == nil {
			answered++
		}
	}
	if answered != 3 {
		t.Errorf("%d of 10 were answered", answered)
	}
	p.shows(t, fmt.Sprintf(`spawnery_proxy_refused_connections_total{limit="status_rate"} %d`, 10-answered))
}

func TestABalancersAddressIsNotThePlayers(t *testing.T) {
	n := newNetwork(t)
	n.settings.RateLimits = &agentv1alpha1.RateLimits{LoginBurst: 1}
	n.settings.ProxyProtocol = &agentv1alpha1.ProxyProtocol{TrustedCidrs: []string{"127.0.0.0/8"}}
	p := n.rationed()
	through := func(name, address string) *mctest.Bot {
		at := n.balancer(p, "PROXY TCP4 "+address+" 10.0.0.2 51234 25565\r\n")
		return n.bot(p, name, func(s *mctest.BotSettings) { s.Address = at })
	}
	for i := range 5 {
		through(fmt.Sprint("Ada", i), fmt.Sprint("203.0.113.", i))
	}
	n.eventually("each is in from an address of their own", func() bool { return p.roster.size() == 5 })
	const why = "Too many logins come from your internet address. Please try again in 1 s."
	if got := n.ends(through("Ben", "203.0.113.1")); got != why {
		t.Errorf("the second from one address: %q, want %q", got, why)
	}
}

func TestWhoWasSentHereWithATicketIsNotRationed(t *testing.T) {
	n := newNetwork(t)
	n.settings.RateLimits = &agentv1alpha1.RateLimits{LoginBurst: 1}
	n.add("lobby-a", rig{})
	p := n.rationed()
	office, err := ticket.NewOffice([][]byte{[]byte(secret)}, p.config.Clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := func(name string, cookies map[string][]byte) *mctest.Bot {
		return n.bot(p, name, func(s *mctest.BotSettings) { s.Intent, s.Cookies = mcproto.IntentTransfer, cookies })
	}
	for i := range 10 {
		name := fmt.Sprint("Ada", i)
		sealed, err := office.Seal(ticket.Ticket{
			Profile: mcproto.Profile{Name: name, ID: mcproto.OfflineUUID(name)}, Authentication: permissions.Unauthenticated,
			Network: "production", Address: addressOf(fakePeer{}), Server: "lobby-a",
		})
		if err != nil {
			t.Fatal(err)
		}
		n.on(sent(name, map[string][]byte{ticket.CookieKey: sealed}), "lobby-a")
	}
	n.on(sent("Ben", nil), "lobby-a")
	const why = "Too many logins come from your internet address. Please try again in 1 s."
	if got := n.ends(sent("Cid", nil)); got != why {
		t.Errorf("a second one without a ticket: %q, want %q", got, why)
	}
}
