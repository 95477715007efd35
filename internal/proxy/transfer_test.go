// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
)

// balancer is the one address under which players know the proxies.
type balancer struct {
	net.Listener
	to atomic.Pointer[Proxy]
}

func (n *network) oneWayIn(to *Proxy) *balancer {
	n.t.Helper()
	b := &balancer{Listener: listen(n.t)}
	b.to.Store(to)
	n.t.Cleanup(func() { b.Close() })
	go func() {
		for {
			from, err := b.Accept()
			if err != nil {
				return
			}
			go b.pass(from)
		}
	}()
	return b
}

func (b *balancer) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", b.to.Load().address())
	if err != nil {
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			// The other direction ends by itself: both sides hang up.
			_ = way[0].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}

// through has a bot come by the balancer.
func (b *balancer) through(s *mctest.BotSettings) { s.Address = b.Addr().String() }

// withdraw has one proxy send its players to another, or keep them.
func (n *network) withdraw(p *Proxy, takers int32) {
	settings := proto.CloneOf(n.settings)
	settings.Withdrawn = true
	settings.Transfer = &agentv1alpha1.Transfer{Takers: takers}
	p.store.SetSettings(settings)
}

// follow goes where a bot is sent, and is on one of the servers.
func (n *network) follow(b *mctest.Bot, servers ...string) *mctest.Bot {
	n.t.Helper()
	next, err := b.Follow(n.ctx)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(next.Leave)
	n.on(next, servers...)
	return next
}

func TestARollByTransferAsksNobodyToLogInAgain(t *testing.T) {
	players := evidence(100, 300)
	n := newNetworkAlone(t)
	sessions, with := n.sessionServer()
	n.add("lobby-a", rig{})
	n.add("lobby-b", rig{})
	old, next := n.front(with), n.front(with)
	way := n.oneWayIn(old)
	bots := make([]*mctest.Bot, players)
	for i := range bots {
		who := mcproto.Profile{Name: fmt.Sprint("player", i), ID: uuid.New(), Properties: []mcproto.Property{
			{Name: "textures", Value: strings.Repeat("v", 900), Signature: strings.Repeat("s", 684)},
		}}
		bots[i] = n.bot(old, "", account(sessions, who), way.through, func(s *mctest.BotSettings) { s.Moves = 5 })
	}
	was := make([]string, players)
	for i, b := range bots {
		was[i] = n.on(b)
	}
	sessions.Ration(60)
	asked := sessions.Asked()
	way.to.Store(next)
	n.withdraw(old, 1)
	took := make([]time.Duration, players)
	var all sync.WaitGroup
	for i, b := range bots {
		all.Go(func() {
			<-b.Done()
			began := time.Now()
			followed, err := b.Follow(n.ctx)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := followed.WaitServer(n.ctx, was[i]); err != nil {
				t.Error(err)
			}
			took[i] = time.Since(began)
			if got, want := followed.Profile(), b.Profile(); got.ID != want.ID || len(got.Properties) != 1 {
				t.Errorf("%s became %+v", want.Name, got)
			}
			bots[i] = followed
		})
	}
	all.Wait()
	slices.Sort(took)
	t.Logf("%d players were transferred: median %s, slowest %s", players, took[players/2], took[players-1])
	if within := time.Duration(evidence(20, 5)) * time.Second; took[players-1] > within {
		t.Errorf("the slowest took %s from their transfer to play", took[players-1])
	}
	if n := sessions.Asked() - asked; n != 0 {
		t.Errorf("the session server was asked %d times more", n)
	}
	n.eventually("nobody is left behind", func() bool { return old.roster.size() == 0 })
	if got := next.roster.size(); got != players {
		t.Errorf("%d players on the other proxy, want %d", got, players)
	}
	for _, b := range bots {
		b.Leave()
	}
	n.unharmed()
}

func TestAProxyThatIsToldToEndSendsItsPlayersOnAndEnds(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.settings.Transfer = &agentv1alpha1.Transfer{Takers: 1}
	next := n.front()
	config := n.config()
	old, err := New(config, n.log())
	if err != nil {
		t.Fatal(err)
	}
	n.proxies = append(n.proxies, old)
	ctx, told := context.WithCancel(n.ctx)
	ended := make(chan error, 1)
	go func() { ended <- old.Run(ctx) }()
	n.publish()
	way := n.oneWayIn(old)
	b := n.bot(old, "Ada", way.through)
	n.on(b, "lobby-a")
	way.to.Store(next)
	told()
	n.follow(b, "lobby-a")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	n.unharmed()
}

