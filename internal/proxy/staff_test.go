// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/controllers/asks" //nolint:depguard // both ends of the channel are on trial
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/proxy/commands"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// staffed is a network with two proxies, a manager that carries out what staff
// asks for, and Ada who may ask for everything.
type staffed struct {
	*network

	kube  client.Client
	store *sessions.Store
	told  *events.FakeRecorder
	a, b  *Proxy
}

func newStaffed(t *testing.T) *staffed {
	t.Helper()
	n := newNetwork(t)
	n.settings.Permissions = []*agentv1alpha1.PermissionGroup{{
		Name: "staff", TrustOfflineNames: true, Players: []string{"Ada"}, Permissions: []string{"spawnery.cloud.*", "spawnery.command.*"},
	}}
	lobby, duels := n.add("lobby-a", rig{}), n.add("duels-a", rig{})
	m := n.manager()
	s := &staffed{network: n, store: m.store, told: events.NewFakeRecorder(100)}
	s.a, s.b = n.fronts(m)
	m.tell(n, lobby, duels)
	s.kube = kubeWithLobby(t)
	office := &asks.Office{Client: s.kube, Live: s.kube, Sessions: m.store, Players: m.store, Events: s.told, Clock: clock.RealClock{}}
	ctx, stop := context.WithCancel(n.ctx)
	ended := make(chan error)
	go func() { ended <- office.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, uid := range []types.UID{"front-a", "front-b"} {
		n.eventually("the proxy holds the list", func() bool { return m.store.Proxy(uid).HoldsDirectory })
	}
	return s
}

// kubeWithLobby has one group of at most four servers, with the one server.
func kubeWithLobby(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	group := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: "lobby", UID: "group"}}
	group.Spec = v1alpha1.ServerGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: "production"}, Type: v1alpha1.GroupEphemeral,
		Scaling: v1alpha1.Scaling{MinReplicas: new(int32(1)), MaxReplicas: 4},
	}
	server := &v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{
		Namespace: "minecraft", Name: "lobby-a", UID: "server", OwnerReferences: []metav1.OwnerReference{podspec.ControlledBy(podspec.KindServerGroup, group)},
	}}
	server.Spec.GroupRef.Name = "lobby"
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(group, server).Build()
}

