// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func server(name, group string) *agentv1alpha1.DirectoryServer {
	return &agentv1alpha1.DirectoryServer{Name: name, Group: group, Address: "10.0.0.1:25565", Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN}
}

func full(revision uint64, servers ...*agentv1alpha1.DirectoryServer) *agentv1alpha1.Directory {
	return &agentv1alpha1.Directory{
		Revision: revision, Full: true, Servers: servers, NetworkPlayers: 7,
		Groups: []*agentv1alpha1.DirectoryGroup{{Name: "survival"}, {Name: "lobby", DisplayName: "The Lobby"}},
	}
}

func names(v *View, group string) []string {
	list := []string{}
	for _, s := range v.Servers(group) {
		list = append(list, s.GetName())
	}
	return list
}

func TestAFullListReplacesAndAChangeChanges(t *testing.T) {
	s := NewStore()
	if s.View().Complete() || s.Revision() != 0 {
		t.Error("an empty store claims to know the network")
	}
	s.Apply(full(4, server("lobby-b", "lobby"), server("lobby-a", "lobby"), server("survival-0", "survival")))
	if s.View().Complete() {
		t.Error("complete without settings")
	}
	s.SetSettings(&agentv1alpha1.ProxySettings{Network: "production"})
	before := s.View()
	if !before.Complete() || before.NetworkPlayers != 7 {
		t.Errorf("got complete %v, %d players", before.Complete(), before.NetworkPlayers)
	}
	moved := server("lobby-b", "lobby")
	moved.Door = agentv1alpha1.DoorState_DOOR_STATE_MOVING
	s.Apply(&agentv1alpha1.Directory{Revision: 11, Servers: []*agentv1alpha1.DirectoryServer{moved, server("lobby-c", "lobby")}, Removed: []string{"lobby-a"}})

	if diff := cmp.Diff([]string{"lobby-b", "lobby-c"}, names(s.View(), "lobby")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"lobby-a", "lobby-b"}, names(before, "lobby")); diff != "" {
		t.Errorf("an old view changed: %s", diff)
	}
	if moving := s.View().Moving(); len(moving) != 1 || moving[0].GetName() != "lobby-b" {
		t.Errorf("moving: %v", moving)
	}
	if s.Revision() != 11 {
		t.Errorf("revision %d", s.Revision())
	}
	s.Apply(full(9, server("lobby-z", "lobby")))
	if diff := cmp.Diff([]string{"lobby-z"}, names(s.View(), "lobby")); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyAChangeThatFollowsIsApplied(t *testing.T) {
	remove := func(revision uint64, name string) *agentv1alpha1.Directory {
		return &agentv1alpha1.Directory{Revision: revision, Removed: []string{name}}
	}
	s := NewStore()
	s.Apply(remove(3, "lobby-a"))
	if s.Revision() != 0 {
		t.Error("a change was taken for a list")
	}
	s.Apply(full(400, server("lobby-a", "lobby")))
	s.Apply(remove(400, "lobby-a"))
	s.Apply(remove(399, "lobby-a"))
	if s.View().Server("lobby-a") == nil {
		t.Error("a change that is not newer was applied")
	}
	s.Apply(remove(1700, "lobby-a"))
	if s.Revision() != 1700 || s.View().Server("lobby-a") != nil {
		t.Error("revisions rise, but not by one")
	}
	s.Apply(full(7, server("lobby-b", "lobby")))
	if s.Revision() != 7 || s.View().Server("lobby-b") == nil {
		t.Error("a full list is always taken: another manager may count from elsewhere")
	}
}

func TestGroupsAreSortedAndNamedForPlayers(t *testing.T) {
	s := NewStore()
	s.Apply(full(1))
	v := s.View()
	if len(v.Groups()) != 2 || v.Groups()[0].GetName() != "lobby" {
		t.Errorf("got %v", v.Groups())
	}
	for group, want := range map[string]string{"lobby": "The Lobby", "survival": "survival", "gone": "gone"} {
		if got := v.DisplayName(group); got != want {
			t.Errorf("%s: got %q, want %q", group, got, want)
		}
	}
	if !v.HasGroup("survival") || v.HasGroup("gone") {
		t.Error("HasGroup is wrong")
	}
}

func TestWaitersHearOfEveryChange(t *testing.T) {
	s := NewStore()
	changed := s.Changed()
	select {
	case <-changed:
		t.Fatal("closed without a change")
	default:
	}
	s.SetSettings(&agentv1alpha1.ProxySettings{})
	select {
	case <-changed:
	default:
		t.Error("not closed by a change")
	}
}

func TestTheLastDirectorySurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	clk := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan struct{})
	s := NewStore()
	s.SetSettings(&agentv1alpha1.ProxySettings{Network: "production", HoldSeconds: 90})
	s.Apply(full(4, server("lobby-a", "lobby")))
	go func() { s.Keep(ctx, dir, clk); close(kept) }()
	waitForFile(t, filepath.Join(dir, fileName))
	cancel()
	<-kept

	again := NewStore()
	if err := again.Load(dir); err != nil {
		t.Fatal(err)
	}
	v := again.View()
	if !v.Complete() || again.Revision() != 0 {
		t.Errorf("complete %v, revision %d", v.Complete(), again.Revision())
	}
	if !proto.Equal(v.Settings, s.View().Settings) || !proto.Equal(v.Server("lobby-a"), server("lobby-a", "lobby")) {
		t.Errorf("got %v %v", v.Settings, v.Server("lobby-a"))
	}
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatal("nothing was kept")
}

func TestLoadingNothingIsNoErrorAndGarbageIsOne(t *testing.T) {
	dir := t.TempDir()
	if err := NewStore().Load(dir); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewStore()
	if err := s.Load(dir); err == nil {
		t.Error("garbage was read")
	}
	if s.View().Complete() {
		t.Error("garbage made a view")
	}
}
