// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// person is the name under which everything that the test plays writes.
const person = "person"

// ledger sees every event of a namespace's claims and pods in its order, and
// notes what must never be. It knows nothing of how the operator works.
type ledger struct {
	tally *tally
	mu    sync.Mutex
	began time.Time
	// claims and pods are as they were last seen; met are the claims that a pod
	// has mounted before.
	claims map[string]*corev1.PersistentVolumeClaim
	pods   map[types.UID]*corev1.Pod
	met    map[string]bool
	lines  []string
	broken []string
}

func newLedger(began time.Time, tally *tally) *ledger {
	return &ledger{
		began: began, tally: tally, met: map[string]bool{},
		claims: map[string]*corev1.PersistentVolumeClaim{}, pods: map[types.UID]*corev1.Pod{},
	}
}

// note adds a line to the chronicle.
func (l *ledger) note(now time.Time, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(now, format, args...)
}

func (l *ledger) write(now time.Time, format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf("%8.3f s  ", now.Sub(l.began).Seconds())+fmt.Sprintf(format, args...))
}

func (l *ledger) violated(now time.Time, format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
	l.write(now, "VIOLATED: "+format, args...)
}

// claim takes the next event of a claim.
func (l *ledger) claim(now time.Time, kind watch.EventType, claim *corev1.PersistentVolumeClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.claims[claim.Name]
	l.write(now, "claim %s %s: UID %s, %s requested, managed-by=%q, resourceVersion %s, written by %s", claim.Name,
		strings.ToLower(string(kind)), claim.UID, sizeOf(claim), claim.Labels[podspec.LabelManagedBy], claim.ResourceVersion,
		strings.Join(writers(claim), ", "))
	if kind == watch.Deleted {
		l.violated(now, "claim %s with UID %s is gone", claim.Name, claim.UID)
		return
	}
	if claim.DeletionTimestamp != nil {
		l.violated(now, "claim %s has a deletionTimestamp", claim.Name)
	}
	if len(claim.OwnerReferences) > 0 {
		l.violated(now, "claim %s has an owner, %s %s", claim.Name, claim.OwnerReferences[0].Kind, claim.OwnerReferences[0].Name)
	}
	if before != nil {
		l.compare(now, before, claim)
	} else {
		l.tally.count(claimsMade)
	}
	l.claims[claim.Name] = claim.DeepCopy()
}

// compare looks at what became of a claim from one event to the next.
func (l *ledger) compare(now time.Time, before, after *corev1.PersistentVolumeClaim) {
	if before.UID != after.UID {
		l.violated(now, "claim %s is another one: its UID was %s, and is %s", after.Name, before.UID, after.UID)
	}
	was, is := sizeOf(before), sizeOf(after)
	if was.Cmp(*is) > 0 {
		l.violated(now, "claim %s was lowered from %s to %s", after.Name, was, is)
	}
	if was.Cmp(*is) < 0 {
		l.tally.count(claimsGrown)
	}
	for _, entry := range after.ManagedFields {
		if entry.Manager == person || slices.ContainsFunc(before.ManagedFields, func(old metav1.ManagedFieldsEntry) bool {
			return sameEntry(old, entry)
		}) {
			continue
		}
		switch {
		case !strings.HasPrefix(entry.Manager, "spawnery-"):
			l.violated(now, "claim %s was written by %s", after.Name, entry.Manager)
		case !ours(before) && !ours(after):
			l.violated(now, "claim %s is not labelled as the operator's, and %s wrote it", after.Name, entry.Manager)
		}
	}
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString() && a.Time.Equal(b.Time)
}

func ours(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Labels[podspec.LabelManagedBy] == podspec.ManagedBy
}

// writers are those who have written a claim, by the names they go under.
func writers(claim *corev1.PersistentVolumeClaim) []string {
	var names []string
	for _, entry := range claim.ManagedFields {
		if !slices.Contains(names, entry.Manager) {
			names = append(names, entry.Manager)
		}
	}
	return names
}

// pod takes the next event of a pod.
func (l *ledger) pod(now time.Time, kind watch.EventType, pod *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.pods[pod.UID]
	if was, is := stateOf(before), stateOf(pod); was != is || kind == watch.Deleted {
		l.write(now, "pod %s %s: UID %s, %s, mounts %s", pod.Name, strings.ToLower(string(kind)), pod.UID, is, strings.Join(mounts(pod), ", "))
	}
	if kind == watch.Deleted {
		delete(l.pods, pod.UID)
		return
	}
	if before == nil {
		l.meet(pod)
	}
	l.pods[pod.UID] = pod.DeepCopy()
	if finished(pod) {
		return
	}
	for _, other := range l.pods {
		if other.UID == pod.UID || finished(other) {
			continue
		}
		for _, claim := range mounts(pod) {
			if slices.Contains(mounts(other), claim) {
				l.violated(now, "claim %s is mounted by two live pods, %s (%s) and %s (%s)", claim, other.Name, other.UID, pod.Name, pod.UID)
			}
		}
	}
}

// meet counts a pod that was made, and the worlds that it finds.
func (l *ledger) meet(pod *corev1.Pod) {
	l.tally.count(podsMade)
	for _, claim := range mounts(pod) {
		if l.met[claim] {
			l.tally.count(worldsMet)
		}
		l.met[claim] = true
	}
}

func stateOf(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	state := string(pod.Status.Phase)
	if pod.DeletionTimestamp != nil {
		state += ", terminating"
	}
	return state
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// mounts are the claims that a pod mounts.
func mounts(pod *corev1.Pod) []string {
	var names []string
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// audit compares what was seen with what there is in the end.
func (l *ledger) audit(now time.Time, there []corev1.PersistentVolumeClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.claims)) {
		at := slices.IndexFunc(there, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name })
		if at < 0 {
			l.violated(now, "claim %s is not there in the end", name)
			continue
		}
		l.compare(now, l.claims[name], &there[at])
	}
}

// blind notes that events may have been missed, which proves nothing.
func (l *ledger) blind(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violated(now, "the watch broke, and events may have been missed")
}

// violations are what must not have been, in their order.
func (l *ledger) violations() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.broken)
}

// chronicle is everything noted so far.
func (l *ledger) chronicle() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
