// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

var (
	trials = flag.Int("trials", 10, "how many trials are made")
	seed   = flag.Uint64("seed", 0, "seed of the first trial; the next ones count on; 0 draws one")
)

// processNumber keeps the addresses of two test runs on one machine apart.
var processNumber = os.Getpid()

const (
	// patience is what only something broken reaches.
	patience = 90 * time.Second
	// fewestSteps and moreSteps bound how much happens in a trial.
	fewestSteps, moreSteps = 5, 10
	// oneIn is how many trials there are to one in which the kinds are deleted.
	oneIn = 25
	// oneUninstalls is of how many trials one uninstalls the operator for sure.
	oneUninstalls = 10
)

// auditPolicy logs who writes claims.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{group: "", resources: [persistentvolumeclaims, persistentvolumeclaims/status]}]
- level: None
`

func TestNoWorldIsEverLost(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1e9) + 1
	}
	t.Logf("the first of %d trials has seed %d", *trials, first)
	s := newStage(t)
	t.Run("trials", func(t *testing.T) {
		for number := range *trials {
			seed := first + uint64(number)
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				t.Parallel()
				newTrial(t, s, number, seed).live(false)
			})
		}
	})
	// The kinds are everybody's, so these trials have the cluster to themselves.
	for number := range (*trials + oneIn - 1) / oneIn {
		seed := first + uint64(number)
		t.Run(fmt.Sprintf("without kinds, seed %d", seed), func(t *testing.T) {
			newTrial(t, s, *trials+number, seed).live(true)
		})
	}
	t.Run("everything happened that trials are made of", func(t *testing.T) { everythingHappened(t, s.tally) })
	t.Run("nobody but people wrote more of a claim than its creation and its size", func(t *testing.T) { onlyGrown(t, s) })
}

// live plays a trial from its beginning to the judgement. One that is alone in
// the cluster deletes the kinds in its middle.
func (t *trial) live(alone bool) {
	defer t.tidy()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d; repeat it with: make test-worlds SEED=%d TRIALS=1\n%s\nThe managers' last words:\n%s",
				t.seed, t.seed, t.ledger.chronicle(), t.logs.last())
		}
	})
	t.install()
	t.makeNetwork()
	t.makeGroup()
	if t.random.IntN(5) == 0 {
		t.makeLobby()
	}
	if t.random.IntN(5) == 0 {
		t.makeProxies()
	}
	t.startManager()
	t.settle(1500 * time.Millisecond)
	count := fewestSteps + t.random.IntN(moreSteps)
	for number := range count {
		t.reviveManager()
		switch {
		case number == count/2 && alone:
			t.deleteKinds()
		case number == count/2 && t.seed%oneUninstalls == 0:
			t.uninstall()
		default:
			t.step()
		}
		t.poke()
		t.pause()
	}
	t.restore()
	t.ledger.audit(time.Now(), t.claims())
	for _, violation := range t.ledger.violations() {
		t.Error(violation)
	}
}

// step does one thing at random.
func (t *trial) step() {
	all := steps()
	sum := 0
	for _, one := range all {
		sum += one.weight
	}
	roll := t.random.IntN(sum)
	for _, one := range all {
		if roll -= one.weight; roll < 0 {
			one.do(t)
			return
		}
	}
}

// pause lets some of what follows happen, or all of it.
func (t *trial) pause() {
	switch t.random.IntN(4) {
	case 0:
	case 1:
		wait(t.Context(), 20*time.Millisecond)
	case 2:
		wait(t.Context(), 150*time.Millisecond)
	default:
		t.settle(500 * time.Millisecond)
	}
}

// settle waits until the group has what it wants, or no longer.
func (t *trial) settle(most time.Duration) {
	for deadline := time.Now().Add(most); time.Now().Before(deadline) && t.unsettled() != ""; {
		wait(t.Context(), 50*time.Millisecond)
	}
}

// poke touches the group and its Servers, so that what waits for an instant of
// the manager's fast clock is looked at: its queues know the real one.
func (t *trial) poke() {
	touch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"worlds.test/poke":"%d"}}}`, time.Now().UnixNano()))
	_ = t.people.Patch(t.Context(), &v1alpha1.Network{ObjectMeta: t.named(networkName)}, touch)
	_ = t.people.Patch(t.Context(), &v1alpha1.ServerGroup{ObjectMeta: t.named(groupName)}, touch)
	for _, server := range t.servers() {
		_ = t.people.Patch(t.Context(), &server, touch)
	}
}

// restore ends every fault, has people put right what they have made wrong, and
// waits until every ordinal that is wanted plays on its world again.
func (t *trial) restore() {
	t.ledger.note(time.Now(), "restore: no more faults")
	t.node.set(false, false)
	if t.kindless {
		t.makeKinds()
	}
	if t.gone {
		t.install()
	}
	if t.manager != nil {
		t.manager.wire.fail(0)
		t.manager.wire.crash(0)
	}
	var missing string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); wait(t.Context(), 100*time.Millisecond) {
		t.reviveManager()
		t.startManager()
		t.repair()
		if missing = t.unsettled(); missing == "" {
			return
		}
		t.poke()
	}
	t.Errorf("after %s without faults: %s", patience, missing)
}

