// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

var pods atomic.Int32

// startPod starts a game and the agent that runs beside it in a pod, on an
// address of their own. The game would take twice as many players as the agent
// gives seats to: nobody but the agent keeps anybody out.
func (n *network) startPod(name string, r rig) *server {
	n.t.Helper()
	number := pods.Add(1)
	ip := fmt.Sprintf("127.%d.%d.%d", 160+os.Getpid()%90, number/250, number%250+1)
	spec := serverspec.Spec{
		Server: name, Group: "lobby", Flavor: serverspec.FlavorPaper, DataDir: "/data", Port: 25565,
		MaxPlayers: int32(r.slots), Forwarding: serverspec.ForwardingVelocity, GraceSeconds: 60, StopToken: "stop-token",
	}
	const management = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	r.settings.Address, r.settings.MaxPlayers = net.JoinHostPort(ip, strconv.Itoa(int(spec.Port))), 2*r.slots
	r.settings.Management = &mctest.ManagementSettings{Address: net.JoinHostPort(ip, strconv.Itoa(int(spec.ManagementPort()))), Secret: management}
	game, err := mctest.Start(n.ctx, r.settings)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { game.Stop(); <-game.Done() })
	config := agent.Config{
		Spec: spec, GameHost: ip, Listener: listenOn(n.t, ip), LocalListener: listenOn(n.t, ip), RunDir: n.t.TempDir(),
		ManagementSecret: management, ForwardingSecrets: [][]byte{[]byte(secret)},
		Channel: channelclient.Config{Directory: n.t.TempDir(), TokenFile: "none", Clock: clock.RealClock{}},
	}
	beside, err := agent.New(config)
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := beside.Run(ctx); err != nil {
			n.t.Errorf("the agent of %s ended: %v", name, err)
		}
	}()
	n.t.Cleanup(func() { cancel(); <-ended })
	address := config.Listener.Addr().String()
	n.eventually(name+" is ready", func() bool { return answers(n.ctx, "http://"+address+serverspec.ReadyPath) })
	group, _, _ := strings.Cut(name, "-")
	return &server{Server: game, entry: &agentv1alpha1.DirectoryServer{
		Name: name, Group: group, Address: game.Address(), SeatAddress: address,
		Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, Players: new(int32(0)), Phase: "Ready",
		PlayableSlots: int32(r.slots), Slots: int32(r.slots), Forwarding: true,
	}}
}

// crowd dials for many players, through the proxies in turn.
func (n *network) crowd(players int, proxies []*Proxy, changes ...func(*mctest.BotSettings)) []*mctest.Bot {
	n.t.Helper()
	bots := make([]*mctest.Bot, players)
	for i := range bots {
		bots[i] = n.bot(proxies[i%len(proxies)], fmt.Sprint("player", i), changes...)
	}
	return bots
}

// disconnected fails the test for everybody who was, and counts them.
func (n *network) disconnected(bots []*mctest.Bot) int {
	n.t.Helper()
	count := 0
	for _, b := range bots {
		if b.Err() != nil {
			count++
			n.t.Errorf("%s: %v", b.Name(), b.Err())
		}
	}
	return count
}

func TestARushThroughTwoProxiesFillsExactlyTheSeats(t *testing.T) {
	const players, seats = 200, 12
	n := newNetwork(t)
	n.settings.HoldSeconds = 0
	n.settings.FallbackGroups = []string{"bedwars"}
	bedwars := n.add("bedwars-a", rig{playable: seats, whole: true})
	proxies := []*Proxy{n.front(), n.front()}
	began := time.Now()
	bots := n.crowd(players, proxies)
	in, told := 0, map[string]int{}
	n.eventually("everybody is in or told why not", func() bool {
		in, told = 0, map[string]int{}
		for _, b := range bots {
			if b.Server() != "" {
				in++
			} else if d, ok := errors.AsType[*mctest.Disconnected](b.Err()); ok {
				told[d.Reason.String()]++
			} else if b.Err() != nil {
				told[b.Err().Error()]++
			}
		}
		sum := in
		for count := range maps.Values(told) {
			sum += count
		}
		return sum == players
	})
	t.Logf("%d players for %d seats through two proxies, in %s: %d in, at most %d at once; told why: %v",
		players, seats, time.Since(began).Round(time.Millisecond), in, bedwars.Most(), told)
	if in != seats || bedwars.Joins() != seats || bedwars.Most() != seats || told["This round is full."] != players-seats {
		t.Errorf("%d are in, %d joined, at most %d were there; told: %v", in, bedwars.Joins(), bedwars.Most(), told)
	}
	n.unharmed()
}

