// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	storagePage  = "docs/explanation/persistent-storage.md"
	deadNodePage = "docs/how-to/free-a-world-from-a-dead-node.md"
	stalledPage  = "docs/how-to/recover-a-stalled-world.md"
	getSurvival  = "kubectl get servergroup survival -n minecraft"
)

// The commands of the page, in its order.
const (
	findClaims = iota
	compareClaims
	deleteClaim
	earlySignal
	raiseDeadline
	whoDoesNotServe
	whyItWaits
	freeTheName
	allOfStorage
)

// TestWhatUsersReadOfPersistentStorageHolds does what the users' page on
// persistent storage does: its commands and its claims, with their numbers. What
// takes hours is in the test of the way to recover a stalled world.
func TestWhatUsersReadOfPersistentStorageHolds(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.StartControllers(t, "persistentvolumeclaim-protection-controller")
	p.Expect(commands(t, storagePage)).To(gomega.HaveLen(allOfStorage), "every command is typed")
	for _, part := range []struct {
		name string
		do   func(*person)
	}{
		{"claims can be found, and say whose they are", claimsAreFound},
		{"the operator may not delete a claim, nor update one", claimsAreSafe},
		{"a Server that is deleted meets its claim again", serverMeetsItsClaim},
		{"lowered replicas take the top, players or not", replicasAreLowered},
		{"an orphan is removed by a person", orphanIsRemoved},
		{"a claim that is not ours is not mounted", foreignClaimIsTold},
		{"a new spec takes one ordinal at a time", worldsAreUpdated},
		{"a dead node's successor waits, and is freed", deadNodeIsFreed},
		{"claims outlive their group", claimsOutliveTheGroup},
	} {
		if !t.Run(part.name, func(*testing.T) { part.do(p) }) {
			t.Fatalf("%s: it did not", part.name)
		}
	}
}

// reads types a command of the page.
func (p *person) reads(command int) string {
	p.t.Helper()
	return p.types(commands(p.t, storagePage)[command])
}

// worldsOf is a group without anything that has a default.
func worldsOf(replicas int) string {
	return fmt.Sprintf(`
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata:
  name: survival
  namespace: minecraft
spec:
  networkRef: {name: production}
  type: Persistent
  image: ghcr.io/spawnery/purpur:26.3-0.34.0
  maxPlayers: 30
  replicas: %d
  storage: {size: 1Gi}
`, replicas)
}

func (p *person) claim(name string) corev1.PersistentVolumeClaim {
	p.t.Helper()
	var claim corev1.PersistentVolumeClaim
	p.Expect(p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: "minecraft", Name: name}, &claim)).To(gomega.Succeed())
	return claim
}

func (p *person) allServe(replicas string) {
	p.t.Helper()
	p.sees(getSurvival, map[string]string{"PHASE": "Ready", "READY": replicas, "REPLICAS": replicas})
}

func claimsAreFound(p *person) {
	p.types("kubectl apply -f " + testenv.Path(p.t, "config/samples/network.yaml"))
	p.applies("survival.yaml", worldsOf(3))
	p.allServe("3")
	var names []string
	for _, row := range table(p.reads(findClaims)) {
		names = append(names, row["NAME"])
	}
	p.Expect(names).To(gomega.Equal([]string{"survival-0-data", "survival-1-data", "survival-2-data"}))
	for _, name := range names {
		claim := p.claim(name)
		p.Expect(claim.OwnerReferences).To(gomega.BeEmpty())
		p.Expect(claim.Labels).To(gomega.Equal(map[string]string{
			"spawnery.cloud/managed-by": "spawnery-operator", "spawnery.cloud/network": "production",
			"spawnery.cloud/group": "survival", "spawnery.cloud/server": strings.TrimSuffix(name, "-data"),
		}))
	}
	p.Expect(p.reads(compareClaims)).To(gomega.And(
		gomega.MatchRegexp(`persistentvolumeclaim/survival-2-data .* survival-2\n`), gomega.MatchRegexp(`server.spawnery.cloud/survival-2 `)))
	defaults := p.types(getSurvival + ` -o jsonpath='{.spec.drain.timeoutSeconds} {.spec.failedRetentionSeconds} {.spec.terminationGracePeriodSeconds}'`)
	p.Expect(defaults).To(gomega.Equal("60 3600 60"))
}

