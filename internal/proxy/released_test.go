// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/spawnery/spawnery-operator/api/agent/v1alpha1/released"
	"github.com/spawnery/spawnery-operator/internal/channeltest"
)

// TestAManagerOfEachReleasedVersionLeadsTheProxy is the proxy of today under an
// older manager: it takes its settings and its list, lets players in and says
// nothing that such a manager does not know.
func TestAManagerOfEachReleasedVersionLeadsTheProxy(t *testing.T) {
	versions, err := released.Versions()
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions are kept: %v", len(versions), err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			n := newNetwork(t)
			lobby := n.start("lobby-a", rig{})
			n.servers["lobby-a"] = lobby
			manager, dir := n.ledBy(version, fmt.Sprintf(`{"directory":{"revision":"1700","full":true,"groups":[{"name":"lobby"}],"servers":[{"name":"lobby-a","group":"lobby",
				"address":%q,"seatAddress":%q,"door":"DOOR_STATE_OPEN","slots":%d,"playableSlots":%d,"forwarding":true}]}}`,
				lobby.entry.GetAddress(), lobby.entry.GetSeatAddress(), lobby.entry.GetSlots(), lobby.entry.GetPlayableSlots()))
			n.silent = true
			p := n.front(func(c *Config) {
				c.Channel.Directory, c.Channel.TokenFile, c.Channel.Version = dir, filepath.Join(dir, "token"), "1.2.3"
			})
			await := func(kind string, words ...string) {
				t.Helper()
				if err := manager.Await(n.ctx, kind, words...); err != nil {
					t.Fatal(err)
				}
			}
			await("hello", `"version":"1.2.3"`)
			await("report", `"directoryRevision":"1700"`, `"sampledAt":`, `"sentAt":`)
			if err := p.ready(); err != nil {
				t.Errorf("not ready: %v", err)
			}
			n.joined(p, "Ada", "lobby-a")
			await("report", `"name":"Ada"`, `"server":"lobby-a"`)
		})
	}
}

// ledBy serves the channel as a manager of a released version, and returns what
// is mounted into a proxy's pod.
func (n *network) ledBy(version, directory string) (*channeltest.Manager, string) {
	n.t.Helper()
	speech, err := channeltest.Of(version)
	if err != nil {
		n.t.Fatal(err)
	}
	manager := speech.NewManager(
		`{"welcome":{"version":"`+version+`","reportIntervalSeconds":1}}`,
		`{"settings":{"network":"production","fallbackGroups":["lobby"],"strategy":"ROUTING_STRATEGY_SPREAD","holdSeconds":5,"playerLimit":500}}`,
		directory,
	)
	// The certificate that standard tests use; it holds for 127.0.0.1.
	borrowed := httptest.NewTLSServer(nil)
	defer borrowed.Close()
	listener := listen(n.t)
	server := grpc.NewServer(manager.Option(), grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, Certificates: borrowed.TLS.Certificates})))
	go func() { _ = server.Serve(listener) }()
	n.t.Cleanup(server.Stop)
	dir := n.t.TempDir()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: borrowed.Certificate().Raw})
	for name, content := range map[string][]byte{"endpoint": []byte(listener.Addr().String()), "ca.crt": bundle, "token": []byte("a token")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	return manager, dir
}