func TestWhoHasNoPlaceYetIsSentOnToo(t *testing.T) {
	for name, tt := range map[string]struct {
		server string
		at     func(session.Standing) bool
	}{
		"held":             {at: func(at session.Standing) bool { return at.Waiting != "" }},
		"in configuration": {server: "lobby-a", at: func(at session.Standing) bool { return at.Server != "" }},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			if tt.server != "" {
				n.add(tt.server, rig{})
			}
			old, next := n.front(), n.front()
			way := n.oneWayIn(old)
			// Each step of a configuration takes long enough to be met in it.
			b := n.bot(old, "Ada", way.through, func(s *mctest.BotSettings) { s.Latency = 700 * time.Millisecond })
			n.eventually("they are as far as they get", func() bool {
				player := old.player("Ada")
				return player != nil && tt.at(player.Standing())
			})
			way.to.Store(next)
			n.withdraw(old, 1)
			followed, err := b.Follow(n.ctx)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(followed.Leave)
			if b.State() != mcproto.StateConfiguration {
				t.Errorf("they were sent on in %s", b.State())
			}
			if tt.server == "" {
				n.add("lobby-a", rig{})
			}
			n.on(followed, "lobby-a")
		})
	}
}

func TestNobodyIsSentIntoNothing(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	n.withdraw(p, 0)
	time.Sleep(3 * transferLook) // time in which nothing must happen
	if b.Err() != nil {
		t.Errorf("without another proxy: %v", b.Err())
	}
	n.configure(func(s *agentv1alpha1.ProxySettings) {
		s.Withdrawn, s.Transfer = true, &agentv1alpha1.Transfer{Takers: 1, WithdrawSeconds: 3600}
	})
	time.Sleep(3 * transferLook)
	if b.Err() != nil {
		t.Errorf("before load balancers had the time to notice: %v", b.Err())
	}
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.Transfer = nil })
	time.Sleep(3 * transferLook)
	if b.Err() != nil {
		t.Errorf("without transfers: %v", b.Err())
	}
}

func TestWhoComesBackToAWithdrawnProxyStays(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.settings.OnlineMode = false
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	n.withdraw(p, 1)
	settings := proto.CloneOf(p.store.View().Settings)
	settings.RefuseWhileWithdrawn = true
	p.store.SetSettings(settings)
	back := n.follow(b, "lobby-a")
	time.Sleep(3 * transferLook)
	if back.Err() != nil {
		t.Errorf("passed on again at once: %v", back.Err())
	}
	player := p.player("Ada")
	since := player.Came().Add(-time.Second)
	if player.Hops() != 1 || p.mayGoOn(player, since) {
		t.Errorf("after %d hops they may be passed on at once: %t", player.Hops(), p.mayGoOn(player, since))
	}
}

func TestATransferGoesToTheAddressThatIsGiven(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	tests := map[string]mcproto.Transfer{
		"play.example.org":       {Host: "play.example.org", Port: 25565},
		"play.example.org:25570": {Host: "play.example.org", Port: 25570},
		"[2001:db8::1]:25570":    {Host: "2001:db8::1", Port: 25570},
	}
	for address, want := range tests {
		t.Run(address, func(t *testing.T) {
			p := n.front()
			b := n.joined(p, "Ada", "lobby-a")
			settings := proto.CloneOf(n.settings)
			settings.Withdrawn, settings.Transfer = true, &agentv1alpha1.Transfer{Takers: 1, Address: address}
			p.store.SetSettings(settings)
			<-b.Done()
			sent, ok := errors.AsType[*mctest.Transferred](b.Err())
			if !ok || sent.To != want {
				t.Errorf("ended with %v", b.Err())
			}
			n.eventually("they have gone", func() bool { return len(n.servers["lobby-a"].Players()) == 0 })
		})
	}
}

