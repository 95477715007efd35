// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// stallPasses are about worlds that do not start. Time passes only as far as
// the reconcilers themselves ask to be woken, so that whatever happens would
// happen without any news.
func stallPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a broken volume stalls after five gaps":           stallsAfterFiveGaps,
		"an edit brings a world back that was given up":    editBringsBack,
		"a retry brings one back when its corpse has gone": retryBringsBack,
		"failed ordinals are all kept":                     failedOrdinalsAreKept,
	}
}

// breaks makes a group of ordinals of which the last has a pod that never runs,
// while the others serve.
func (w *world) breaks(replicas int32) string {
	w.t.Helper()
	w.clock.SetTime(w.clock.Now().Truncate(time.Second)) // a status tells whole seconds
	w.network()
	w.create(survival(replicas))
	w.settle(aGroup, "survival")
	for ordinal := range replicas - 1 {
		w.serve(fmt.Sprintf("survival-%d", ordinal), 0)
	}
	w.settleAll()
	return fmt.Sprintf("survival-%d", replicas-1)
}

// settleAll does what is to be done now, and returns when something is due by
// itself. Healthy agents report, and deleted pods end.
func (w *world) settleAll() time.Duration {
	w.t.Helper()
	var due time.Duration
	for range 4 {
		for _, server := range w.servers() {
			if server.Status.Phase == v1alpha1.ServerReady {
				w.report(server.Name, 0)
			}
		}
		due = w.settle(aGroup, "survival").RequeueAfter
		for _, server := range w.servers() {
			result := w.settle(aServer, server.Name)
			if !w.gone(aServer, server.Name) {
				due = outcome.Soonest(due, result.RequeueAfter)
			}
		}
		for _, pod := range w.pods(podspec.RoleServer) {
			if pod.DeletionTimestamp != nil {
				w.Expect(client.IgnoreNotFound(w.Client.Delete(w.t.Context(), &pod, client.GracePeriodSeconds(0)))).To(gomega.Succeed())
			}
		}
	}
	return due
}

// rest lets time pass until something is due, and says how much that was.
func (w *world) rest() time.Duration {
	w.t.Helper()
	due := w.settleAll()
	w.Expect(due).To(gomega.BeNumerically(">", 0), "nothing would ever happen again")
	w.clock.Step(due)
	w.settleAll()
	return due
}

func (w *world) failures() int { return int(*w.groupStatus("survival").ConsecutiveFailures) }

// fails rests until the given number of failures is on record, and says how
// long that was.
func (w *world) fails(failures int) time.Duration {
	w.t.Helper()
	return w.restWhile(func() bool { return w.failures() < failures })
}

// backsOff rests while the group says that it does, and says how long that was.
func (w *world) backsOff() time.Duration {
	w.t.Helper()
	return w.restWhile(func() bool { return strings.HasPrefix(w.groupCondition("survival", "BackingOff"), "True") })
}

func (w *world) restWhile(goesOn func() bool) time.Duration {
	w.t.Helper()
	began := w.clock.Now()
	for range 50 {
		if !goesOn() {
			return w.clock.Since(began)
		}
		w.rest()
	}
	w.t.Fatalf("it never ends; %d failures are on record", w.failures())
	return 0
}

