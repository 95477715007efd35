// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// TestWhatUsersReadOfScalingHolds does what the users' page on scaling and
// boosts does: its commands, its manifests with dates ahead of now, and its
// examples with their numbers. Pods and players are played, all else is real.
// A person who does not want to wait five minutes shortens the stabilisation,
// where the page does not; it says so by patience.
//
// Left out is what the page says of things that do not exist yet: the figure
// that a server's plugin sets, enforcePlayableSlots and its permission, /cloud
// and the boosts it creates.
func TestWhatUsersReadOfScalingHolds(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, part := range []struct {
		name string
		do   func(*person)
	}{
		{"a group stands at its floor", groupStands},
		{"a boost raises the floor with nobody online", boostRaises},
		{"boosts add, and one without an end does not end", boostsAdd},
		{"the ceiling binds boosts", ceilingBindsBoosts},
		{"a boost that is deleted leaves its servers to the ordinary rule", boostIsDeleted},
		{"75 players make one server more", seventyFivePlayers},
		{"the ceiling binds demand, and says so", ceilingBindsDemand},
		{"who had players goes last", servedGoLast},
		{"a boost ends at its instant", boostExpires},
		{"the ceiling blocks a changeover, and says so", ceilingBlocksChangeover},
		{"a pin to 0 deletes the empty and retires the occupied", heldAtNone},
		{"of two pins the newest counts", newestPinCounts},
		{"the end of a pin", pinEnds},
		{"twelve playable seats of a hundred", playableSeats},
		{"a boost on a persistent group shows and changes nothing", boostOnPersistent},
		{"nobody writes an owner's spec", specIsTheOwners},
		{"a boost outlives its group", boostOutlivesGroup},
	} {
		if !t.Run(part.name, func(*testing.T) { part.do(p) }) {
			t.Fatalf("%s: it did not", part.name)
		}
	}
}

const getHub = "kubectl get servergroup hub -n minecraft"

func groupStands(p *person) {
	p.types("kubectl apply -f " + testenv.Path(p.t, "config/samples/network.yaml"))
	p.applies("hub.yaml", `
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata:
  name: hub
  namespace: minecraft
spec:
  networkRef:
    name: production
  type: Ephemeral
  image: ghcr.io/spawnery/purpur:26.3-0.34.0
  maxPlayers: 50
  drain:
    timeoutSeconds: 60
  scaling:
    minReplicas: 2
    maxReplicas: 8
    spareSlots: 30
    scaleDownStabilizationSeconds: 300
`)
	p.sees(getHub, map[string]string{
		"NAME": "hub", "TYPE": "Ephemeral", "PHASE": "Ready", "READY": "2", "REPLICAS": "2",
		"PLAYERS": "0", "FREE SLOTS": "100", "BOOSTED": "0",
	})
}

// boost is a manifest of what adds servers to a group; without an expiry it
// has no end.
func boost(name, group string, replicas int, expires string) string {
	end := ""
	if expires != "" {
		end = fmt.Sprintf("\n  expiresAt: %q", expires)
	}
	return fmt.Sprintf(`
apiVersion: spawnery.cloud/v1alpha1
kind: ScaleBoost
metadata:
  name: %s
  namespace: minecraft
spec:
  groupRef:
    name: %s
  replicas: %d%s
`, name, group, replicas, end)
}

func boostRaises(p *person) {
	// Age is told in whole seconds; what a boost makes is to be younger.
	p.Eventually(time.Now).Should(gomega.BeTemporally(">", p.server(p.hubs()[1]).CreationTimestamp.Add(time.Second)))
	expires := in(time.Hour)
	p.applies("boost.yaml", boost("hub-friday", "hub", 2, expires))
	p.sees("kubectl get boosts -n minecraft", map[string]string{
		"NAME": "hub-friday", "GROUP": "hub", "REPLICAS": "2", "EXPIRES": expires,
	})
	p.sees(getHub, map[string]string{"READY": "4", "REPLICAS": "4", "PLAYERS": "0", "FREE SLOTS": "200", "BOOSTED": "2"})
	p.Expect(p.types("kubectl get boost hub-friday -n minecraft -o jsonpath='{.status}'")).To(gomega.BeEmpty())
	_, complaint := p.tries("kubectl explain scaleboost.status")
	p.Expect(complaint).To(gomega.ContainSubstring("does not exist"), "what a boost did is on the group")
}

