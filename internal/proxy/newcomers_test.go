// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/proxytest"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// manager is what of the real one the proxies of a network hear of each other by.
type manager struct {
	store   *sessions.Store
	leaders []*proxytest.Leader
}

func (n *network) manager() *manager {
	n.t.Helper()
	m := &manager{store: sessions.New(sessions.Config{Version: "1.2.3", Clock: clock.RealClock{}})}
	ctx, stop := context.WithCancel(n.ctx)
	go m.store.Run(ctx)
	n.t.Cleanup(func() { stop(); m.stop() })
	return m
}

func (m *manager) stop() {
	for _, l := range m.leaders {
		l.Stop()
	}
}

// leads is where a proxy finds the manager.
func (n *network) leads(m *manager, name string) string {
	n.t.Helper()
	dir := n.t.TempDir()
	pod := sessions.ProxyPod{
		UID: types.UID(name), Pod: types.NamespacedName{Namespace: "minecraft", Name: name}, Group: "front", Network: "production",
	}
	leader, err := proxytest.StartLeader(dir, m.store, pod)
	if err != nil {
		n.t.Fatal(err)
	}
	m.leaders = append(m.leaders, leader)
	return dir
}

// fronts are two proxies that hear of each other.
func (n *network) fronts(m *manager, changes ...func(*Config)) (*Proxy, *Proxy) {
	n.t.Helper()
	var both []*Proxy
	for _, name := range []string{"front-a", "front-b"} {
		dir := n.leads(m, name)
		p := n.front(append(changes, func(c *Config) {
			c.Channel.Directory, c.Channel.TokenFile = dir, filepath.Join(dir, "token")
		})...)
		n.eventually("the manager leads "+name, p.newcomers.managed)
		both = append(both, p)
	}
	return both[0], both[1]
}

func (n *newcomers) managed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.say != nil
}

// shortly is how long two proxies may take to agree: longer than it takes on a slow
// machine, and less than a proxy is waited for that does not come to an end.
const shortly = 7 * time.Second

func TestOfTwoWithOneNameOnTwoProxies(t *testing.T) {
	t.Run("the newest wins in online mode", func(t *testing.T) {
		n := newNetwork(t)
		sessions, online := n.sessionServer()
		lobby := n.add("lobby-a", rig{})
		a, b := n.fronts(n.manager(), online)
		older := n.bot(a, "Ada", account(sessions, ada))
		n.on(older)
		began := time.Now()
		newer := n.bot(b, "Ada", account(sessions, ada))
		n.on(newer)
		if got := n.ends(older); got != "You logged in from another place." {
			t.Errorf("got %q", got)
		}
		if took := time.Since(began); took > shortly {
			t.Errorf("it took %s", took)
		}
		n.eventually("the other proxy has nobody", func() bool { return a.roster.size() == 0 })
		if got := len(lobby.Players()); got != 1 || newer.Err() != nil {
			t.Errorf("%d are on the server, the newer: %v", got, newer.Err())
		}
	})
	t.Run("the older stays in offline mode, whatever the case of the name", func(t *testing.T) {
		n := newNetwork(t)
		n.add("lobby-a", rig{})
		a, b := n.fronts(n.manager())
		older := n.joined(a, "Ada")
		began := time.Now()
		if got := n.ends(n.bot(b, "aDA")); got != "Ada is already playing here." {
			t.Errorf("got %q", got)
		}
		if took := time.Since(began); took > shortly {
			t.Errorf("it took %s", took)
		}
		if older.Err() != nil || b.roster.size() != 0 {
			t.Errorf("the older: %v; the other proxy has %d", older.Err(), b.roster.size())
		}
	})
	t.Run("without a manager each proxy has its own", func(t *testing.T) {
		n := newNetwork(t)
		n.add("lobby-a", rig{})
		m := n.manager()
		a, b := n.fronts(m)
		n.joined(a, "Ada")
		m.stop()
		n.eventually("the manager has gone", func() bool { return !b.newcomers.managed() })
		if got := n.ends(n.bot(a, "ada")); got != "Ada is already playing here." {
			t.Errorf("got %q", got)
		}
		n.on(n.bot(b, "Ada"))
	})
}

// dead puts a player on a server whose client answers nothing any more.
func (n *network) dead(p *Proxy, name string) {
	n.t.Helper()
	logIn(n.t, dial(n.t, p), name)
	n.eventually("it is on a server", func() bool {
		older := p.player(name)
		return older != nil && older.Standing().Server != ""
	})
}

func TestADeadPlayerOnAnotherProxyMakesWay(t *testing.T) {
	t.Run("and has gone when the newer comes in", func(t *testing.T) {
		n := newNetwork(t)
		n.add("lobby-a", rig{})
		a, b := n.fronts(n.manager())
		n.dead(a, "Ben")
		began := time.Now()
		n.on(n.bot(b, "Ben"))
		if took := time.Since(began); took > makeWayWithin+shortly {
			t.Errorf("it took %s", took)
		}
		n.eventually("the other proxy has nobody", func() bool { return a.roster.size() == 0 })
	})
	t.Run("who is only about to come in is on no roster", func(t *testing.T) {
		n := newNetwork(t)
		n.add("lobby-a", rig{})
		a, b := n.fronts(n.manager())
		n.dead(a, "Ada")
		n.bot(b, "Ada")
		n.eventually("the newer waits", func() bool { return b.roster.size() == 1 })
		if names := b.names(); len(names) != 0 {
			t.Errorf("reported: %v", names)
		}
	})
}

// A manager that dies while it is asked keeps nobody out.
func TestNobodyWaitsForAManagerThatDies(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	m := n.manager()
	a, b := n.fronts(m)
	n.dead(a, "Ada")
	newer := n.bot(b, "Ada")
	n.eventually("the newer waits", func() bool { return b.roster.size() == 1 })
	m.stop()
	n.on(newer)
}

