// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"fmt"
	"time"

	"github.com/onsi/gomega"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

const getLobby = "kubectl get servergroup lobby -n minecraft"

// exact is a manifest of what holds the lobby at a number of servers.
func exact(name string, replicas int, expires string) string {
	return fmt.Sprintf(`
apiVersion: spawnery.cloud/v1alpha1
kind: ScaleBoost
metadata:
  name: %s
  namespace: minecraft
spec:
  groupRef: {name: lobby}
  mode: Exact
  replicas: %d
  expiresAt: %q
`, name, replicas, expires)
}

func (p *person) lobbies() []string { return p.serversOf("lobby") }

// pinned awaits a pin in the status of the lobby as kubectl prints it.
func (p *person) pinned(replicas, until string) {
	p.t.Helper()
	p.Eventually(func() string {
		return p.types(getLobby + " -o jsonpath='{.status.pinnedReplicas} {.status.pinnedUntil}'")
	}).Should(gomega.Equal(replicas + " " + until))
}

// heldAtNone pins a lobby, which a boost has raised, to no server at all.
func heldAtNone(p *person) {
	p.applies("lobby.yaml", `
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata:
  name: lobby
  namespace: minecraft
spec:
  networkRef:
    name: production
  type: Ephemeral
  image: ghcr.io/spawnery/purpur:26.3-0.34.0
  maxPlayers: 50
  drain:
    timeoutSeconds: 3
  scaling:
    minReplicas: 2
    maxReplicas: 8
    spareSlots: 30
`)
	p.applies("more.yaml", boost("more", "lobby", 2, in(time.Hour)))
	p.sees(getLobby, map[string]string{"READY": "4", "BOOSTED": "2"})
	home := p.lobbies()[0]
	p.join(home, 5)
	p.sees("kubectl get server "+home+" -n minecraft", map[string]string{"PHASE": "Ready", "PLAYERS": "5"})

	expires := in(time.Hour)
	p.applies("none.yaml", exact("none", 0, expires))
	p.sees("kubectl get boosts -n minecraft", map[string]string{"NAME": "none", "MODE": "Exact", "REPLICAS": "0", "EXPIRES": expires})
	p.pinned("0", expires)
	p.Eventually(p.lobbies, 2*time.Second).Should(gomega.Equal([]string{home}), "empty servers go at once, whatever the stabilisation")
	p.sees("kubectl get server "+home+" -n minecraft", map[string]string{"PHASE": "Retiring", "PLAYERS": "5", "REGISTERED": "false"})
	p.sees(getLobby, map[string]string{"PHASE": "Ready", "PLAYERS": "5", "FREE SLOTS": "0", "BOOSTED": "0"})
	p.Consistently(p.lobbies, 6*time.Second, glance).Should(gomega.Equal([]string{home}), "its players stay until they leave")
}

// newestPinCounts holds the lobby at two by a pin that came later, though its
// name is the lesser one.
func newestPinCounts(p *person) {
	home := p.lobbies()[0]
	older := p.types("kubectl get boost none -n minecraft -o jsonpath='{.metadata.creationTimestamp}'")
	p.Eventually(func() string { return in(0) }).ShouldNot(gomega.Equal(older), "age is told in whole seconds")
	expires := in(2 * time.Hour)
	p.applies("exactly.yaml", exact("exactly-two", 2, expires))
	p.pinned("2", expires)
	p.sees(getLobby, map[string]string{"READY": "2", "REPLICAS": "2", "BOOSTED": "0"})
	p.Expect(p.server(home).Status.Phase).To(gomega.Equal(v1alpha1.ServerReady), "it need not retire any more")
	for _, name := range p.lobbies() {
		p.join(name, 50)
	}
	limited := p.limit("lobby", "True")
	p.Expect(limited.Reason).To(gomega.Equal("Pinned"))
	p.Expect(limited.Message).To(gomega.And(gomega.ContainSubstring("exactly-two"), gomega.ContainSubstring("3 servers"), gomega.ContainSubstring("2")))
	p.Consistently(p.lobbies, 6*time.Second, glance).Should(gomega.HaveLen(2), "it is the ceiling too")

	for _, name := range p.lobbies() {
		p.join(name, 5)
	}
	p.Expect(p.limit("lobby", "False").Reason).To(gomega.Equal("WithinLimits"))
	p.types(`kubectl patch servergroup lobby -n minecraft --type merge -p '{"spec":{"image":"ghcr.io/spawnery/purpur:26.4-0.1.0"}}'`)
	limited = p.limit("lobby", "True")
	p.Expect(limited.Reason).To(gomega.Equal("Pinned"))
	p.Expect(limited.Message).To(gomega.ContainSubstring("a changeover wants 3 servers"))
}

// pinEnds takes one pin after the other away.
func pinEnds(p *person) {
	p.types("kubectl delete boost exactly-two -n minecraft")
	p.pinned("0", p.types("kubectl get boost none -n minecraft -o jsonpath='{.spec.expiresAt}'"))
	held := p.lobbies()
	for _, name := range held {
		p.sees("kubectl get server "+name+" -n minecraft", map[string]string{"PHASE": "Retiring"})
	}
	p.join(held[0], 0)
	p.Eventually(p.lobbies).Should(gomega.Equal(held[1:]), "the last player has left it")
	p.types(`kubectl patch servergroup lobby -n minecraft --type merge -p '{"spec":{"update":{"maxStaleSeconds":2}}}'`)
	p.Eventually(p.lobbies).Should(gomega.BeEmpty(), "whoever stays longer than maxStaleSeconds is moved, and goes at the drain's end")
	p.sees(getLobby, map[string]string{"PHASE": "Ready", "REPLICAS": "0", "READY": "0"})
	p.types("kubectl delete boost none -n minecraft")
	p.pinned("", "")
	p.sees(getLobby, map[string]string{"READY": "4", "BOOSTED": "2"})
	p.types("kubectl delete servergroup lobby -n minecraft")
}