func claimsAreSafe(p *person) {
	may := func(verb string) string {
		out, _ := p.tries("kubectl auth can-i " + verb + " persistentvolumeclaims -n minecraft" +
			" --as=system:serviceaccount:" + managerNamespace + ":" + managerAccount)
		return strings.TrimSpace(out)
	}
	for _, verb := range []string{"create", "get", "list", "watch", "patch"} {
		p.Expect(may(verb)).To(gomega.Equal("yes"), verb)
	}
	for _, verb := range []string{"delete", "deletecollection", "update"} {
		p.Expect(may(verb)).To(gomega.Equal("no"), verb)
	}
}

func serverMeetsItsClaim(p *person) {
	before, server := p.claim("survival-1-data"), p.server("survival-1").UID
	p.types("kubectl delete server survival-1 -n minecraft")
	p.Eventually(func(g gomega.Gomega) {
		again := p.server("survival-1")
		g.Expect(again.UID).NotTo(gomega.Or(gomega.Equal(server), gomega.BeEmpty()))
		g.Expect(again.Status.Phase).To(gomega.Equal(v1alpha1.ServerReady))
	}, 2*patience).Should(gomega.Succeed())
	p.Expect(p.claim("survival-1-data").UID).To(gomega.Equal(before.UID))
	mounted := p.types(`kubectl get pod survival-1 -n minecraft -o jsonpath='{.spec.volumes[*].persistentVolumeClaim.claimName}'`)
	p.Expect(mounted).To(gomega.Equal("survival-1-data"))
}

// replicasAreLowered with players on the top ordinal, whose deadline is raised
// first, and lowered while it is drained.
func replicasAreLowered(p *person) {
	p.join("survival-2", 3)
	p.sees("kubectl get server survival-2 -n minecraft", map[string]string{"PLAYERS": "3"})
	p.reads(raiseDeadline)
	p.types(`kubectl patch servergroup survival -n minecraft --type merge -p '{"spec":{"replicas":1}}'`)
	p.Eventually(func() string {
		return p.types(`kubectl get server survival-2 -n minecraft -o jsonpath='{.status.phase} {.status.conditions[?(@.type=="Ready")].reason}'`)
	}).Should(gomega.Equal("Draining SurplusOrdinal"), "whoever is on it")
	p.Consistently(func() []string { return p.serversOf("survival") }, 3*time.Second, glance).
		Should(gomega.ConsistOf("survival-0", "survival-1"), "one at a time, though survival-1 is empty")
	p.types(`kubectl patch servergroup survival -n minecraft --type merge -p '{"spec":{"drain":{"timeoutSeconds":1}}}'`)
	p.Eventually(func() []string { return p.serversOf("survival") }, 2*patience).Should(gomega.Equal([]string{"survival-0"}))
	p.allServe("1")
	p.Expect(table(p.reads(findClaims))).To(gomega.HaveLen(3), "claims pile up")
	p.Expect(p.reads(compareClaims)).NotTo(gomega.ContainSubstring("server.spawnery.cloud/survival-2"), "so its claim is an orphan")
}

func orphanIsRemoved(p *person) {
	before := p.claim("survival-1-data").UID
	p.Expect(p.reads(deleteClaim)).To(gomega.ContainSubstring(`"survival-2-data" deleted`))
	p.types(`kubectl patch servergroup survival -n minecraft --type merge -p '{"spec":{"replicas":2}}'`)
	p.allServe("2")
	p.Expect(p.claim("survival-1-data").UID).To(gomega.Equal(before), "the one that was left alone is the same world")
}

func foreignClaimIsTold(p *person) {
	claim := podspec.BuildDataClaim(p.group("survival"), 2)
	claim.Labels = nil
	p.create(claim)
	p.types(`kubectl patch servergroup survival -n minecraft --type merge -p '{"spec":{"replicas":3}}'`)
	p.Eventually(func() string {
		return p.types(`kubectl get server survival-2 -n minecraft --ignore-not-found -o jsonpath='{.status.conditions[?(@.type=="Accepted")].reason}'`)
	}).Should(gomega.Equal("ClaimNotOurs"))
	p.types("kubectl label pvc survival-2-data -n minecraft spawnery.cloud/managed-by=spawnery-operator")
	p.allServe("3")
}

