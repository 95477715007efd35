// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/seats"
	"github.com/spawnery/spawnery-operator/internal/seats/seatstest"
)

const secret = "a forwarding secret"

// network is servers with their agents, and proxies in front of them. The
// test is the manager: it says what the proxies know.
type network struct {
	t        testing.TB
	ctx      context.Context
	settings *agentv1alpha1.ProxySettings
	proxies  []*Proxy
	silent   bool // the manager says nothing
	quiet    bool // the proxies log nothing
	joins    map[string]*agentv1alpha1.JoinPermission

	mu       sync.Mutex
	revision uint64
	servers  map[string]*server
}

// server is a game server with its agent, as the directory shows it.
type server struct {
	*mctest.Server
	agent *seatstest.Agent // nil beside a whole agent
	entry *agentv1alpha1.DirectoryServer
}

// newNetwork is for tests that mostly wait: they run beside others.
func newNetwork(t *testing.T) *network {
	t.Helper()
	t.Parallel()
	return newNetworkAlone(t)
}

// patience bounds a test on a machine with other work to do.
const patience = 5 * time.Minute

// evidence is how large the trials are that a release is judged by; the short
// form runs with every test.
func evidence(short, full int) int {
	if os.Getenv("SPAWNERY_EVIDENCE") != "" {
		return full
	}
	return short
}

// newNetworkAlone is for tests that measure.
func newNetworkAlone(t testing.TB) *network {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &network{
		t: t, ctx: ctx, servers: map[string]*server{},
		settings: &agentv1alpha1.ProxySettings{
			Network: "production", FallbackGroups: []string{"lobby"}, HoldSeconds: 30,
			Motd: "A §agreen§r network", PlayerLimit: 500,
			RateLimits: &agentv1alpha1.RateLimits{ExemptCidrs: []string{"127.0.0.0/8"}}, // every bot's
		},
	}
}

// rig is how a server is set up.
type rig struct {
	playable, slots int
	settings        mctest.Settings
	plain           bool // without forwarding, and not said to have any
	whole           bool // with the agent of a pod instead of a stand-in
}

// add starts a server whose group is its name up to the dash, and publishes it.
func (n *network) add(name string, r rig) *server {
	n.t.Helper()
	s := n.start(name, r)
	n.mu.Lock()
	n.servers[name] = s
	n.mu.Unlock()
	n.publish()
	return s
}

func (n *network) start(name string, r rig) *server {
	n.t.Helper()
	r.slots = max(r.slots, r.playable)
	if r.slots == 0 {
		r.playable, r.slots = 500, 500
	}
	r.settings.Name, r.settings.MaxPlayers = name, r.slots
	if !r.plain && r.settings.ForwardingSecret == "" {
		r.settings.ForwardingSecret = secret
	}
	if r.whole {
		return n.startPod(name, r)
	}
	game, err := mctest.Start(n.ctx, r.settings)
	if err != nil {
		n.t.Fatal(err)
	}
	agent, err := seatstest.Start(seatstest.Config{
		Server: name, Playable: r.playable, Slots: r.slots, Secret: []byte(cmp.Or(r.settings.ForwardingSecret, secret)),
		Online: func() []string { return namesOf(game) },
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { game.Stop(); <-game.Done(); agent.Close() })
	group, _, _ := strings.Cut(name, "-")
	return &server{Server: game, agent: agent, entry: &agentv1alpha1.DirectoryServer{
		Name: name, Group: group, Address: game.Address(), SeatAddress: agent.Address(),
		Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, Players: new(int32(0)), Phase: "Ready",
		PlayableSlots: int32(r.playable), Slots: int32(r.slots), Forwarding: !r.plain,
	}}
}

func namesOf(game *mctest.Server) []string {
	var names []string
	for _, who := range game.Players() {
		names = append(names, who.Name)
	}
	return names
}

// door changes a server's door.
func (n *network) door(name string, door agentv1alpha1.DoorState) {
	n.mu.Lock()
	changed := proto.CloneOf(n.servers[name].entry)
	changed.Door = door
	n.servers[name].entry = changed
	n.mu.Unlock()
	n.publish()
}

// remove takes a server off the list.
func (n *network) remove(name string) {
	n.mu.Lock()
	delete(n.servers, name)
	n.mu.Unlock()
	n.publish()
}

// publish tells every proxy of the network as it is.
func (n *network) publish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.silent {
		return
	}
	n.revision++
	d := &agentv1alpha1.Directory{Revision: n.revision, Full: true}
	groups := map[string]bool{"lobby": true}
	for _, s := range n.servers {
		entry := proto.CloneOf(s.entry)
		entry.Players = new(int32(len(s.Players())))
		d.Servers = append(d.Servers, entry)
		d.NetworkPlayers += entry.GetPlayers()
		groups[entry.GetGroup()] = true
	}
	for group := range groups {
		d.Groups = append(d.Groups, &agentv1alpha1.DirectoryGroup{Name: group, JoinPermission: n.joins[group]})
	}
	for _, p := range n.proxies {
		p.store.SetSettings(n.settings)
		p.store.Apply(d)
	}
}

