// SPDX-License-Identifier: Apache-2.0

// Package scaleboost tidies up boosts that have expired. They count for nothing
// by then: whether a boost is live is a matter of its expiry and the clock.
package scaleboost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// keptByHand is how long a boost that somebody wrote stays after it expired, to
// be looked at or prolonged.
const keptByHand = 24 * time.Hour

// Sweeper removes expired boosts.
type Sweeper struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// +kubebuilder:rbac:groups=spawnery.cloud,resources=scaleboosts,verbs=get;list;watch;delete

// Sweep deletes the boosts whose time after their expiry is over. An error
// about one holds up no other; all of them are returned.
func (s *Sweeper) Sweep(ctx context.Context) error {
	var boosts v1alpha1.ScaleBoostList
	if err := s.Client.List(ctx, &boosts); err != nil {
		return fmt.Errorf("list the boosts: %w", err)
	}
	var errs []error
	for i := range boosts.Items {
		if due(&boosts.Items[i], s.Clock.Now()) {
			errs = append(errs, s.remove(ctx, &boosts.Items[i]))
		}
	}
	return errors.Join(errs...)
}

// due is true for what may go: at once what the operator made, later what
// somebody wrote, never what a tool would only write again.
func due(boost *v1alpha1.ScaleBoost, now time.Time) bool {
	if boost.Spec.ExpiresAt == nil || boost.DeletionTimestamp != nil || tracked(boost) {
		return false
	}
	goes := boost.Spec.ExpiresAt.Time
	if boost.Labels[podspec.LabelManagedBy] != podspec.ManagedBy {
		goes = goes.Add(keptByHand)
	}
	return !now.Before(goes)
}

// remove deletes exactly the boost that was looked at: one that somebody
// prolonged meanwhile stays.
func (s *Sweeper) remove(ctx context.Context, boost *v1alpha1.ScaleBoost) error {
	err := s.Client.Delete(ctx, boost, client.Preconditions{UID: &boost.UID, ResourceVersion: &boost.ResourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete boost %s: %w", client.ObjectKeyFromObject(boost), err)
	}
	ctrl.LoggerFrom(ctx).Info("Deleted an expired boost", "namespace", boost.Namespace, "name", boost.Name,
		"expired", boost.Spec.ExpiresAt.Time)
	return nil
}

// tracked is true for a boost that a GitOps tool or a package manager put
// there: deleting it would be drift, and the tool would write it again.
func tracked(boost *v1alpha1.ScaleBoost) bool {
	// Argo CD's own label by default is instance, Helm's managed-by.
	for _, key := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by"} {
		if _, there := boost.Labels[key]; there {
			return true
		}
	}
	for _, keys := range []map[string]string{boost.Labels, boost.Annotations} {
		for key := range keys {
			domain, _, _ := strings.Cut(key, "/")
			if domain == "argocd.argoproj.io" || domain == "meta.helm.sh" || strings.HasSuffix(domain, ".toolkit.fluxcd.io") {
				return true
			}
		}
	}
	return false
}
