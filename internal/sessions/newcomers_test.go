// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	olderStays = agentv1alpha1.Precedence_PRECEDENCE_OLDER_STAYS
	newestWins = agentv1alpha1.Precedence_PRECEDENCE_NEWEST_WINS

	free      = agentv1alpha1.Way_WAY_FREE
	trying    = agentv1alpha1.Way_WAY_TRYING
	taken     = agentv1alpha1.Way_WAY_TAKEN
	overtaken = agentv1alpha1.Way_WAY_OVERTAKEN
)

// door is a network with proxies, of which all but the one called "old" know of
// newcomers.
type door struct {
	*fixture
	proxies map[string]*ProxySession
}

func newDoor(t *testing.T, proxies ...string) *door {
	t.Helper()
	d := &door{fixture: newFixture(t), proxies: map[string]*ProxySession{}}
	for _, name := range proxies {
		d.open(name)
	}
	return d
}

func (d *door) open(name string) {
	d.Helper()
	hello := &agentv1alpha1.Hello{Capabilities: []string{agentv1alpha1.CapabilityNewcomers}}
	if name == "old" {
		hello = &agentv1alpha1.Hello{}
	}
	pod := proxyPod(types.UID(name))
	if name == "elsewhere" {
		pod.Network = "another"
	}
	d.proxies[name] = d.OpenProxy(pod, hello)
	d.proxyReport(d.proxies[name], &agentv1alpha1.ProxyReport{})
	d.orders(name)
}

// orders are those of newcomers that a proxy is sent now, in a few words.
func (d *door) orders(name string) []string {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for {
		order, _ := d.proxies[name].pick(d.clock.Now())
		switch {
		case order == nil:
			return list
		case order.GetMakeWay() != nil:
			list = append(list, "make way for "+order.GetMakeWay().GetPlayer().GetName())
		case order.GetNewcomerAnswer() != nil:
			answer := order.GetNewcomerAnswer()
			list = append(list, strings.TrimSpace(answer.GetId()+": "+answer.GetWay().String()+" "+answer.GetName()))
		}
	}
}

func (d *door) comes(proxy, id, name string, rule agentv1alpha1.Precedence) {
	d.Helper()
	err := d.proxies[proxy].Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Newcomer{Newcomer: &agentv1alpha1.Newcomer{
		Id: id, Player: &agentv1alpha1.Player{Uuid: []byte(strings.ToLower(name)), Name: name}, Precedence: rule,
	}}})
	if err != nil {
		d.Fatal(err)
	}
}

// says has a proxy answer about the newcomer of another.
func (d *door) says(proxy, other, id string, way agentv1alpha1.Way, name string) {
	d.Helper()
	err := d.proxies[proxy].Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_MakeWayResult{MakeWayResult: &agentv1alpha1.MakeWayResult{
		Id: string(d.proxies[other].proxy.pod.UID) + "/" + id, Way: way, Name: name,
	}}})
	if err != nil {
		d.Fatal(err)
	}
}

func (d *door) want(proxy string, want ...string) {
	d.Helper()
	if diff := cmp.Diff(want, d.orders(proxy)); diff != "" {
		d.Errorf("%s is told (-want +got):\n%s", proxy, diff)
	}
}