// stallsAfterFiveGaps has two healthy ordinals and a broken one, at the defaults.
func stallsAfterFiveGaps(w *world) {
	broken := w.breaks(3)
	w.Expect(w.failures()).To(gomega.BeZero())
	w.Expect(w.fails(1)).To(gomega.Equal(300*time.Second), "the startup deadline")
	began := w.clock.Now()
	w.Expect(w.groupStatus("survival").LastFailureAt.Time).To(gomega.BeTemporally("==", began), "from the first failure")
	claim := get[corev1.PersistentVolumeClaim](w, broken+"-data")

	for n, window := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second} {
		conditions := w.groupStatus("survival").Conditions
		w.Expect(condition(conditions, "BackingOff")).To(gomega.HavePrefix(fmt.Sprintf("True CrashLoopBackoff: attempt %d of 6 failed", n+1)))
		w.Expect(condition(conditions, "Degraded")).To(gomega.HavePrefix("False NoRecentFailures"), "it is late")
		w.Expect(condition(conditions, "Available")).To(gomega.ContainSubstring(fmt.Sprintf(
			"; survival-2 failed at %s and is kept until %s", instant(w.clock.Now()), instant(w.clock.Now().Add(time.Hour)))))
		w.Expect(w.backsOff()).To(gomega.Equal(window))
		w.Expect(w.groupCondition("survival", "BackingOff")).To(gomega.And(
			gomega.HavePrefix("False NoRecentFailures: no server has failed to start recently"),
			gomega.ContainSubstring(fmt.Sprintf("%d of 6 attempts failed, the last at ", n+1))))
		w.Expect(w.fails(n+2)+window).To(gomega.Equal(3900*time.Second), "retention and startup deadline")
	}
	w.Expect(w.clock.Since(began)).To(gomega.Equal(5 * 3900 * time.Second))
	status := w.groupStatus("survival")
	w.Expect(status.Phase).To(gomega.Equal(v1alpha1.GroupDegraded))
	w.Expect(status.ReadyReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(2)), "the healthy siblings are no success")
	w.Expect(condition(status.Conditions, "BackingOff")).To(gomega.HavePrefix("False GaveUp: gave up after 6 failed attempts"))
	w.Expect(condition(status.Conditions, "Degraded")).To(gomega.And(
		gomega.HavePrefix("True CrashLoopBackoff: 6 attempts in a row failed"), gomega.ContainSubstring("survival-2 failed at"),
		gomega.ContainSubstring(v1alpha1.AnnotationRetry)))

	w.Expect(w.serverStatus(broken).Phase).To(gomega.Equal(v1alpha1.ServerFailed), "the sixth corpse stands")
	w.Expect(w.restWhile(func() bool { return !w.gone(aServer, broken) })).To(gomega.Equal(3600*time.Second), "for one more retention")
	w.Expect(w.groupCondition("survival", "Degraded")).To(gomega.ContainSubstring("ordinal 2 waits since starts have failed too often, the last at "))
	w.Expect(w.settleAll()).To(gomega.BeZero(), "and then nothing is due any more")
	w.clock.Step(30 * 24 * time.Hour)
	w.settleAll()
	w.Expect(w.gone(aServer, broken)).To(gomega.BeTrue())
	w.Expect(get[corev1.PersistentVolumeClaim](w, broken+"-data")).To(gomega.Equal(claim), "nothing has touched it")
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// editBringsBack edits a field that reaches no pod.
func editBringsBack(w *world) {
	broken := w.breaks(1)
	w.fails(6)
	w.restWhile(func() bool { return !w.gone(aServer, broken) })
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Drain.TimeoutSeconds++ })
	w.settleAll()
	w.Expect(w.failures()).To(gomega.BeZero())
	w.Expect(w.groupCondition("survival", "Degraded")).To(gomega.HavePrefix("False"))
	w.serve(broken, 0)
	w.settleAll()
	w.Expect(w.groupStatus("survival").Phase).To(gomega.Equal(v1alpha1.GroupReady))
}

func retryBringsBack(w *world) {
	broken := w.breaks(1)
	w.fails(6)
	corpse := get[v1alpha1.Server](w, broken).UID
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Annotations = map[string]string{v1alpha1.AnnotationRetry: "mended"} })
	w.settleAll()
	w.Expect(w.failures()).To(gomega.BeZero())
	w.Expect(get[v1alpha1.Server](w, broken).UID).To(gomega.Equal(corpse), "it holds its ordinal")
	w.Expect(w.restWhile(func() bool { return get[v1alpha1.Server](w, broken).UID == corpse })).To(
		gomega.Equal(3600*time.Second), "it returns when its corpse has gone")
	w.Expect(w.serverStatus(broken).Phase).To(gomega.Equal(v1alpha1.ServerPending))
}

// failedOrdinalsAreKept is true of all of them, not of the newest alone.
func failedOrdinalsAreKept(w *world) {
	w.network()
	w.create(survival(3))
	w.settleAll()
	names := []string{"survival-0", "survival-1", "survival-2"}
	for _, name := range names {
		w.settle(aServer, name)
		w.clock.Step(time.Minute)
	}
	w.clock.Step(5 * time.Minute)
	w.settleAll()
	var failed []string
	for _, server := range w.servers() {
		if server.Status.Phase == v1alpha1.ServerFailed && server.DeletionTimestamp == nil {
			failed = append(failed, server.Name)
		}
	}
	slices.Sort(failed)
	w.Expect(failed).To(gomega.Equal(names))
}
