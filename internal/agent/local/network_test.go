// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func TestTheNetworkIsPutTogetherFromTheWholeAndWhatChanges(t *testing.T) {
	const open, byName = agentv1alpha1.DoorState_DOOR_STATE_OPEN, agentv1alpha1.DoorState_DOOR_STATE_BY_NAME
	groups := []*agentv1alpha1.DirectoryGroup{{Name: "duels", DisplayName: "Duels"}, {Name: "lobby", DisplayName: "Lobby"}}
	var outlook Outlook
	if outlook.Apply(&agentv1alpha1.Directory{Revision: 3}) {
		t.Error("a change of nothing was taken in")
	}
	if _, known := outlook.Network(); known {
		t.Error("it is known before it was told")
	}
	outlook.Apply(&agentv1alpha1.Directory{
		Revision: 4, Full: true, NetworkPlayers: 9, Groups: groups,
		Proxies: []*agentv1alpha1.DirectoryProxies{{Group: "front", Proxies: 2, Players: 9}},
		Servers: []*agentv1alpha1.DirectoryServer{
			{Name: "lobby-b", Group: "lobby", Door: open, Players: new(int32(4)), Slots: 20, PlayableSlots: 12, Phase: "Ready"},
			{Name: "lobby-a", Group: "lobby", Door: byName, Players: new(int32(3)), Slots: 20, PlayableSlots: 12, Phase: "Ready"},
			{Name: "gone", Group: "lobby", Door: open, Players: new(int32(1)), Slots: 20, PlayableSlots: 20, Phase: "Ready"},
		},
	})
	outlook.Apply(&agentv1alpha1.Directory{
		Revision: 5, NetworkPlayers: 8, Groups: groups,
		Proxies: []*agentv1alpha1.DirectoryProxies{{Group: "front", Proxies: 1, Players: 8}},
		Removed: []string{"gone"},
		Servers: []*agentv1alpha1.DirectoryServer{
			{Name: "lobby-b", Group: "lobby", Door: open, Players: new(int32(5)), Slots: 20, PlayableSlots: 12, Phase: "Ready"},
			{Name: "old", Group: "deleted", Door: agentv1alpha1.DoorState_DOOR_STATE_MOVING, Slots: 20, PlayableSlots: 20, Phase: "Draining"},
		},
	})
	got, known := outlook.Network()
	want := Network{
		Players: 8,
		Groups: []Group{
			{Name: "duels", DisplayName: "Duels"},
			{Name: "lobby", DisplayName: "Lobby", Players: 8, FreeSeats: 7},
		},
		Servers: []Server{
			{Name: "lobby-a", Group: "lobby", DisplayName: "Lobby", State: "Ready", Joins: Closed, Players: new(3), Slots: 20},
			{Name: "lobby-b", Group: "lobby", DisplayName: "Lobby", State: "Ready", Joins: Open, Players: new(5), Slots: 20, FreeSeats: 7},
			{Name: "old", Group: "deleted", DisplayName: "deleted", State: "Draining", Joins: Closed, Slots: 20},
		},
		Proxies: []Proxies{{Group: "front", Proxies: 1, Players: 8}},
	}
	if diff := cmp.Diff(want, got); diff != "" || !known {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheInventedNetworkHoldsTheServerAndAnother(t *testing.T) {
	base := serve(t, invented())
	ask(t, "PUT", base+JoinsPath, `{"joins": "Closed"}`)
	status, body := ask(t, "GET", base+NetworkPath, "")
	var network Network
	if err := json.Unmarshal([]byte(body), &network); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	own := network.Servers[0]
	if own.Name != "lobby-ab2c" || own.Joins != Closed || own.FreeSeats != 0 || len(network.Servers) != 2 || len(network.Groups) != 2 {
		t.Errorf("%+v", network)
	}
}

// alone has no manager, or loses it.
type alone struct {
	*Invented
	lost atomic.Bool
}

func (a *alone) Network(ctx context.Context) (Network, <-chan struct{}, error) {
	if a.lost.Load() {
		return Network{}, nil, &Failed{http.StatusServiceUnavailable, "no manager is connected"}
	}
	return a.Invented.Network(ctx)
}

func TestWithoutAManagerTheNetworkIsUnavailable(t *testing.T) {
	host := &alone{Invented: invented()}
	host.lost.Store(true)
	base := serve(t, host)
	for _, path := range []string{NetworkPath, NetworkEventsPath} {
		if status, body := ask(t, "GET", base+path, ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "no manager is connected") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// freeSeats reads events until one tells the network, and returns the free
// seats of its first group; -1 when there is none any more.
func freeSeats(t *testing.T, lines *bufio.Scanner) int {
	t.Helper()
	for lines.Scan() {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			var network Network
			if err := json.Unmarshal([]byte(data), &network); err != nil {
				t.Fatal(err)
			}
			return network.Groups[0].FreeSeats
		}
	}
	return -1
}

func TestNetworkEventsEndWithTheManager(t *testing.T) {
	host := &alone{Invented: invented()}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, serve(t, host)+NetworkEventsPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	want := func(what string, free int) {
		t.Helper()
		if got := freeSeats(t, lines); got != free {
			t.Errorf("%s: %d free seats, want %d", what, got, free)
		}
	}
	want("at once", 12)
	joins := func(joins Joins) {
		if err := host.Wish(func(w *Wishes) { w.Joins = joins }); err != nil {
			t.Fatal(err)
		}
	}
	joins(Closed)
	want("after the change", 0)
	host.lost.Store(true)
	joins(Open)
	want("without the manager", -1)
}