// worldsAreUpdated watches that no two ordinals are out of service at once.
func worldsAreUpdated(p *person) {
	const image = "ghcr.io/spawnery/purpur:26.4-0.1.0"
	p.hold(true)
	p.types(`kubectl patch servergroup survival -n minecraft --type merge -p '{"spec":{"image":"` + image + `"}}'`)
	p.Eventually(func() string { return p.reads(whoDoesNotServe) }, 2*patience).Should(
		gomega.HavePrefix("MinimumReplicasUnready: ready: 2, the floor is 3; survival-2 has been starting since "))
	p.Consistently(p.outOfService, 3*time.Second, glance).Should(gomega.Equal([]string{"survival-2"}))
	p.hold(false)
	went := []string{"survival-2"}
	p.Eventually(func(g gomega.Gomega) {
		down := p.outOfService()
		p.Expect(len(down)).To(gomega.BeNumerically("<=", 1), "%v are out of service", down)
		if len(down) == 1 && !slices.Contains(went, down[0]) {
			went = append(went, down[0])
		}
		status := p.group("survival").Status
		g.Expect(status.UpdatedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(3)))
		g.Expect(status.ReadyReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(3)))
	}, 4*patience).Should(gomega.Succeed())
	p.Expect(went).To(gomega.Equal([]string{"survival-2", "survival-1", "survival-0"}), "the highest first")
	for _, name := range went {
		p.Expect(p.types("kubectl get pod " + name + " -n minecraft -o jsonpath='{.spec.containers[0].image}'")).To(gomega.Equal(image))
	}
}

// outOfService are the ordinals of three that do not serve, or soon will not.
func (p *person) outOfService() []string {
	serving := map[string]bool{}
	for _, server := range p.servers() {
		serving[server.Name] = server.DeletionTimestamp == nil && server.Status.Phase == v1alpha1.ServerReady
	}
	return slices.DeleteFunc([]string{"survival-0", "survival-1", "survival-2"}, func(name string) bool { return serving[name] })
}

// deadNodeIsFreed has a node whose kubelet is gone. A pod there is deleted, as
// the cluster does after a while, with a grace of one second to save time.
func deadNodeIsFreed(p *person) {
	how := commands(p.t, deadNodePage)
	p.Expect(how).To(gomega.HaveLen(4), "every command is typed")
	before := p.server("survival-0").UID
	p.strand(true)
	p.types("kubectl delete pod survival-0 -n minecraft --grace-period=1 --wait=false")
	p.Eventually(func(g gomega.Gomega) {
		g.Expect(p.server("survival-0").UID).NotTo(gomega.Or(gomega.Equal(before), gomega.BeEmpty()))
		g.Expect(p.reads(whyItWaits)).To(gomega.HavePrefix(`PodNameTerminating: pod survival-0 is still terminating on node "` + nodeName + `".`))
	}, 3*patience).Should(gomega.Succeed(), "30 s after its grace nobody waits for it any more")
	p.Expect(p.types(how[0])).To(gomega.Equal(p.reads(whyItWaits)))
	p.Consistently(func(g gomega.Gomega) {
		state := p.types(`kubectl get server survival-0 -n minecraft -o jsonpath='{.status.phase}{.status.startedAt}{.status.failedAt}'`)
		g.Expect(state).To(gomega.Equal("Pending"), "neither a failure nor a running clock")
		g.Expect(p.reads(earlySignal)).To(gomega.HavePrefix("0 "))
	}, 6*time.Second, time.Second).Should(gomega.Succeed())
	p.Expect(p.types(how[1])).To(gomega.ContainSubstring(nodeName))
	p.Expect(p.reads(whyItWaits)).To(gomega.ContainSubstring(strings.TrimSpace(commands(p.t, storagePage)[freeTheName])), "the message says what is typed")
	p.Expect(strings.TrimSpace(how[2])).To(gomega.Equal(strings.TrimSpace(commands(p.t, storagePage)[freeTheName])))
	_, _ = p.tries(how[2]) // kubectl warns of what the page warns of
	p.strand(false)
	p.Expect(p.types(how[3])).To(gomega.ContainSubstring("condition met"))
	p.allServe("3")
}

func claimsOutliveTheGroup(p *person) {
	p.types("kubectl delete servergroup survival -n minecraft")
	p.types("kubectl delete servers -n minecraft -l spawnery.cloud/group=survival")
	p.types("kubectl delete network production -n minecraft")
	p.Expect(p.servers()).To(gomega.BeEmpty())
	p.Expect(table(p.reads(findClaims))).To(gomega.HaveLen(3))
}