func TestADrainOverFiveLobbiesOvershootsNoneAndDisconnectsNobody(t *testing.T) {
	const players, lobbies, limit = 340 / crowdShare, 5, 70 / crowdShare
	n := newNetwork(t)
	leaving := n.add("lobby-a", rig{playable: players, whole: true})
	proxies := []*Proxy{n.front(), n.front()}
	bots := n.crowd(players, proxies, func(s *mctest.BotSettings) { s.Moves = 5 })
	for _, b := range bots {
		n.on(b, "lobby-a")
	}
	var names []string
	for i := range lobbies {
		name := fmt.Sprint("lobby-", i)
		names = append(names, name)
		n.add(name, rig{playable: limit, whole: true})
	}
	began := time.Now()
	n.door("lobby-a", agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	for _, b := range bots {
		n.on(b, names...)
	}
	took := time.Since(began).Round(time.Millisecond)
	n.eventually("nobody is left", func() bool { return len(leaving.Players()) == 0 })
	there, most := 0, map[string]int{}
	for _, name := range names {
		s := n.servers[name]
		there += len(s.Players())
		most[name] = s.Most()
		if s.Most() > limit {
			t.Errorf("%s had %d players at once, its limit is %d", name, s.Most(), limit)
		}
	}
	lost := n.disconnected(bots)
	t.Logf("%d players drained through two proxies onto %d lobbies of %d seats, in %s: %d landed, %d were disconnected, most at once %v",
		players, lobbies, limit, took, there, lost, most)
	if there != players {
		t.Errorf("%d of %d are there", there, players)
	}
	n.unharmed()
}

// The player waits in the configuration phase, 150 ms away, with keep-alives on
// their way, when a server appears: nothing of it may reach the strict server.
func TestHeldPlayersSurviveTheMomentAServerAppears(t *testing.T) {
	const joins = 500 / crowdShare
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d joins", seed, joins)
	random := rand.New(rand.NewPCG(seed, 0))
	n := newNetwork(t)
	n.settings.MaxHeld = new(int32(joins))
	p := n.front()
	appears := time.Duration(random.IntN(11_000)) * time.Millisecond
	lobby := n.start("lobby-a", rig{playable: joins, whole: true})
	open := time.AfterFunc(appears, func() {
		n.mu.Lock()
		n.servers["lobby-a"] = lobby
		n.mu.Unlock()
		n.publish()
	})
	defer open.Stop()
	var bots []*mctest.Bot
	for i := range joins {
		bots = append(bots, n.bot(p, fmt.Sprint("player", i), func(s *mctest.BotSettings) { s.Latency, s.Moves = 150*time.Millisecond, 5 }))
		time.Sleep(time.Duration(random.IntN(int(6*time.Second) / joins)))
	}
	for _, b := range bots {
		n.on(b, "lobby-a")
	}
	time.Sleep(time.Second) // late answers have arrived by then
	there := len(lobby.Players())
	t.Logf("a server appeared after %s: %d of %d joined, %d were disconnected", appears, there, joins, n.disconnected(bots))
	if there != joins {
		t.Errorf("%d of %d are there", there, joins)
	}
	n.unharmed()
}

func TestTwoProxiesSpreadPlayersOverTwoLobbies(t *testing.T) {
	const players = 60
	n := newNetwork(t)
	a, b := n.add("lobby-a", rig{playable: players, whole: true}), n.add("lobby-b", rig{playable: players, whole: true})
	proxies := []*Proxy{n.front(), n.front()}
	apart := map[int]int{}
	for i := range players {
		// One proxy has twice the players of the other.
		n.on(n.bot(proxies[min(i%3, 1)], fmt.Sprint("player", i)))
		n.eventually("everybody is counted", func() bool { return len(a.Players())+len(b.Players()) == i+1 })
		d := max(len(a.Players()), len(b.Players())) - min(len(a.Players()), len(b.Players()))
		apart[d]++
		if d > 1 {
			t.Errorf("after %d players: %d and %d", i+1, len(a.Players()), len(b.Players()))
		}
	}
	t.Logf("%d players one after the other through two proxies: %d and %d; how often how far apart: %v",
		players, len(a.Players()), len(b.Players()), apart)
	n.unharmed()
}