// repair is what a person does who reads what the operator reports.
func (t *trial) repair() {
	var group v1alpha1.ServerGroup
	switch err := t.people.Get(t.Context(), t.key(groupName), &group); {
	case apierrors.IsNotFound(err):
		t.makeGroup()
		return
	case err != nil:
		return
	}
	if err := t.people.Get(t.Context(), t.key(networkName), &v1alpha1.Network{}); apierrors.IsNotFound(err) {
		t.makeNetwork()
	}
	if group.Annotations[v1alpha1.AnnotationRetry] == "" {
		t.edit(func(g *v1alpha1.ServerGroup) {
			metav1.SetMetaDataAnnotation(&g.ObjectMeta, v1alpha1.AnnotationRetry, "1")
		}, "retry")
	}
	t.clearAway(&group)
}

// clearAway deletes Servers and pods that are in the way of the group's, and
// hands claims without the operator's label over to it.
func (t *trial) clearAway(group *v1alpha1.ServerGroup) {
	for _, server := range t.servers() {
		stray := !metav1.IsControlledBy(&server, group) || strings.Contains(server.Name, "copy")
		if stray && server.DeletionTimestamp == nil && group.DeletionTimestamp == nil {
			t.says(t.people.Delete(t.Context(), &server), "delete Server %s, which is in the way", server.Name)
		}
	}
	for _, pod := range t.pods() {
		if strings.HasPrefix(pod.Name, groupName) && metav1.GetControllerOf(&pod) == nil && pod.DeletionTimestamp == nil {
			t.says(t.people.Delete(t.Context(), &pod), "delete pod %s, which is in the way", pod.Name)
		}
	}
	for _, claim := range t.claims() {
		if !ours(&claim) {
			t.says(t.label(&claim, podspec.ManagedBy), "hand claim %s over", claim.Name)
		}
	}
}

// unsettled says what the group lacks; empty when each of its ordinals runs on
// its world, and nothing else does.
func (t *trial) unsettled() string {
	var group v1alpha1.ServerGroup
	if err := t.people.Get(t.Context(), t.key(groupName), &group); err != nil {
		return err.Error()
	}
	if group.DeletionTimestamp != nil {
		return "the group is being deleted"
	}
	running := map[string]bool{}
	for _, pod := range t.pods() {
		if pod.Labels[podspec.LabelGroup] != groupName {
			continue
		}
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("pod %s is %s", pod.Name, stateOf(&pod))
		}
		if !slices.Equal(mounts(&pod), []string{podspec.DataClaimName(pod.Name)}) {
			return fmt.Sprintf("pod %s mounts %v", pod.Name, mounts(&pod))
		}
		running[pod.Name] = true
	}
	for ordinal := range *group.Spec.Replicas {
		if name := podspec.PersistentServerName(groupName, ordinal); !running[name] {
			return "there is no pod " + name
		}
		delete(running, podspec.PersistentServerName(groupName, ordinal))
	}
	for name := range running {
		return "pod " + name + " is one too many"
	}
	return ""
}

// tidy ends the trial and takes its load off the API server; claims stay, so
// that whatever would still lose one is seen in the end.
func (t *trial) tidy() {
	t.stopManager()
	here := client.InNamespace(t.namespace)
	for _, kind := range []client.Object{&v1alpha1.ServerGroup{}, &v1alpha1.ProxyGroup{}, &v1alpha1.Network{}, &v1alpha1.Server{}} {
		_ = t.people.DeleteAllOf(t.Context(), kind, here)
	}
	t.release()
	_ = t.people.DeleteAllOf(t.Context(), &corev1.Pod{}, here, client.GracePeriodSeconds(0))
}

// onlyGrown reads in the API server's audit log who wrote claims.
func onlyGrown(t *testing.T, s *stage) {
	var writes int
	for _, call := range s.AllCalls(t) {
		if call.Resource != "persistentvolumeclaims" {
			continue
		}
		writes++
		if !mayWrite(call) {
			t.Errorf("%s did %s of claim %s/%s %s", call.User, call.Verb, call.Namespace, call.Name, call.Subresource)
		}
	}
	if writes == 0 {
		t.Error("the audit log knows of no claim")
	}
}

// mayWrite says whether a write to a claim is the test's own, or one of the two
// that a manager makes. Where people delete the operator's namespace, nobody's
// world is.
func mayWrite(call testenv.Call) bool {
	switch {
	case call.User == "admin":
		return true
	case strings.HasPrefix(call.User, "system:serviceaccount:") && strings.HasSuffix(call.User, ":"+managerAccount):
		return call.Subresource == "" && (call.Verb == "create" || call.Verb == "patch")
	}
	return call.User == testenv.ControllersUser && strings.HasSuffix(call.Namespace, operatorSuffix)
}