// TestTheWayToRecoverAStalledWorldWorksAsWritten waits as long as the users'
// page on storage says, by a clock that is put ahead, and then types the way to
// recover.
func TestTheWayToRecoverAStalledWorldWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPersonBefore(t, func(w *world) { w.startupDeadline = 300 * time.Second })
	p.hold(true) // its pod never runs, as with a claim that never binds
	p.types("kubectl apply -f " + testenv.Path(t, "config/samples/network.yaml"))
	p.applies("survival.yaml", worldsOf(1))
	var failures []time.Time
	for n := 1; n <= 6; n++ {
		failures = append(failures, p.failsAgain(n))
		if n < 6 {
			p.Expect(p.says("Degraded")).To(gomega.HavePrefix("False NoRecentFailures"), "it is late")
			p.later(160 * time.Second)
			p.Eventually(func() string { return p.says("BackingOff") }).Should(gomega.And(
				gomega.HavePrefix("False NoRecentFailures no server has failed to start recently"),
				gomega.ContainSubstring(fmt.Sprintf("%d of 6 attempts failed", n))))
			p.retentionEnds()
		}
	}
	for n := 1; n < 6; n++ {
		p.Expect(failures[n].Sub(failures[n-1])).To(gomega.BeNumerically("~", 3900*time.Second, time.Minute))
	}
	p.Expect(failures[5].Sub(failures[0])).To(gomega.BeNumerically("~", 19500*time.Second, 3*time.Minute), "about five and a half hours")
	p.Eventually(func() string { return p.says("Degraded") }).Should(gomega.HavePrefix("True CrashLoopBackoff 6 attempts in a row failed"))
	p.Expect(p.says("BackingOff")).To(gomega.HavePrefix("False GaveUp"))

	how := commands(t, stalledPage)
	p.Expect(how).To(gomega.HaveLen(6), "every command is typed")
	p.Expect(p.types(how[0])).To(gomega.Equal("6 " + failures[5].Format(time.RFC3339) + "\n"))
	p.Expect(p.types(how[1])).To(gomega.HavePrefix("ready: 0, the floor is 1; survival-0 failed at " + failures[5].Format(time.RFC3339)))
	p.Expect(p.types(how[2])).To(gomega.And(gomega.HavePrefix("StartupTimeout: It did not become Ready within 5m0s"),
		gomega.ContainSubstring("survival-0-data")))
	claim := p.claim("survival-0-data")
	p.later(3600 * time.Second)
	p.Eventually(func() []v1alpha1.Server { return p.servers() }).Should(gomega.BeEmpty(), "one retention later its ordinal is empty")
	p.Eventually(func() string { return p.types(how[1]) }).Should(gomega.ContainSubstring("ordinal 0 waits since starts have failed too often"))
	p.hold(false)
	p.later(24 * time.Hour)
	p.Consistently(func() []v1alpha1.Server { return p.servers() }, 3*time.Second, glance).Should(gomega.BeEmpty(), "it waits for a person")
	p.types(how[3])
	p.Eventually(func() []v1alpha1.Server { return p.servers() }).Should(gomega.HaveLen(1))
	p.types(how[4])
	p.Expect(p.types(how[5])).To(gomega.ContainSubstring("condition met"))
	p.Expect(p.claim("survival-0-data").UID).To(gomega.Equal(claim.UID))
	p.Expect(p.reads(earlySignal)).To(gomega.Equal("0 " + failures[5].Format(time.RFC3339)))
}

// says is a condition of survival, as kubectl prints it.
func (p *person) says(condition string) string {
	p.t.Helper()
	return p.types(getSurvival + ` -o jsonpath='{range .status.conditions[?(@.type=="` + condition + `")]}{.status} {.reason} {.message}{end}'`)
}

// failsAgain lets the startup deadline pass, and returns when the failure was
// that the page's two fields tell of.
func (p *person) failsAgain(n int) time.Time {
	p.t.Helper()
	p.Eventually(func(g gomega.Gomega) {
		server := p.server("survival-0")
		g.Expect(server.Status.Phase).To(gomega.Equal(v1alpha1.ServerPending))
		g.Expect(server.Status.PodUID).NotTo(gomega.BeEmpty())
		g.Expect(server.DeletionTimestamp).To(gomega.BeNil())
	}).Should(gomega.Succeed())
	p.later(300 * time.Second)
	var at time.Time
	p.Eventually(func(g gomega.Gomega) {
		count, last, _ := strings.Cut(p.reads(earlySignal), " ")
		g.Expect(count).To(gomega.Equal(strconv.Itoa(n)))
		var err error
		at, err = time.Parse(time.RFC3339, last)
		g.Expect(err).NotTo(gomega.HaveOccurred())
	}).Should(gomega.Succeed())
	p.Expect(p.server("survival-0").Status.Phase).To(gomega.Equal(v1alpha1.ServerFailed))
	return at
}

// retentionEnds lets what is left of the failed server's retention pass.
func (p *person) retentionEnds() {
	p.t.Helper()
	corpse := p.server("survival-0").UID
	p.later(3440 * time.Second)
	p.Eventually(func() bool {
		again := p.server("survival-0").UID
		return again != "" && again != corpse
	}).Should(gomega.BeTrue(), "it is made again under its name")
}
