// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// A flood of names must not order servers.
func TestWaitingPlayersCountOncePerHousehold(t *testing.T) {
	tests := map[string]struct {
		online bool
		from   []string
		want   int32
	}{
		"names from one address":            {from: []string{"192.0.2.1", "192.0.2.1", "192.0.2.1"}, want: 1},
		"names from one address, both ways": {from: []string{"192.0.2.1", "::ffff:192.0.2.1"}, want: 1},
		"names from one network of IPv6":    {from: []string{"2001:db8::1", "2001:db8::2", "2001:db8::ffff:1"}, want: 1},
		"names from two networks of IPv6":   {from: []string{"2001:db8::1", "2001:db8:0:1::1"}, want: 2},
		"authenticated, from one address":   {online: true, from: []string{"192.0.2.1", "192.0.2.1"}, want: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			store := directory.NewStore()
			store.SetSettings(&agentv1alpha1.ProxySettings{OnlineMode: test.online})
			c := newCensus(store.View())
			for i, from := range test.from {
				who := mcproto.Profile{Name: fmt.Sprint("Name", i)}
				c.count(who, netip.MustParseAddr(from), session.Standing{Waiting: "lobby"})
			}
			counted, named := int32(0), 0
			for _, waiting := range c.waiting() {
				counted, named = counted+waiting.GetPlayers(), named+len(waiting.GetNames())
			}
			if counted != test.want || named != len(test.from) {
				t.Errorf("%d are counted and %d named, want %d and %d", counted, named, test.want, len(test.from))
			}
		})
	}
}

func TestWhoeverHasASeatDoesNotWait(t *testing.T) {
	c := newCensus(directory.NewStore().View())
	c.count(mcproto.Profile{Name: "Ada"}, netip.MustParseAddr("192.0.2.1"), session.Standing{Waiting: "lobby"})
	c.count(mcproto.Profile{Name: "Ben"}, netip.MustParseAddr("192.0.2.1"), session.Standing{Waiting: "lobby", Destination: "lobby-a"})
	c.count(mcproto.Profile{Name: "Cyd"}, netip.MustParseAddr("192.0.2.2"), session.Standing{Waiting: "lobby", Destination: "lobby-a"})
	c.count(mcproto.Profile{Name: "Dan"}, netip.MustParseAddr("192.0.2.1"), session.Standing{Waiting: "game"})
	want := []*agentv1alpha1.WaitingPlayers{
		{Group: "game", Players: 1, Names: []string{"Dan"}},
		{Group: "lobby", Players: 1, Names: []string{"Ada"}},
	}
	if diff := cmp.Diff(want, c.waiting(), protocmp.Transform()); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
}

func TestWhoOnlyLooksAtTheServerListWaitsForNothing(t *testing.T) {
	n := newNetwork(t)
	n.publish()
	p := n.front()
	for range 20 {
		serverList(t, p, 777)
	}
	if report := p.report().GetReport(); len(report.GetWaiting()) != 0 || len(report.GetRoster()) != 0 {
		t.Errorf("reported: %v", report)
	}
	n.bot(p, "Ada")
	n.eventually("a player who joins does", func() bool { return len(p.report().GetReport().GetWaiting()) == 1 })
}
