// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"slices"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	// handOver is how long nobody may lead. Waiting for the lease to expire
	// would take 15 seconds; a candidate asks every two to four and a half.
	handOver = 8 * time.Second
	// firstDecision is how long a new leader may take until it acts.
	firstDecision = 10 * time.Second
)

// upgradeChangesNothing upgrades from the last release to this tree.
func upgradeChangesNothing(w *world, s *story) {
	if s.released == nil {
		w.t.Skip(s.why)
	}
	old := w.managers()[0].Pod
	w.Expect(w.identities()).To(gomega.Equal(s.network))
	leases := w.watchLease()
	s.catalog = []bundle{*s.released, *s.current}
	s.installed = *s.current
	w.publish(s.catalog...)
	w.awaitInstalled(s.installed)
	w.Expect(w.identities()).To(gomega.Equal(s.network), "nothing was made anew, and no spec changed")

	var released, acquired time.Time
	w.Eventually(func() bool {
		released, acquired = handedOver(leases())
		return !acquired.IsZero()
	}).Should(gomega.BeTrue(), "the old manager releases the lease, and the new one takes it")
	w.decides()
	acted := w.respectLease(old, w.managers()[0].Pod, released, acquired)
	w.t.Logf("nobody led for %d ms, and the new manager acted %d ms later", acquired.Sub(released).Milliseconds(), acted.Sub(acquired).Milliseconds())
	w.Expect(acquired.Sub(released)).To(gomega.BeNumerically("<", handOver), "the time without a leader")
	w.Expect(acted.Sub(acquired)).To(gomega.BeNumerically("<", firstDecision), "the time until the new manager acts")
}

// watchLease follows the lease of the managers and returns what was seen of it.
func (w *world) watchLease() func() []coordinationv1.LeaseSpec {
	w.t.Helper()
	watcher, err := client.NewWithWatch(w.Config, client.Options{Scheme: w.Scheme})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	changes, err := watcher.Watch(ctx, &coordinationv1.LeaseList{}, client.InNamespace(operatorNamespace))
	w.Expect(err).NotTo(gomega.HaveOccurred())
	var seen []coordinationv1.LeaseSpec
	return func() []coordinationv1.LeaseSpec {
		for {
			select {
			case change, open := <-changes.ResultChan():
				if !open {
					return seen
				}
				if lease, ok := change.Object.(*coordinationv1.Lease); ok && lease.Name == accountName {
					seen = append(seen, lease.Spec)
				}
			default:
				return seen
			}
		}
	}
}

// handedOver is when the lease was released, and when another holder took it.
func handedOver(leases []coordinationv1.LeaseSpec) (time.Time, time.Time) {
	free := slices.IndexFunc(leases, func(lease coordinationv1.LeaseSpec) bool { return ptr.Deref(lease.HolderIdentity, "") == "" })
	if free < 1 {
		return time.Time{}, time.Time{}
	}
	old := *leases[free-1].HolderIdentity
	for _, lease := range leases[free+1:] {
		if holder := ptr.Deref(lease.HolderIdentity, ""); holder != "" && holder != old {
			return leases[free].RenewTime.Time, lease.AcquireTime.Time
		}
	}
	return time.Time{}, time.Time{}
}

// respectLease compares what two managers wrote with who led, and returns when
// the second wrote first.
func (w *world) respectLease(old, next string, released, acquired time.Time) time.Time {
	w.t.Helper()
	var acted time.Time
	for _, call := range w.Calls(w.t, accountUser) {
		if !decided(call) {
			continue
		}
		switch call.Pod {
		case old:
			w.Expect(call.At).NotTo(gomega.BeTemporally(">", released), "written after the lease was released: %+v", call)
		case next:
			w.Expect(call.At).NotTo(gomega.BeTemporally("<", acquired), "written without the lease: %+v", call)
			if acted.IsZero() {
				acted = call.At
			}
		}
	}
	w.Expect(acted).NotTo(gomega.BeZero(), "the new manager wrote something")
	return acted
}

// decided is true for a call that follows from a decision.
func decided(call testenv.Call) bool {
	return slices.Contains([]string{"create", "patch", "delete"}, call.Verb) && call.Namespace == gameNamespace && call.Resource != "events"
}