func (s *staffed) boosts() []v1alpha1.ScaleBoost {
	s.t.Helper()
	var list v1alpha1.ScaleBoostList
	if err := s.kube.List(s.ctx, &list); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

func (s *staffed) retireReason() v1alpha1.RetireReason {
	s.t.Helper()
	var server v1alpha1.Server
	if err := s.kube.Get(s.ctx, client.ObjectKey{Namespace: "minecraft", Name: "lobby-a"}, &server); err != nil {
		s.t.Fatal(err)
	}
	return server.Spec.RetireReason
}

// knows waits until the manager has heard where a player is.
func (s *staffed) knows(player, server string) {
	s.t.Helper()
	asked := sessions.Asked{Proxy: sessions.ProxyPod{Pod: types.NamespacedName{Namespace: "minecraft"}, Network: "production"}}
	s.eventually("the manager knows that "+player+" is on "+server, func() bool {
		return slices.ContainsFunc(s.store.NamePlayers(asked).GetPlayers(), func(entry *agentv1alpha1.RosterEntry) bool {
			return entry.GetPlayer().GetName() == player && entry.GetServer() == server
		})
	})
}

func TestStaffScalesAGroupFromTheGame(t *testing.T) {
	s := newStaffed(t)
	ada := s.joined(s.a, "Ada", "lobby-a")
	s.eventually("Ada may run /cloud", func() bool { return slices.Contains(ada.Commands(), "cloud") })
	s.types(ada, "cloud scale lobby 3")
	s.hears(ada, "lobby is held at 3 servers until ")
	s.hears(ada, "and no change of the group's spec. To end it: /cloud scale lobby reset")
	made := s.boosts()
	if len(made) != 1 || made[0].Spec.Mode != v1alpha1.BoostExact || *made[0].Spec.Replicas != 3 || made[0].OwnerReferences[0].Name != "lobby" {
		t.Fatalf("boosts: %+v", made)
	}
	if left := time.Until(made[0].Spec.ExpiresAt.Time); left < 58*time.Minute || left > time.Hour {
		t.Errorf("it lasts for %s, and has to last for an hour", left)
	}
	s.hears(ada, made[0].Spec.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"))
	s.types(ada, "cloud scale lobby 5")
	s.hears(ada, "5 servers are more than maxReplicas of lobby, which is 4.")
	s.types(ada, "cloud scale lobby 3 for 8d")
	s.hears(ada, "at most seven days, and 192h0m0s was asked for.")
	s.types(ada, "cloud scale lobby reset")
	s.hears(ada, "The boost "+made[0].Name+" of lobby has ended.")
	if left := s.boosts(); len(left) != 0 {
		t.Errorf("boosts: %+v", left)
	}
	for _, want := range []string{"BoostAdded", "AskRefused", "BoostEnded"} {
		s.tells(want)
	}
}

// tells fails unless the next event is of that kind, and names Ada.
func (s *staffed) tells(want string) {
	s.t.Helper()
	if told := <-s.told.Events; !strings.Contains(told, want) || !strings.Contains(told, "Ada") {
		s.t.Errorf("told, and not %s: %s", want, told)
	}
}

func TestStaffRetiresServersAndSendsPlayersFromTheGame(t *testing.T) {
	s := newStaffed(t)
	ada, ben := s.joined(s.a, "Ada", "lobby-a"), s.joined(s.b, "Ben", "lobby-a")
	s.types(ada, "cloud retire lobby-a")
	s.hears(ada, "lobby-a takes nobody new, and goes once it is empty.")
	if got := s.retireReason(); got != v1alpha1.RetireRequested {
		t.Errorf("retired: %q", got)
	}
	s.types(ada, "cloud unretire lobby-a")
	s.hears(ada, "lobby-a may take players again.")
	if got := s.retireReason(); got != v1alpha1.RetireNone {
		t.Errorf("taken back: %q", got)
	}

	s.knows("Ada", "lobby-a")
	s.knows("Ben", "lobby-a")
	s.types(ada, "glist all")
	s.hears(ada, "  lobby-a (2): Ada, Ben")
	s.types(ada, "cloud send Ben duels")
	s.hears(ada, "Players sent to duels: 1")
	s.on(ben, "duels-a")
	s.knows("Ben", "duels-a")
	s.types(ada, "send all lobby")
	s.on(ben, "lobby-a")
	s.hears(ada, "Players sent to lobby: 1") // Ada's next command would find her busy.
	s.types(ada, "cloud send Eve lobby")
	s.hears(ada, `No proxy has a player "Eve" on a server.`)
	s.tells("ServerRetired")
	s.tells("ServerTakenBack")
	s.tells("PlayerSent")
	s.unharmed()
}

func TestWhoMayNotChangesNothing(t *testing.T) {
	s := newStaffed(t)
	ben := s.joined(s.b, "Ben", "lobby-a")
	s.mayRun(ben, "help", "hub", "list", "lobby", "server")
	for _, line := range []string{"cloud scale lobby 3", "cloud start lobby 1", "cloud stop lobby", "cloud retire lobby-a", "cloud send Ben duels", "send all duels"} {
		ben.ForgetLines()
		s.types(ben, line)
		if _, err := ben.WaitLine(s.ctx, func(said string) bool { return said != "" }); err != nil {
			t.Fatal(err)
		}
	}
	if made := s.boosts(); len(made) != 0 || s.retireReason() != v1alpha1.RetireNone || ben.Server() != "lobby-a" || len(s.told.Events) != 0 {
		t.Errorf("boosts: %v, retired: %q, on %s, told: %d", made, s.retireReason(), ben.Server(), len(s.told.Events))
	}
}

func TestWhenTheManagerCannotBeAskedStaffIsToldAtOnce(t *testing.T) {
	ask := func(p *Proxy) error {
		_, err := p.Ask(t.Context(), permissions.Player{Name: "Ada"}, &agentv1alpha1.CloudAsk{})
		return err
	}
	n := newNetwork(t)
	p := n.front()
	if got := ask(p); !errors.Is(got, commands.ErrNoManager) {
		t.Errorf("without a manager: %v", got)
	}
	p.connected.Store(true)
	said := 0
	say := func(*agentv1alpha1.ProxyMessage) { said++ }
	p.staff.greeted(&agentv1alpha1.Welcome{Capabilities: []string{agentv1alpha1.CapabilityConnect}}, say)
	if got := ask(p); !errors.Is(got, commands.ErrOldManager) || said != 0 {
		t.Errorf("of an old one: %v, and %d were asked", got, said)
	}
	p.staff.greeted(&agentv1alpha1.Welcome{Capabilities: []string{agentv1alpha1.CapabilityCloud}}, say)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Ask(ctx, permissions.Player{Name: "Ada"}, &agentv1alpha1.CloudAsk{}); err == nil || said != 1 || len(p.staff.open) != 0 {
		t.Errorf("one that says nothing: %v, asked: %d, still open: %d", err, said, len(p.staff.open))
	}
	p.staff.answered(&agentv1alpha1.CloudAnswer{Id: "late"})
}
