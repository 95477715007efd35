// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func named(name string, age time.Duration) v1alpha1.Network {
	return v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now.Add(-age)),
	}}
}

func going(network v1alpha1.Network) v1alpha1.Network {
	network.DeletionTimestamp = new(metav1.NewTime(now))
	return network
}

func TestTheOldestNetworkOfANamespaceIsAccepted(t *testing.T) {
	tests := map[string]struct {
		networks []v1alpha1.Network
		want     string
	}{
		"the only one":                      {[]v1alpha1.Network{named("a", 0)}, "a"},
		"the oldest":                        {[]v1alpha1.Network{named("a", 0), named("b", time.Hour)}, "b"},
		"the first by name of equal age":    {[]v1alpha1.Network{named("b", 0), named("a", 0)}, "a"},
		"the one that stays":                {[]v1alpha1.Network{going(named("a", time.Hour)), named("b", 0)}, "b"},
		"the oldest of those that all go":   {[]v1alpha1.Network{going(named("a", 0)), going(named("b", time.Hour))}, "b"},
		"the order of the list is no input": {[]v1alpha1.Network{named("b", time.Hour), named("a", 0)}, "b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := elect(test.networks).Name; got != test.want {
				t.Errorf("elected %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheLoserNamesTheWinner(t *testing.T) {
	loser := named("b", 0)
	got := decide(&loser, observation{now: now, namespace: []v1alpha1.Network{named("a", time.Hour), loser}})
	if got.accepted || got.winner != "a" {
		t.Errorf("plan = %+v, want not accepted in favour of a", got)
	}
}

func TestOnlineModeChangesAtOnceOnlyWhileNoWorldExists(t *testing.T) {
	tests := map[string]struct {
		wanted, inForce *bool
		claims          []string
		annotation      string
		want            bool
		unsettled       bool
	}{
		"a new network takes what it wants":        {new(false), nil, []string{"survival-0-data"}, "", false, false},
		"true when nothing is said":                {nil, nil, nil, "", true, false},
		"without claims a change is in force":      {new(false), new(true), nil, "", false, false},
		"with claims the old mode stays":           {new(false), new(true), []string{"survival-0-data"}, "", true, true},
		"with claims and the wanted value it goes": {new(false), new(true), []string{"survival-0-data"}, "false", false, false},
		"the wrong value confirms nothing":         {new(false), new(true), []string{"survival-0-data"}, "true", true, true},
		"what is in force needs no word":           {new(true), new(true), []string{"survival-0-data"}, "", true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			network := named("production", time.Hour)
			network.Spec.OnlineMode, network.Status.OnlineMode = test.wanted, test.inForce
			network.Annotations = map[string]string{v1alpha1.AnnotationConfirmOnlineMode: test.annotation}
			got := decide(&network, observation{now: now, namespace: []v1alpha1.Network{network}, claims: test.claims})
			if got.onlineMode == nil || *got.onlineMode != test.want {
				t.Errorf("mode in force = %v, want %t", got.onlineMode, test.want)
			}
			if (got.unsettled != "") != test.unsettled {
				t.Errorf("unsettled = %q, want a sentence: %t", got.unsettled, test.unsettled)
			}
			if test.unsettled && !strings.Contains(got.unsettled, "spawnery.cloud/confirm-online-mode=false") {
				t.Errorf("the sentence does not name the annotation to set: %q", got.unsettled)
			}
		})
	}
}

func TestManyClaimsAreCountedNotListed(t *testing.T) {
	if got := list([]string{"c", "a", "b", "e", "d"}); got != "a, b, c and 2 more" {
		t.Errorf("list = %q", got)
	}
}

func TestTheDirectorySaysWhoMayJoin(t *testing.T) {
	for name, row := range map[string]struct {
		permission v1alpha1.JoinPermission
		want       *agentv1alpha1.JoinPermission
	}{
		"everybody": {},
		"who was granted it": {
			v1alpha1.JoinPermission{Mode: v1alpha1.JoinRequired},
			&agentv1alpha1.JoinPermission{Node: "spawnery.join.vip", Mode: agentv1alpha1.JoinMode_JOIN_MODE_REQUIRED},
		},
		"who was not denied it": {
			v1alpha1.JoinPermission{Mode: v1alpha1.JoinDenyOnly, Node: "staff.chat"},
			&agentv1alpha1.JoinPermission{Node: "staff.chat", Mode: agentv1alpha1.JoinMode_JOIN_MODE_DENY_ONLY},
		},
	} {
		t.Run(name, func(t *testing.T) {
			group := v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Name: "vip"}}
			group.Spec.JoinPermission = row.permission
			got := directoryOf(observation{serverGroups: []v1alpha1.ServerGroup{group}}).Groups[0].GetJoinPermission()
			if !proto.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestTheDirectoryHoldsOnlyServersThatWereRegistered(t *testing.T) {
	group := v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Name: "lobby"}}
	group.Spec.MaxPlayers, group.Spec.PlayableSlots, group.Spec.DisplayName = 50, 12, "The Lobby"
	server := func(name string, registered *bool, freshness sessions.Freshness) seenServer {
		one := seenServer{
			Server: v1alpha1.Server{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Status:     v1alpha1.ServerStatus{Address: "10.0.0.7:25565", WasRegistered: registered},
			},
			said: sessions.ServerState{Freshness: freshness, Report: &agentv1alpha1.ServerReport{Online: 7}},
		}
		one.Spec.GroupRef.Name = "lobby"
		return one
	}
	got := directoryOf(observation{
		serverGroups: []v1alpha1.ServerGroup{group},
		servers: []seenServer{
			server("lobby-new", nil, sessions.Fresh),
			server("lobby-heard", new(true), sessions.Fresh),
			server("lobby-silent", new(true), sessions.Stale),
		},
	})
	if len(got.Servers) != 2 || got.Groups[0].GetDisplayName() != "The Lobby" {
		t.Fatalf("directory = %v", got)
	}
	heard, silent := got.Servers[0], got.Servers[1]
	if heard.GetPlayers() != 7 || heard.GetSlots() != 50 || heard.GetPlayableSlots() != 12 || heard.GetSeatAddress() != "10.0.0.7:9357" {
		t.Errorf("heard server = %v", heard)
	}
	more := server("lobby-more", new(true), sessions.Fresh)
	more.there.On = 9
	if got := directoryOf(observation{servers: []seenServer{more}}).Servers[0].GetPlayers(); got != 9 {
		t.Errorf("where the proxies have 9 and the game counts 7 the directory holds %d", got)
	}
	if silent.Players != nil {
		t.Errorf("a server nobody hears has %d players in the directory, want unknown", silent.GetPlayers())
	}
}