// Many at once with the same name, through both proxies: one of them plays.
func TestAFloodOfOneNameThroughTwoProxiesIsOnePlayer(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	a, b := n.fronts(n.manager())
	var bots []*mctest.Bot
	for i := range 20 {
		bots = append(bots, n.bot([]*Proxy{a, b}[i%2], []string{"Ada", "aDA"}[i/2%2]))
	}
	in := 0
	for _, one := range bots {
		n.eventually("each is in or told why not", func() bool { return one.Server() != "" || one.Err() != nil })
		if one.Server() != "" {
			in++
			continue
		}
		if got := n.ends(one); got != "Ada is already playing here." && got != "aDA is already playing here." {
			t.Errorf("got %q", got)
		}
	}
	if in != 1 || len(lobby.Players()) != 1 {
		t.Errorf("%d are in, %d on the server", in, len(lobby.Players()))
	}
	n.unharmed()
}

// A proxy that is killed with its players leaves no ghosts: they are back by the
// other one before they have read why, and each has the seat they had.
func TestPlayersOfAProxyThatIsKilledAreBackByAnother(t *testing.T) {
	const players = 20
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{playable: players, slots: players})
	m := n.manager()
	other := n.leads(m, "front-b")
	killed := launchBy(t, n, n.leads(m, "front-a"))
	b := n.front(func(c *Config) { c.Channel.Directory, c.Channel.TokenFile = other, filepath.Join(other, "token") })
	n.eventually("the manager leads the other", b.newcomers.managed)
	m.tell(n, lobby)
	n.eventually("the proxy holds the list", func() bool { return m.store.Proxy("front-a").HoldsDirectory })

	var lost []*mctest.Bot
	for i := range players {
		bot, err := mctest.Join(n.ctx, mctest.BotSettings{Address: killed.address, Name: fmt.Sprint("player", i)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(bot.Leave)
		n.on(bot, "lobby-a")
		lost = append(lost, bot)
	}
	n.eventually("the manager knows of them", func() bool { return m.store.Proxy("front-a").Players == players })
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, bot := range lost {
		n.ends(bot)
		n.on(n.bot(b, bot.Name()), "lobby-a")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("they were back after %s", took)
	} else {
		t.Logf("%d players were back after %s", players, took)
	}
	n.eventually("one place each", func() bool { return len(lobby.Players()) == players && lobby.agent.Pending() == 0 })
	n.eventually("the manager counts each once", func() bool {
		return m.store.NetworkPlayers(types.NamespacedName{Namespace: "minecraft", Name: "production"}) == players
	})
	n.unharmed()
}

// tell has the manager tell its proxies of these servers.
func (m *manager) tell(n *network, servers ...*server) {
	var d sessions.Directory
	for _, s := range servers {
		if group := s.entry.GetGroup(); !slices.ContainsFunc(d.Groups, func(g *agentv1alpha1.DirectoryGroup) bool { return g.GetName() == group }) {
			d.Groups = append(d.Groups, &agentv1alpha1.DirectoryGroup{Name: group})
		}
		d.Servers = append(d.Servers, s.entry)
	}
	m.store.SetDirectory(types.NamespacedName{Namespace: "minecraft", Name: "production"}, d)
	for _, pod := range []types.UID{"front-a", "front-b"} {
		m.store.SetProxySettings(pod, n.settings)
	}
}

// Whom a proxy of this network sends is whoever is still on it, also where names
// are only believed.
func TestWhoIsSentToAnotherProxyIsInNobodysWay(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("lobby-b", rig{})
	a, b := n.fronts(n.manager())
	way := n.oneWayIn(a)
	before := n.bot(a, "Ada", way.through)
	n.on(before)
	way.to.Store(b)
	n.withdraw(a, 1)
	after := n.follow(before)
	n.eventually("only the other proxy has them", func() bool { return a.roster.size() == 0 && b.roster.size() == 1 })
	if after.Err() != nil {
		t.Errorf("they were disconnected: %v", after.Err())
	}
	// Nobody else gets in by that name meanwhile.
	if got := n.ends(n.bot(a, "ada")); got != "Ada is already playing here." {
		t.Errorf("got %q", got)
	}
	n.unharmed()
}

// A client may be gone in a way that keeps its connection: then it takes nothing,
// and a question cannot even be put to it.
func TestADeadPlayerWhoTakesNothingMakesWay(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{settings: mctest.Settings{Traffic: mctest.Traffic{Large: 400}}})
	p := n.front()
	line := n.cable(p)
	n.on(n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Address = line.Addr().String() }))
	line.cut.Store(true)
	time.Sleep(3 * time.Second) // in which what the server sends fills every buffer
	began := time.Now()
	n.on(n.bot(p, "Ada"))
	if took := time.Since(began); took > makeWayWithin+shortly {
		t.Errorf("it took %s", took)
	}
}

// cable carries one client's connection to a proxy until it is cut, which neither
// side is told.
type cable struct {
	net.Listener
	cut atomic.Bool
}

func (n *network) cable(p *Proxy) *cable {
	n.t.Helper()
	c := &cable{Listener: listen(n.t)}
	n.t.Cleanup(func() { c.Close() })
	go func() {
		client, err := c.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", p.address())
		if err != nil {
			return
		}
		defer server.Close()
		go func() { _, _ = io.Copy(server, client) }()
		for buf := make([]byte, 4<<10); !c.cut.Load(); {
			read, err := server.Read(buf)
			if _, err2 := client.Write(buf[:read]); err != nil || err2 != nil {
				return
			}
		}
		<-n.ctx.Done()
	}()
	return c
}