func boostsAdd(p *person) {
	p.applies("march.yaml", boost("march", "hub", 1, ""))
	p.sees(getHub, map[string]string{"REPLICAS": "5", "BOOSTED": "3"})
	p.types("kubectl delete boost march -n minecraft")
	p.sees(getHub, map[string]string{"BOOSTED": "2"})
}

func ceilingBindsBoosts(p *person) {
	p.applies("many.yaml", boost("many", "hub", 20, in(time.Hour)))
	p.sees(getHub, map[string]string{"READY": "8", "REPLICAS": "8", "BOOSTED": "22"})
	limited := p.limit("hub", "True")
	p.Expect(limited.Reason).To(gomega.Equal("MaxReplicasReached"))
	p.Expect(limited.Message).To(gomega.And(gomega.ContainSubstring("boosts want 24 servers"), gomega.ContainSubstring("allows 8")))
	p.types("kubectl delete boost many -n minecraft")
	p.Expect(p.limit("hub", "False").Reason).To(gomega.Equal("WithinLimits"))
}

// limit awaits ScalingLimited with a status, in the way the page reads it.
func (p *person) limit(group string, status metav1.ConditionStatus) metav1.Condition {
	p.t.Helper()
	var found metav1.Condition
	p.Eventually(func(g gomega.Gomega) {
		out := p.types(`kubectl get servergroup ` + group + ` -n minecraft \
  -o jsonpath='{.status.conditions[?(@.type=="ScalingLimited")]}'`)
		g.Expect(json.Unmarshal([]byte(out), &found)).To(gomega.Succeed(), out)
		g.Expect(found.Status).To(gomega.Equal(status), found.Message)
	}).Should(gomega.Succeed())
	return found
}

// hurries shortens how long a server must have been empty.
func (p *person) hurries(group string, seconds int) {
	p.t.Helper()
	p.types(fmt.Sprintf(`kubectl patch servergroup %s -n minecraft --type merge \
  -p '{"spec":{"scaling":{"scaleDownStabilizationSeconds":%d}}}'`, group, seconds))
}

func boostIsDeleted(p *person) {
	oldest := p.hubs()[:2]
	p.types("kubectl delete boost hub-friday -n minecraft")
	p.sees(getHub, map[string]string{"BOOSTED": "0", "REPLICAS": "8"})
	p.Consistently(p.hubs, 6*time.Second, glance).Should(gomega.HaveLen(8), "five minutes are not over")
	p.hurries("hub", 3)
	// One at a time, and never two in one pass.
	last, left := time.Now(), 8
	p.Eventually(func(g gomega.Gomega) {
		if now := len(p.hubs()); now != left {
			p.Expect(now).To(gomega.Equal(left-1), "one server per pass")
			if left < 8 {
				p.Expect(time.Since(last)).To(gomega.BeNumerically(">", time.Second), "a pass is five seconds")
			}
			last, left = time.Now(), now
		}
		g.Expect(left).To(gomega.Equal(2))
	}, 4*patience).Should(gomega.Succeed())
	p.Expect(p.hubs()).To(gomega.Equal(oldest), "the youngest go first")
	p.hurries("hub", 300)
}

// hubs are the names of the hub's servers that nobody has deleted, oldest
// first.
func (p *person) hubs() []string { return p.serversOf("hub") }

func (p *person) serversOf(group string) []string {
	all := slices.DeleteFunc(p.servers(), func(s v1alpha1.Server) bool {
		return s.Spec.GroupRef.Name != group || s.DeletionTimestamp != nil
	})
	slices.SortFunc(all, func(a, b v1alpha1.Server) int {
		if older := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); older != 0 {
			return older
		}
		return strings.Compare(a.Name, b.Name)
	})
	var names []string
	for _, server := range all {
		names = append(names, server.Name)
	}
	return names
}

// decided awaits numbers in the last decision on a group.
func (p *person) decided(group string, numbers ...string) {
	p.t.Helper()
	var all []gomega.OmegaMatcher
	for _, one := range numbers {
		all = append(all, gomega.ContainSubstring(one))
	}
	p.Eventually(func() string {
		return p.types("kubectl get servergroup " + group + " -n minecraft -o jsonpath='{.status.lastDecision}'")
	}).Should(gomega.And(all...))
}

