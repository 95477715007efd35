// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func TestMain(m *testing.M) {
	err := errors.Join(flag.Set("rapid.checks", "2000"), flag.Set("rapid.nofailfile", "true"))
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// person is somebody as they really are.
type person struct {
	proxy  string // empty: not on the network
	server string // by the proxy's word
	going  string // where the proxy has a seat for them
}

const everybody = 99

func (p person) waits() bool { return p.proxy != "" && p.server == "" && p.going == "" }

// truth is a network of two proxies, a group of two servers and a server of
// another group, all of whose reports are under way for as long as they like.
type truth struct {
	*network
	named   int // of so many who are online games tell the names
	people  map[string]*person
	seats   map[string]map[string]bool // by server: admitted and not online
	online  map[string]map[string]bool // by server, by the game's word
	skew    map[string]time.Duration
	sending map[string][]func() // by sender, in order
}

func newTruth(t *testing.T, draw *rapid.T) *truth {
	w := &truth{
		network: newNetwork(t), named: rapid.SampledFrom([]int{0, 1, everybody}).Draw(draw, "games name players"), people: map[string]*person{},
		seats: map[string]map[string]bool{}, online: map[string]map[string]bool{},
		skew: map[string]time.Duration{}, sending: map[string][]func(){},
	}
	for i := range rapid.IntRange(1, 4).Draw(draw, "people") {
		w.people[fmt.Sprint("Player", i)] = &person{}
	}
	for _, server := range []string{"lobby-a", "lobby-b", "game-a"} {
		w.seats[server], w.online[server] = map[string]bool{}, map[string]bool{}
	}
	for _, sender := range []string{"lobby-a", "lobby-b", "1", "2"} {
		w.skew[sender] = time.Duration(rapid.IntRange(-90, 90).Draw(draw, "skew of "+sender)) * time.Second
	}
	return w
}

// live has somebody take one of the steps that are open to them.
func (w *truth) live(t *rapid.T) {
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(w.people))).Draw(t, "who")
	steps := w.steps(name, w.people[name])
	steps[rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(t, "step")]()
}

func (w *truth) steps(name string, p *person) map[string]func() {
	if p.proxy == "" {
		return map[string]func(){
			"come by the first proxy":  func() { p.proxy = "1" },
			"come by the second proxy": func() { p.proxy = "2" },
		}
	}
	steps := map[string]func(){"quit": func() {
		for server := range w.seats {
			w.leave(name, server)
		}
		*p = person{}
	}}
	if p.server != "" {
		steps["be seen by the game"] = func() { w.join(name, p.server) }
	}
	if p.going != "" {
		steps["be attached"] = func() {
			w.leave(name, p.server)
			p.server, p.going = p.going, ""
		}
		steps["be refused"] = func() {
			delete(w.seats[p.going], name)
			p.going = ""
		}
		return steps
	}
	for server, seats := range w.seats {
		switch {
		case server == p.server:
			steps["fall off "+server] = func() {
				w.leave(name, server)
				p.server = ""
			}
		case seats[name]:
			steps["set off to "+server] = func() { p.going = server }
			steps["decline a seat on "+server] = func() { delete(seats, name) }
		case !w.online[server][name]:
			// Of which the proxy does not know yet.
			steps["get a seat on "+server] = func() { seats[name] = true }
		}
	}
	return steps
}

// join has the game see the player. One that does not name everybody leaves
// open whose seat that was.
func (w *truth) join(name, server string) {
	w.online[server][name] = true
	if w.named == everybody {
		delete(w.seats[server], name)
	}
}

// leave has a player leave a server, which may notice later. One that does not
// name everybody has to notice at once: it can speak of it later all the same.
func (w *truth) leave(name, server string) {
	delete(w.seats[server], name)
	if w.named != everybody {
		delete(w.online[server], name)
	}
}

// notice has a game see that players have gone.
func (w *truth) notice(t *rapid.T) {
	w.noticeOn(rapid.SampledFrom([]string{"lobby-a", "lobby-b"}).Draw(t, "server"))
}

func (w *truth) noticeOn(server string) {
	maps.DeleteFunc(w.online[server], func(name string, _ bool) bool { return w.people[name].server != server })
}