func TestANewcomerComesInOnceEveryOtherProxyHasMadeWay(t *testing.T) {
	for name, row := range map[string]struct {
		happens func(*door)
		want    []string
	}{
		"nobody has them": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.want("a")
			d.says("c", "a", "1", free, "")
		}, []string{"1: WAY_FREE"}},
		"somebody has gone for them": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.says("c", "a", "1", trying, "")
			d.clock.Step(5 * time.Second)
			d.want("a")
			d.says("c", "a", "1", free, "")
		}, []string{"1: WAY_FREE"}},
		"somebody stays": {func(d *door) {
			d.says("c", "a", "1", trying, "")
			d.says("c", "a", "1", taken, "Ada")
		}, []string{"1: WAY_TAKEN Ada"}},
		"a proxy that says nothing is dead": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.clock.Step(wordWithin)
		}, []string{"1: WAY_FREE"}},
		"one that has just reported them is only busy": {func(d *door) {
			d.proxyReport(d.proxies["c"], &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{at("ada", "lobby-a", "")}})
			d.comes("a", "2", "Ada", olderStays)
			d.orders("b")
			d.says("b", "a", "2", free, "")
			d.clock.Step(wordWithin)
			d.want("a")
			d.clock.Step(busyWithin - wordWithin)
		}, []string{"2: WAY_FREE"}},
		"one that does not come to an end, too": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.says("c", "a", "1", trying, "")
			d.clock.Step(wayWithin)
		}, []string{"1: WAY_FREE"}},
		"one that loses its session is not waited for": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.says("c", "a", "1", trying, "")
			d.proxies["c"].Close()
		}, []string{"1: WAY_FREE"}},
		"nor one whose pod has gone": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.Forget(d.proxies["c"].proxy.pod.UID)
		}, []string{"1: WAY_FREE"}},
		"a proxy repeats what may be lost": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.says("c", "a", "1", free, "")
			d.orders("a")
			d.comes("a", "1", "Ada", olderStays)
		}, []string{"1: WAY_FREE"}},
		"a session that is renewed loses no word": {func(d *door) {
			d.says("b", "a", "1", free, "")
			d.says("c", "a", "1", free, "")
			d.renew("a")
		}, []string{"1: WAY_FREE"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, "a", "b", "c", "elsewhere")
			d.comes("a", "1", "Ada", olderStays)
			d.want("a")
			d.want("b", "make way for Ada")
			d.want("c", "make way for Ada")
			d.want("elsewhere")
			row.happens(d)
			d.want("a", row.want...)
			d.want("b")
		})
	}
}

func TestOfTwoNewcomersOneComesIn(t *testing.T) {
	for name, row := range map[string]struct {
		rule agentv1alpha1.Precedence
		a, b []string
	}{
		"the newest where they are proven":     {newestWins, []string{"1: WAY_OVERTAKEN", "make way for ada"}, []string{"make way for Ada"}},
		"the older where anybody may say that": {olderStays, nil, []string{"make way for Ada", "2: WAY_TAKEN Ada"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, "a", "b")
			d.comes("a", "1", "Ada", row.rule)
			d.comes("b", "2", "ada", row.rule)
			d.want("a", row.a...)
			d.want("b", row.b...)
			d.says("b", "a", "1", free, "")
			d.says("a", "b", "2", free, "")
			if row.rule == newestWins {
				d.want("b", "2: WAY_FREE")
				return
			}
			d.want("a", "1: WAY_FREE")
			d.want("b")
		})
	}
}

// Who has come to a proxy is not sent away by what it was asked before.
func TestAProxyIsNotAskedAgainAboutWhoHasComeToItMeanwhile(t *testing.T) {
	for name, row := range map[string]struct {
		again func(*door) // a session of b ends, and another begins
		lost  func(*door) // before it the answer is lost, or arrives
		want  []string
	}{
		"by a session that is renewed": {
			func(d *door) { d.renew("b") }, func(d *door) { d.says("b", "a", "1", free, "") }, nil,
		},
		"by one that begins when there was none": {
			func(d *door) { d.proxies["b"].Close(); d.open("b") }, func(*door) {}, nil,
		},
		"by one long after": {
			func(d *door) { d.clock.Step(newcomersKept); d.renew("b") }, func(*door) {}, nil,
		},
		"but is when nobody had its answer": {
			func(d *door) { d.renew("b") }, func(*door) {}, []string{"make way for Ada"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, "a", "b")
			d.comes("a", "1", "Ada", newestWins)
			d.want("b", "make way for Ada")
			row.lost(d)
			row.again(d)
			d.want("b", row.want...)
		})
	}
}

// renew has a session take over from another.
func (d *door) renew(name string) {
	d.Helper()
	before := d.proxies[name]
	d.proxies[name] = d.OpenProxy(before.proxy.pod, &agentv1alpha1.Hello{Capabilities: []string{agentv1alpha1.CapabilityNewcomers}})
	before.Close()
}

func TestAProxyThatLetsSomebodyInLearnsOfItBeforeItIsToMakeWay(t *testing.T) {
	d := newDoor(t, "a", "b")
	d.comes("a", "1", "Ada", newestWins)
	d.says("b", "a", "1", free, "")
	d.comes("b", "2", "Ada", newestWins)
	d.want("a", "1: WAY_FREE", "make way for Ada")
}

