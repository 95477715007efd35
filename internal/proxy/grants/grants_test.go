// SPDX-License-Identifier: Apache-2.0

package grants

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

func TestWhoMayJoinAGroup(t *testing.T) {
	store := directory.NewStore()
	book := NewBook(store, logr.Discard())
	group := func(name, node string, mode agentv1alpha1.JoinMode) *agentv1alpha1.DirectoryGroup {
		return &agentv1alpha1.DirectoryGroup{Name: name, JoinPermission: &agentv1alpha1.JoinPermission{Node: node, Mode: mode}}
	}
	store.Apply(&agentv1alpha1.Directory{Revision: 1, Full: true, Groups: []*agentv1alpha1.DirectoryGroup{
		{Name: "lobby"},
		group("vip", "spawnery.join.vip", agentv1alpha1.JoinMode_JOIN_MODE_REQUIRED),
		group("calm", "spawnery.join.calm", agentv1alpha1.JoinMode_JOIN_MODE_DENY_ONLY),
		group("later", "spawnery.join.vip", 99),
	}})
	store.SetSettings(&agentv1alpha1.ProxySettings{Permissions: []*agentv1alpha1.PermissionGroup{
		{Name: "vips", Players: []string{"Ada"}, Permissions: []string{"spawnery.join.vip"}},
		{Name: "trolls", Players: []string{"Mallory"}, Permissions: []string{"-spawnery.join.calm", "-spawnery.join.vip"}},
	}})
	for who, want := range map[permissions.Player]string{
		{Name: "Ada", Authentication: permissions.Authenticated}: "lobby vip calm later nowhere",
		{Name: "Ada"}: "lobby calm nowhere", // anybody could be
		{Name: "Bob", Authentication: permissions.Authenticated}:     "lobby calm nowhere",
		{Name: "Mallory", Authentication: permissions.Authenticated}: "lobby nowhere",
		{Name: "Mallory"}: "lobby nowhere",
	} {
		var may []string
		for _, name := range []string{"lobby", "vip", "calm", "later", "nowhere"} {
			if book.MayJoin(who, name) {
				may = append(may, name)
			}
		}
		if got := strings.Join(may, " "); got != want {
			t.Errorf("%+v may join %q, want %q", who, got, want)
		}
	}
}

func TestGrantsFollowTheSettings(t *testing.T) {
	store := directory.NewStore()
	book := NewBook(store, logr.Discard())
	ada := permissions.Player{Name: "Ada", Authentication: permissions.Authenticated}
	if book.Holds(ada, CloudRead) {
		t.Error("granted by nobody")
	}
	store.SetSettings(&agentv1alpha1.ProxySettings{Permissions: []*agentv1alpha1.PermissionGroup{
		{Name: "staff", Players: []string{"ada"}, Permissions: []string{"spawnery.join.full.lobby"}, Inherits: []string{"readers"}},
		{Name: "readers", Permissions: []string{"spawnery.cloud.*"}},
	}})
	if !book.Holds(ada, CloudRead) {
		t.Error("an inherited grant does not hold")
	}
	if book.Privilege(ada, "lobby") != routing.JoinsFull || book.Privilege(ada, "bedwars") != routing.Ordinary {
		t.Error("full rounds: only those of lobby were granted")
	}
	stranger := ada
	stranger.Authentication = permissions.Unauthenticated
	if book.Holds(stranger, CloudRead) {
		t.Error("granted to a name that nobody authenticated")
	}
	store.SetSettings(&agentv1alpha1.ProxySettings{})
	if book.Holds(ada, CloudRead) {
		t.Error("a grant outlived its settings")
	}
}
