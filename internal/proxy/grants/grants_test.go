// SPDX-License-Identifier: Apache-2.0

package grants

import (
	"testing"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

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