// Each of them logs in like everybody else, and is in all the same.
func TestATicketThatIsNotGoodIsAnOrdinaryLogin(t *testing.T) {
	n := newNetwork(t)
	sessions, with := n.sessionServer()
	n.add("lobby-a", rig{})
	p := n.front(with)
	ada := mcproto.Profile{Name: "Ada", ID: uuid.New()}
	office := func(secret string) *ticket.Office {
		o, err := ticket.NewOffice([][]byte{[]byte(secret)}, p.config.Clock, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	seal := func(o *ticket.Office, change func(*ticket.Ticket)) []byte {
		good := ticket.Ticket{Profile: ada, Authentication: 1, Network: "production", Address: addressOf(fakePeer{}), Server: "lobby-a"}
		change(&good)
		sealed, err := o.Seal(good)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	used := seal(office(secret), func(*ticket.Ticket) {})
	tests := map[string]struct {
		cookie []byte
		asked  int
	}{
		"good":         {used, 0},
		"used before":  {used, 1},
		"none":         {nil, 1},
		"empty":        {[]byte{}, 1},
		"forged":       {seal(office("another"), func(*ticket.Ticket) {}), 1},
		"another's":    {seal(office(secret), func(t *ticket.Ticket) { t.Profile.Name = "Eve" }), 1},
		"from another": {seal(office(secret), func(t *ticket.Ticket) { t.Address = t.Address.Next() }), 1},
		"elsewhere":    {seal(office(secret), func(t *ticket.Ticket) { t.Network = "staging" }), 1},
		"too large":    {make([]byte, 5<<10+1), 1},
	}
	for _, name := range []string{"good", "used before", "none", "empty", "forged", "another's", "from another", "elsewhere", "too large"} {
		t.Run(name, func(t *testing.T) {
			before := sessions.Asked()
			b := n.bot(p, "", account(sessions, ada), func(s *mctest.BotSettings) {
				s.Intent = mcproto.IntentTransfer
				if tests[name].cookie != nil {
					s.Cookies = map[string][]byte{ticket.CookieKey: tests[name].cookie}
				}
			})
			n.on(b, "lobby-a")
			if got := sessions.Asked() - before; got != tests[name].asked {
				t.Errorf("the session server was asked %d times, want %d", got, tests[name].asked)
			}
			b.Leave()
		})
	}
	n.unharmed()
}

// fakePeer is a connection from where all bots of a test come.
type fakePeer struct{ net.Conn }

func (fakePeer) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func TestALateRefusalLeadsToTheLobbyWithTheReason(t *testing.T) {
	for name, comes := range map[string]func(n *network, p *Proxy) *mctest.Bot{
		"of a named server": func(n *network, p *Proxy) *mctest.Bot {
			b := n.joined(p, "Ada", "lobby-a")
			if refused := n.switched(p, "Ada", "survival-0"); refused != "" {
				n.t.Fatal(refused)
			}
			return b
		},
		"of a first join": func(n *network, p *Proxy) *mctest.Bot {
			n.configure(func(s *agentv1alpha1.ProxySettings) {
				s.ForcedHosts = []*agentv1alpha1.ForcedHost{{Host: "127.0.0.1", Groups: []string{"survival"}}}
			})
			return n.bot(p, "Ada")
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.add("lobby-a", rig{})
			n.add("survival-0", rig{}).Refuse(mctest.AfterRegistries, mcproto.Plain("no mods here"))
			p := n.front()
			b := comes(n, p)
			n.hears(n.follow(b, "lobby-a"), "from survival-0: no mods here")
			n.unharmed()
		})
	}
}

// Nobody is sent round and round, not even one whose ticket is lost each time.
func TestServersThatAllRefuseLateEndInTheReason(t *testing.T) {
	for name, comes := range map[string]func(n *network, p *Proxy, b *mctest.Bot) *mctest.Bot{
		"to who has a ticket": func(n *network, _ *Proxy, b *mctest.Bot) *mctest.Bot {
			next, err := b.Follow(n.ctx)
			if err != nil {
				n.t.Fatal(err)
			}
			n.t.Cleanup(next.Leave)
			return next
		},
		"to who lost it": func(n *network, p *Proxy, b *mctest.Bot) *mctest.Bot {
			<-b.Done()
			if _, ok := errors.AsType[*mctest.Transferred](b.Err()); !ok {
				n.t.Fatal(b.Err())
			}
			return n.bot(p, b.Name(), func(s *mctest.BotSettings) { s.Intent = mcproto.IntentTransfer })
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			for _, name := range []string{"lobby-a", "lobby-b", "lobby-c", "lobby-d", "lobby-e"} {
				n.add(name, rig{}).Refuse(mctest.AfterRegistries, mcproto.Plain("not today"))
			}
			p := n.front()
			b := n.bot(p, "Ada")
			for range 3 {
				b = comes(n, p, b)
			}
			if got := n.ends(b); !strings.HasSuffix(got, ": not today") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestServersDoNotSeeTicketsOrWriteThem(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	b := n.bot(p, "Ada", func(s *mctest.BotSettings) {
		s.Cookies = map[string][]byte{ticket.CookieKey: []byte("mine"), "plugin:its": []byte("own")}
	})
	n.on(b, "lobby-a")
	for _, key := range []string{ticket.CookieKey, "plugin:its"} {
		if err := lobby.AskCookieOf("Ada", key); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]byte{ticket.CookieKey: nil, "plugin:its": []byte("own")}
	n.eventually("both are answered", func() bool {
		client, err := lobby.ClientOf("Ada")
		return err == nil && client.Cookies["plugin:its"] != nil && cmp.Diff(want, onlyKeys(client.Cookies, want)) == ""
	})
	n.unharmed()
}

// onlyKeys leaves out what a test did not ask for.
func onlyKeys(all, want map[string][]byte) map[string][]byte {
	found := map[string][]byte{}
	for key, value := range all {
		if _, asked := want[key]; asked {
			found[key] = value
		}
	}
	return found
}