// configure changes the settings.
func (n *network) configure(change func(*agentv1alpha1.ProxySettings)) {
	n.mu.Lock()
	changed := proto.CloneOf(n.settings)
	change(changed)
	n.settings = changed
	n.mu.Unlock()
	n.publish()
}

func (n *network) config() Config {
	n.t.Helper()
	return Config{
		Listener: listen(n.t), HTTP: listen(n.t),
		Channel: channelclient.Config{Directory: n.t.TempDir(), TokenFile: "none", Clock: clock.RealClock{}},
		Secrets: [][]byte{[]byte(secret)}, SessionServer: "http://127.0.0.1:1",
		Sessions: login.SessionLimits{Burst: 1000, PerSecond: 1000, RetryFor: time.Second},
		Limits:   guard.DefaultLimits(), DrainTimeout: 20 * time.Second, Clock: clock.RealClock{},
	}
}

func (n *network) log() logr.Logger {
	if testing.Verbose() && !n.quiet {
		return testr.NewWithInterface(n.t, testr.Options{Verbosity: 1})
	}
	return logr.Discard()
}

// front starts a proxy.
func (n *network) front(changes ...func(*Config)) *Proxy {
	n.t.Helper()
	config := n.config()
	for _, change := range changes {
		change(&config)
	}
	p, err := New(config, n.log())
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); err != nil {
			n.t.Errorf("the proxy ended: %v", err)
		}
	}()
	n.proxies = append(n.proxies, p)
	n.t.Cleanup(func() {
		// Nobody is waited for at the end of a test.
		for _, player := range p.roster.all() {
			player.Disconnect(mcproto.Plain("the test is over"))
		}
		cancel()
		<-done
	})
	n.publish()
	return p
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	return listenOn(t, "127.0.0.1")
}

func listenOn(t testing.TB, ip string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (p *Proxy) address() string { return p.config.Listener.Addr().String() }

// bot dials a proxy.
func (n *network) bot(p *Proxy, name string, changes ...func(*mctest.BotSettings)) *mctest.Bot {
	n.t.Helper()
	settings := mctest.BotSettings{Address: p.address(), Name: name}
	for _, change := range changes {
		change(&settings)
	}
	b, err := mctest.Join(n.ctx, settings)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(b.Leave)
	return b
}

// joined is a bot that is on one of the servers.
func (n *network) joined(p *Proxy, name string, servers ...string) *mctest.Bot {
	n.t.Helper()
	b := n.bot(p, name)
	on := n.servers[n.on(b, servers...)]
	n.eventually("the agent has seen the player", func() bool { return on.agent.Pending() == 0 })
	return b
}

func (n *network) on(b *mctest.Bot, servers ...string) string {
	n.t.Helper()
	name, err := b.WaitServer(n.ctx, servers...)
	if err != nil {
		n.t.Fatal(err)
	}
	return name
}

// hears waits for a chat line with these words.
func (n *network) hears(b *mctest.Bot, words string) {
	n.t.Helper()
	if _, err := b.WaitLine(n.ctx, func(line string) bool { return strings.Contains(line, words) }); err != nil {
		n.t.Fatalf("%v; heard %q", err, b.Lines())
	}
}

// ends waits for the end of a bot and returns why it was sent away.
func (n *network) ends(b *mctest.Bot) string {
	n.t.Helper()
	select {
	case <-b.Done():
	case <-n.ctx.Done():
		n.t.Fatalf("%s was not sent away", b.Name())
	}
	if d, ok := errors.AsType[*mctest.Disconnected](b.Err()); ok {
		return d.Reason.String()
	}
	return fmt.Sprint("without a reason: ", b.Err())
}

// answers reports whether a page can be had.
func answers(ctx context.Context, page string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return false
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// eventually waits for a condition.
func (n *network) eventually(what string, condition func() bool) {
	n.t.Helper()
	for !condition() {
		select {
		case <-n.ctx.Done():
			n.t.Fatalf("it did not come to pass: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// unharmed fails the test when a server had reason to complain.
func (n *network) unharmed() {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, s := range n.servers {
		for _, v := range s.Violations() {
			n.t.Errorf("%s: %s: %s", name, v.Player, v.Detail)
		}
	}
}

// fullUp is an agent's word on a server without a free slot.
var fullUp = &seats.Refusal{Reason: seats.Full, Message: "every slot is taken"}
