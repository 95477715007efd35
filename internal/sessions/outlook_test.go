// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// order is the next one of a server session.
func (f *fixture) order(session *ServerSession) *agentv1alpha1.ServerOrder {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
	defer cancel()
	got, err := session.Next(ctx)
	if err != nil {
		f.Fatal(err)
	}
	return got
}

// wants has the agent say whether somebody wants to know the network.
func (f *fixture) wants(session *ServerSession, wanted bool) {
	f.Helper()
	f.report(session, &agentv1alpha1.ServerReport{NetworkWanted: wanted}, 0, 0)
}

func reachable(name string, players int32) *agentv1alpha1.DirectoryServer {
	listed := entry(name, players)
	listed.Address, listed.SeatAddress = "10.0.0.1:25565", "10.0.0.1:9357"
	return listed
}

func (f *fixture) list(all ...*agentv1alpha1.DirectoryServer) {
	f.SetDirectory(named("production"), Directory{Servers: all, Groups: []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}}, Players: 3})
}

func TestAServerThatWantsTheNetworkIsToldItWithoutAddresses(t *testing.T) {
	f := newFixture(t)
	proxy := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
	f.proxyReport(proxy, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{{Player: &agentv1alpha1.Player{Name: "Ada"}}}})
	f.list(reachable("a", 1), reachable("b", 2))
	session := f.OpenServer(serverPod("1"), &agentv1alpha1.Hello{})
	if f.order(session).GetWelcome() == nil {
		t.Fatal("the first order is no welcome")
	}
	f.wants(session, false)
	f.wantIdle(idle(session.pick))
	f.wants(session, true)
	got := f.order(session).GetNetwork()
	want := &agentv1alpha1.Directory{
		Revision: got.GetRevision(), Full: true, NetworkPlayers: 3,
		Servers: []*agentv1alpha1.DirectoryServer{entry("a", 1), entry("b", 2)},
		Groups:  []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}},
		Proxies: []*agentv1alpha1.DirectoryProxies{{Group: "front", Proxies: 1, Players: 1}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("the whole network (-want +got):\n%s", diff)
	}
	if told := f.proxyDirectory(proxy); told.GetServers()[0].GetAddress() == "" || told.GetProxies() != nil {
		t.Errorf("proxies are told %v", told)
	}
}

// proxyDirectory is the next directory of a proxy's session.
func (f *fixture) proxyDirectory(session *ProxySession) *agentv1alpha1.Directory {
	f.Helper()
	for {
		if told := f.proxyOrder(session).GetDirectory(); told != nil {
			return told
		}
	}
}

func TestWhatChangesInTheNetworkIsToldOnceASecondAtMost(t *testing.T) {
	f := newFixture(t)
	f.list(reachable("a", 1), reachable("b", 2))
	session := f.OpenServer(serverPod("1"), &agentv1alpha1.Hello{})
	f.order(session)
	f.wants(session, true)
	first := f.order(session).GetNetwork()
	f.list(reachable("a", 5), reachable("b", 2))
	f.list(reachable("a", 6), reachable("c", 0))
	f.wantIdle(idle(session.pick))
	f.clock.Step(outlookSpacing)
	got := f.order(session).GetNetwork()
	want := &agentv1alpha1.Directory{
		Revision: got.GetRevision(), NetworkPlayers: 3, Removed: []string{"b"},
		Servers: []*agentv1alpha1.DirectoryServer{entry("a", 6), entry("c", 0)},
		Groups:  []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("the difference (-want +got):\n%s", diff)
	}
	if got.GetRevision() <= first.GetRevision() {
		t.Errorf("revision %d after %d", got.GetRevision(), first.GetRevision())
	}
}

func TestAServerThatWantsTheNetworkAgainIsToldTheWholeOfIt(t *testing.T) {
	f := newFixture(t)
	f.list(reachable("a", 1))
	session := f.OpenServer(serverPod("1"), &agentv1alpha1.Hello{})
	f.order(session)
	f.wants(session, true)
	f.order(session)
	// Nothing was sent between the two, which must not hide the first.
	f.wants(session, false)
	f.wants(session, true)
	if again := f.order(session).GetNetwork(); !again.GetFull() {
		t.Errorf("it is told %v", again)
	}
	renewed := f.OpenServer(serverPod("1"), &agentv1alpha1.Hello{})
	f.order(renewed)
	if again := f.order(renewed).GetNetwork(); !again.GetFull() {
		t.Errorf("a renewed session is told %v", again)
	}
}

func TestNothingIsHeldOfANetworkThatIsGone(t *testing.T) {
	f := newFixture(t)
	f.list(reachable("a", 1))
	session := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
	before := f.proxyDirectory(session)
	f.DropDirectory(named("production"))
	if len(f.directories) != 0 || len(f.outlooks) != 0 {
		t.Errorf("held are %v and %v", f.directories, f.outlooks)
	}
	f.wantIdle(idle(session.pick))
	f.clock.Step(time.Second)
	f.list(reachable("b", 1))
	if again := f.proxyDirectory(session); again.GetRevision() <= before.GetRevision() || again.GetServers()[0].GetName() != "b" {
		t.Errorf("of the next network of that name it is told %v after %v", again, before)
	}
}