func TestANewcomerWhoTriesAgainIsNotInTheirOwnWay(t *testing.T) {
	d := newDoor(t, "a", "b")
	d.comes("a", "1", "Ada", olderStays)
	d.says("b", "a", "1", trying, "")
	d.comes("a", "2", "Ada", olderStays)
	d.says("b", "a", "1", taken, "Ada")
	d.says("b", "a", "2", free, "")
	d.want("a", "2: WAY_FREE")
}

func TestAProxyThatCannotBeAskedIsBelieved(t *testing.T) {
	for name, row := range map[string]struct {
		rule agentv1alpha1.Precedence
		age  time.Duration
		want string
	}{
		"whoever it has stays":                   {olderStays, 0, "1: WAY_TAKEN Ada"},
		"but not against who has proven it":      {newestWins, 0, "1: WAY_FREE"},
		"nor for longer than its word is a fact": {olderStays, FreshFor + time.Second, "1: WAY_FREE"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, "a", "old")
			d.proxyReport(d.proxies["old"], &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")}})
			d.clock.Step(row.age)
			d.comes("a", "1", "aDA", row.rule)
			d.want("a", row.want)
			d.want("old")
		})
	}
}

func TestANewcomerWithoutAnIDEndsTheSession(t *testing.T) {
	d := newDoor(t, "a")
	for _, id := range []string{"", strings.Repeat("x", longestNewcomerID+1)} {
		message := &agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Newcomer{Newcomer: &agentv1alpha1.Newcomer{Id: id}}}
		if err := d.proxies["a"].Receive(message); err == nil {
			t.Errorf("an id of %d bytes was taken", len(id))
		}
	}
}

func TestWhatIsRememberedOfNewcomersEnds(t *testing.T) {
	d := newDoor(t, "a", "b")
	for range 50 {
		d.comes("a", d.clock.Now().Format(time.RFC3339), "Ada", olderStays)
		d.clock.Step(wordWithin)
		d.orders("a")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, b := len(d.proxies["a"].proxy.newcomers.byID), len(d.proxies["b"].proxy.sayings.list); a > 13 || b > 13 {
		t.Errorf("%d newcomers and %d orders are kept", a, b)
	}
}

// What one newcomer costs must not depend on how many came lately.
func BenchmarkAFloodOfNewcomers(b *testing.B) {
	for _, kept := range []int{0, 12_000} {
		b.Run(strconv.Itoa(kept), func(b *testing.B) {
			d := newFlood(b, time.Duration(kept)*time.Millisecond)
			b.ResetTimer()
			for range b.N {
				d.comes(b)
			}
		})
	}
}

// flood is a new name every millisecond by one of two proxies.
type flood struct {
	store *Store
	clock *clocktesting.FakeClock
	a, b  *ProxySession
	count int
}

func newFlood(b *testing.B, since time.Duration) *flood {
	b.Helper()
	hello := &agentv1alpha1.Hello{Capabilities: []string{agentv1alpha1.CapabilityNewcomers}}
	f := &flood{clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	f.store = New(Config{Version: "1.2.3", Clock: f.clock})
	f.a, f.b = f.store.OpenProxy(proxyPod("a"), hello), f.store.OpenProxy(proxyPod("b"), hello)
	for began := f.clock.Now(); f.clock.Since(began) < since; {
		f.comes(b)
	}
	return f
}

func (f *flood) comes(b *testing.B) {
	b.Helper()
	f.clock.Step(time.Millisecond)
	f.count++
	name := strconv.Itoa(f.count)
	f.tell(b, f.a, &agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Newcomer{Newcomer: &agentv1alpha1.Newcomer{
		Id: name, Player: &agentv1alpha1.Player{Uuid: []byte(name), Name: name}, Precedence: olderStays,
	}}})
	f.orders(b, f.b)
	f.orders(b, f.a)
}

func (f *flood) tell(b *testing.B, by *ProxySession, message *agentv1alpha1.ProxyMessage) {
	b.Helper()
	if err := by.Receive(message); err != nil {
		b.Fatal(err)
	}
}

// orders carries out those of a proxy.
func (f *flood) orders(b *testing.B, of *ProxySession) {
	b.Helper()
	for {
		f.store.mu.Lock()
		order, _ := of.pick(f.clock.Now())
		f.store.mu.Unlock()
		if order == nil {
			return
		}
		if asked := order.GetMakeWay(); asked != nil {
			f.tell(b, of, &agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_MakeWayResult{
				MakeWayResult: &agentv1alpha1.MakeWayResult{Id: asked.GetId(), Way: free},
			}})
		}
	}
}