// reportNow has somebody say what they know; it arrives some time.
func (w *truth) reportNow(t *rapid.T) {
	w.speak(rapid.SampledFrom([]string{"lobby-a", "lobby-b", "1", "2"}).Draw(t, "sender"))
}

// arrivals has the oldest report of somebody arrive.
func (w *truth) arrivals(t *rapid.T) {
	w.hear(rapid.SampledFrom([]string{"lobby-a", "lobby-b", "1", "2"}).Draw(t, "receiver"), 1)
}

func (w *truth) speak(sender string) {
	sent := w.clock.Now().Add(w.skew[sender])
	if session, ok := w.agents[sender]; ok {
		report := w.serverReport(sender)
		w.sending[sender] = append(w.sending[sender], func() { w.receive(session, proto.CloneOf(report), sent, sent) })
		return
	}
	session := map[string]*ProxySession{"1": w.front, "2": w.second}[sender]
	report := w.proxyReport(sender)
	w.sending[sender] = append(w.sending[sender], func() { w.receiveProxy(session, proto.CloneOf(report), sent) })
}

func (w *truth) hear(sender string, count int) {
	for ; count > 0 && len(w.sending[sender]) > 0; count-- {
		w.sending[sender][0]()
		w.sending[sender] = w.sending[sender][1:]
	}
}

func (w *truth) serverReport(server string) *agentv1alpha1.ServerReport {
	report := &agentv1alpha1.ServerReport{Online: int32(len(w.online[server]))}
	report.Admitted = players(slices.Sorted(maps.Keys(w.seats[server]))...)
	online := slices.Sorted(maps.Keys(w.online[server]))
	report.Players = players(online[:min(w.named, len(online))]...)
	return report
}

func (w *truth) proxyReport(proxy string) *agentv1alpha1.ProxyReport {
	report := &agentv1alpha1.ProxyReport{}
	for _, name := range slices.Sorted(maps.Keys(w.people)) {
		p := w.people[name]
		if p.proxy != proxy {
			continue
		}
		report.Roster = append(report.Roster, at(name, p.server, p.going))
		if p.waits() {
			report.Waiting = append(report.Waiting, held(name))
		}
	}
	return report
}

func (c Census) sum() int {
	sum := c.Waiting
	for _, seated := range c.Seated {
		sum += seated
	}
	return sum
}

// check is the one rule: nobody counts twice, whatever is known of whom.
func (w *truth) check(t *rapid.T) {
	if got := w.Census(named("lobby"), lobbies); got.sum() > len(w.people) {
		t.Fatalf("%d people count as %+v", len(w.people), got)
	}
}

// want is what the census has to come to once everything is known.
func (w *truth) want() Census {
	want := Census{Seated: map[string]int{}}
	for name, p := range w.people {
		seated := false
		for server := range lobbies {
			seated = seated || p.server == server || p.going == server || w.seats[server][name]
		}
		switch {
		case seated:
			want.Seated["sum"]++
		case p.waits():
			want.Waiting++
		}
	}
	return want
}

// settle delivers everything and compares with the truth.
func (w *truth) settle(t *rapid.T) {
	for server := range w.online {
		w.noticeOn(server)
	}
	// The proxies first: a seat that no proxy knows of yet is the newest word.
	for _, sender := range []string{"1", "2", "lobby-a", "lobby-b"} {
		w.hear(sender, len(w.sending[sender]))
		for range 8 { // the clocks are known as well as they will be
			w.clock.Step(50 * time.Millisecond)
			w.speak(sender)
			w.hear(sender, 1)
		}
	}
	got, want := w.Census(named("lobby"), lobbies), w.want()
	if got.Waiting != want.Waiting || got.sum() != want.sum() {
		t.Fatalf("all is known, and the census is %+v, want %+v", got, want)
	}
}

func TestNobodyIsEverCountedTwiceHoweverReportsCross(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		w := newTruth(t, draw)
		draw.Repeat(map[string]func(*rapid.T){
			"live": w.live, "live on": w.live, "notice": w.notice, "report": w.reportNow, "arrivals": w.arrivals,
			"time": func(t *rapid.T) {
				w.clock.Step(time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond)
			},
			"": w.check,
		})
		w.settle(draw)
	})
}