// seventyFivePlayers fills one server, and half of the other.
func seventyFivePlayers(p *person) {
	servers := p.hubs()
	p.hold(true)
	p.join(servers[0], 50)
	p.join(servers[1], 25)
	p.Eventually(p.hubs).Should(gomega.HaveLen(3), "5 seats short of 30, and a server has 50")
	p.sees(getHub, map[string]string{"REPLICAS": "3", "READY": "2", "PLAYERS": "75", "FREE SLOTS": "25"})
	p.decided("hub", "provisional 75,", "spare 30,", "wanted 0,")
	p.Consistently(p.hubs, 11*time.Second, glance).Should(gomega.HaveLen(3), "what is on order is not ordered again")
	p.hold(false)
	p.sees(getHub, map[string]string{"READY": "3", "PLAYERS": "75", "FREE SLOTS": "75"})
}

func ceilingBindsDemand(p *person) {
	p.types(`kubectl patch servergroup hub -n minecraft --type merge -p '{"spec":{"scaling":{"maxReplicas":3}}}'`)
	p.join(p.hubs()[2], 48)
	limited := p.limit("hub", "True")
	p.Expect(limited.Reason).To(gomega.Equal("MaxReplicasReached"))
	p.Expect(limited.Message).To(gomega.Equal("demand wants 4 servers, maxReplicas allows 3"))
	p.types(`kubectl patch servergroup hub -n minecraft --type merge -p '{"spec":{"scaling":{"maxReplicas":8}}}'`)
	p.Eventually(p.hubs).Should(gomega.HaveLen(4))
	p.Expect(p.limit("hub", "False").Reason).To(gomega.Equal("WithinLimits"))
}

// servedGoLast empties four servers, of which the youngest never had a player,
// and asks for a server more: of two that have been empty for equally long the
// one nobody knows goes.
func servedGoLast(p *person) {
	servers := p.hubs()
	p.join(servers[0], 0)
	p.Eventually(func() *metav1.Time { return p.server(servers[0]).Status.EmptySince }).ShouldNot(gomega.BeNil())
	p.hurries("hub", 1)
	// 25 free on the second, 2 on the third, 50 each on the others.
	p.Eventually(p.hubs).Should(gomega.Equal(servers[:3]), "the fourth never had a player")
	p.Consistently(p.hubs, 6*time.Second, glance).Should(gomega.HaveLen(3), "without the first, 27 of 30 seats would be free")
	p.join(servers[1], 0)
	p.join(servers[2], 0)
	p.Eventually(p.hubs).Should(gomega.Equal(servers[:2]), "all had players, so the youngest goes")
	p.Consistently(p.hubs, 6*time.Second, glance).Should(gomega.HaveLen(2), "the floor")
}

func boostExpires(p *person) {
	const life = 8 * time.Second
	expires := time.Now().Add(life).Truncate(time.Second)
	p.applies("boost.yaml", boost("hub-friday", "hub", 2, expires.UTC().Format(time.RFC3339)))
	p.Eventually(p.hubs).Should(gomega.HaveLen(4))
	p.sees(getHub, map[string]string{"BOOSTED": "2"})
	p.Expect(time.Now()).To(gomega.BeTemporally("<", expires), "it was seen while it lived")
	p.sees(getHub, map[string]string{"BOOSTED": "0"})
	p.Expect(time.Now()).To(gomega.BeTemporally(">=", expires))
	p.types("kubectl get boost hub-friday -n minecraft")
	p.Eventually(p.hubs).Should(gomega.HaveLen(2))
}

