// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mctest"
)

func startManagement(t *testing.T, address, secret string) *Peer {
	t.Helper()
	p, err := StartManagement(context.Background(), address, secret)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// calls runs one call and returns what it said.
func calls(t *testing.T, p *Peer, line string) Event {
	t.Helper()
	if err := p.Send(line); err != nil {
		t.Fatal(err)
	}
	kind, _, _ := strings.Cut(line, " ")
	return sees(t, p, kind, "")
}

// managed is a double, and a client of its management protocol.
func managed(t *testing.T) (*mctest.Server, *Peer) {
	t.Helper()
	secret := strings.Repeat("a1B2", 10)
	s := startDouble(t, mctest.Settings{MaxPlayers: 7, Management: &mctest.ManagementSettings{Secret: secret}})
	for _, wrong := range []string{strings.Repeat("x", 40), secret[:39], ""} {
		sees(t, startManagement(t, s.ManagementAddress(), wrong), "refused", "401")
	}
	p := startManagement(t, s.ManagementAddress(), secret)
	sees(t, p, "connected", "")
	return s, p
}

func TestTheirManagementClientSeesWhoPlaysOnOurDouble(t *testing.T) {
	s, p := managed(t)
	if status := calls(t, p, "status"); status.Message != "" || len(status.Names) != 0 || status.State != "started" || status.Text != "26.3" {
		t.Fatalf("status of an empty server: %+v", status)
	}
	b, err := mctest.Join(testContext(t), mctest.BotSettings{Address: s.Address(), Name: "visitor"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Leave()
	joined := sees(t, p, "joined", "")
	if joined.Username != "visitor" || joined.UUID != b.Profile().ID.String() {
		t.Fatalf("got %+v", joined)
	}
	for _, line := range []string{"players", "kick visitor"} {
		if got := calls(t, p, line); got.Message != "" || !slices.Equal(got.Names, []string{"visitor"}) {
			t.Fatalf("%s: %+v", line, got)
		}
	}
	<-b.Done()
	sees(t, p, "left", "")
}

func TestTheirManagementClientCommandsOurDouble(t *testing.T) {
	s, p := managed(t)
	if got := calls(t, p, "max"); got.Port != 7 {
		t.Fatalf("max players: %+v", got)
	}
	if got := calls(t, p, "unknown"); !strings.Contains(got.Message, "-32601") {
		t.Fatalf("unknown method: %+v", got)
	}
	if got := calls(t, p, "save"); got.Message != "" {
		t.Fatalf("save: %+v", got)
	}
	if got := calls(t, p, "stop"); got.Message != "" {
		t.Fatalf("stop: %+v", got)
	}
	for _, what := range []string{"saving", "saved", "stopping"} {
		sees(t, p, "notified", what)
	}
	<-s.Done()
}
