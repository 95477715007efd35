// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"fmt"
	"net"
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// squidVersion is the newest that flying-squid and mineflayer both speak.
const squidVersion = "1.21.4"

// serveSquid starts a server of flying-squid, which knows no forwarding.
func (f *front) serveSquid(name string) *Peer {
	f.t.Helper()
	server, err := StartSquid(context.Background(), "SERVER_IP=127.0.0.1", "VERSION="+squidVersion)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(server.Stop)
	listening := sees(f.t, server, "listening", "")
	f.announce(&agentv1alpha1.DirectoryServer{Name: name, Address: fmt.Sprintf("127.0.0.1:%d", listening.Port)})
	return server
}

// Nobody here wrote the player, the servers, or the world between them: chunks
// come through our proxy, before a move and after it.
func TestAPlayerOfMineflayerSeesTheWorldsOfFlyingSquidThroughOurProxy(t *testing.T) {
	t.Parallel()
	f := startProxy(t, &agentv1alpha1.ProxySettings{Network: "production"}, "http://127.0.0.1:1")
	lobby := f.serveSquid("lobby-1")
	survival := f.serveSquid("survival-0")
	host, port, err := net.SplitHostPort(f.address)
	if err != nil {
		t.Fatal(err)
	}
	player, err := StartMineflayer(context.Background(), ClientSettings{Host: host, Port: port, Version: squidVersion, Name: "Flyer"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(player.Stop)

	world := func(n int) {
		t.Helper()
		seen, err := player.WaitNth(testContext(t), n, func(e Event) bool { return e.Kind == "world" })
		if err != nil {
			t.Fatal(err)
		}
		if seen.Columns < 9 || seen.Text == "" || seen.Text == "air" {
			t.Errorf("world %d: %d columns of chunks, and %q under the player", n, seen.Columns, seen.Text)
		}
	}
	world(1)
	if err := player.Send("hello"); err != nil {
		t.Fatal(err)
	}
	sees(t, player, "chat", "<Flyer> hello")
	f.door("lobby-1", agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	sees(t, survival, "join", "")
	sees(t, lobby, "leave", "")
	sees(t, player, "chat", "You were moved here from lobby-1: it is closing")
	world(2)
	for _, e := range player.Events() {
		if e.Kind == "error" || e.Kind == "disconnect" {
			t.Errorf("the player reports %+v", e)
		}
	}
}