// ceilingBlocksChangeover changes the image of a group that has as many servers
// as it may have.
func ceilingBlocksChangeover(p *person) {
	old := p.hubs()
	p.types(`kubectl patch servergroup hub -n minecraft --type merge \
  -p '{"spec":{"image":"ghcr.io/spawnery/purpur:26.4-0.1.0","scaling":{"maxReplicas":2}}}'`)
	limited := p.limit("hub", "True")
	p.Expect(limited.Reason).To(gomega.Equal("MaxReplicasReached"))
	p.Expect(limited.Message).To(gomega.And(gomega.ContainSubstring("a changeover wants 3 servers"), gomega.ContainSubstring("allows 2")))
	p.Consistently(p.hubs, 6*time.Second, glance).Should(gomega.Equal(old))
	p.types(`kubectl patch servergroup hub -n minecraft --type merge -p '{"spec":{"scaling":{"maxReplicas":3}}}'`)
	p.Eventually(p.hubs, 2*patience).Should(gomega.And(gomega.HaveLen(2), gomega.Not(gomega.ContainElements(gomega.BeElementOf(old)))))
	p.Expect(p.limit("hub", "False").Reason).To(gomega.Equal("WithinLimits"))
}

// playableSeats has servers for a hundred players each, of whom twelve play.
func playableSeats(p *person) {
	p.applies("rounds.yaml", `
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata:
  name: rounds
  namespace: minecraft
spec:
  networkRef:
    name: production
  type: Ephemeral
  image: ghcr.io/spawnery/purpur:26.3-0.34.0
  maxPlayers: 100
  playableSlots: 12
  scaling:
    minReplicas: 1
    maxReplicas: 8
    spareSlots: 12
`)
	const get = "kubectl get servergroup rounds -n minecraft"
	p.sees(get, map[string]string{"READY": "2", "FREE SLOTS": "24"})
	rounds := func() []string { return p.serversOf("rounds") }
	p.Consistently(rounds, 6*time.Second, glance).Should(gomega.HaveLen(2), "a new group has one server too many, not two")
	p.hurries("rounds", 1)
	p.Eventually(rounds).Should(gomega.HaveLen(1), "the extra one goes by the ordinary rule")
	p.sees(get, map[string]string{"FREE SLOTS": "12"})
	first := rounds()[0]
	p.hold(true)
	p.join(first, 12)
	p.Eventually(rounds).Should(gomega.HaveLen(2), "twelve make it full: the next is on order while they count down")
	p.sees(get, map[string]string{"PLAYERS": "12", "FREE SLOTS": "0", "READY": "1"})
	p.hold(false)
	p.join(first, 40)
	p.sees(get, map[string]string{"PLAYERS": "40", "FREE SLOTS": "12", "READY": "2"})
	p.Consistently(rounds, 6*time.Second, glance).Should(gomega.HaveLen(2), "who watches makes nothing overfull")
	p.play(rounds()[1], func(g *game) { g.closed = true })
	p.Eventually(rounds).Should(gomega.HaveLen(3), "nobody can reach a server that has closed its door")
	p.types("kubectl delete servergroup rounds -n minecraft --wait=false")
}

func boostOnPersistent(p *person) {
	p.types("kubectl apply -f " + testenv.Path(p.t, "config/samples/servergroup_survival.yaml"))
	const get = "kubectl get servergroup survival -n minecraft"
	p.sees(get, map[string]string{"TYPE": "Persistent", "READY": "2", "REPLICAS": "2", "BOOSTED": "0"})
	p.applies("worlds.yaml", boost("worlds", "survival", 3, in(time.Hour)))
	p.sees(get, map[string]string{"REPLICAS": "2", "BOOSTED": "3"})
	p.Consistently(func() []string { return p.serversOf("survival") }, 6*time.Second, glance).Should(gomega.HaveLen(2))
}

func specIsTheOwners(p *person) {
	for _, verb := range []string{"create", "update", "patch", "delete"} {
		out, _ := p.tries("kubectl auth can-i " + verb + " servergroups.spawnery.cloud -n minecraft" +
			" --as=system:serviceaccount:" + managerNamespace + ":" + managerAccount)
		p.Expect(strings.TrimSpace(out)).To(gomega.Equal("no"), verb)
	}
	for _, entry := range p.group("hub").ManagedFields {
		if entry.Subresource == "" {
			p.Expect(entry.Manager).To(gomega.HavePrefix("kubectl"))
		}
	}
}

func boostOutlivesGroup(p *person) {
	p.types("kubectl delete servergroup hub -n minecraft")
	p.sees("kubectl get boosts -n minecraft", map[string]string{"NAME": "hub-friday", "GROUP": "hub"})
}
