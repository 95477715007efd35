// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/configmaps"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// value is that of one series.
func (p *Proxy) value(t testing.TB, series string) float64 {
	t.Helper()
	_, body := p.get(t, "/metrics")
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("there is no %s", series)
	return 0
}

func TestWhatPlayersDoIsCounted(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	n.joined(p, "Ada", "lobby-a")
	b := n.bot(p, "Ben", func(s *mctest.BotSettings) { s.Protocol = 767 })
	n.on(b, "lobby-a")
	if err := p.player("Ben").Switch(n.ctx, "survival-0"); err != nil {
		t.Fatal(err)
	}
	n.on(b, "survival-0")
	n.eventually("the switch is over", func() bool { return p.value(t, `spawnery_proxy_switch_seconds_count{outcome="in"}`) == 1 })
	p.shows(t, `spawnery_proxy_sessions{protocol="767"} 1`)
	p.shows(t, `spawnery_proxy_sessions{protocol="769"} 1`)
	p.shows(t, `spawnery_proxy_sessions{protocol="766"} 0`)
	p.shows(t, `spawnery_proxy_seat_seconds_count{outcome="granted"} 3`)
	for _, direction := range []string{"from_clients", "to_clients", "from_servers", "to_servers"} {
		if got := p.value(t, fmt.Sprintf("spawnery_proxy_bytes_total{direction=%q}", direction)); got < 100 || got > 10<<20 {
			t.Errorf("%g bytes %s", got, direction)
		}
	}
	n.servers["lobby-a"].agent.Close()
	if err := p.player("Ben").Switch(n.ctx, "lobby-a"); err == nil {
		t.Fatal("switched to a server whose agent is gone")
	}
	p.shows(t, `spawnery_proxy_switch_seconds_count{outcome="stayed"} 1`)
	p.shows(t, `spawnery_proxy_seat_seconds_count{outcome="silent"} 1`)
}

func TestWhoIsSentAwayIsCountedByTheReason(t *testing.T) {
	n := newNetwork(t)
	n.settings.HoldSeconds = 0
	p := n.front()
	if got := n.ends(n.bot(p, "Ada")); got != "No server is available right now. Please try again in a moment." {
		t.Fatalf("got %q", got)
	}
	p.shows(t, `spawnery_proxy_refusals_total{reason="join.none"} 1`)
}

func TestOnlyMessagesThatAreKnownBecomeLabels(t *testing.T) {
	given, err := configmaps.New("")
	if err != nil {
		t.Fatal(err)
	}
	m := newMetrics(&Proxy{roster: newRoster(), given: given, gate: guard.NewGate(guard.Limits{})})
	for _, reason := range []mcproto.Text{
		messages.Text(messages.LimitPackets), messages.Text(messages.LimitPackets), {Translate: "multiplayer.disconnect.server_full"}, mcproto.Plain("Ada"),
	} {
		m.SentAway(reason)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "spawnery_proxy_refusals_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			got[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
		}
	}
	if len(got) != len(parting())+1 || got["limit.packets"] != 2 || got["other"] != 2 {
		t.Errorf("got %v", got)
	}
}

func TestEveryLoginHasOneOutcome(t *testing.T) {
	rejected := &login.Rejected{Reason: mcproto.Plain("why")}
	for want, err := range map[string]error{outcomeIn: nil, outcomeRejected: rejected, outcomeBroken: errors.New("the line broke")} {
		if got := outcomeOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	for want, is := range outcomes() {
		err := &login.Rejected{Reason: mcproto.Plain("why"), Cause: fmt.Errorf("letting in: %w", is)}
		if got := outcomeOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}
