// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/refusal"
)

const (
	// refusedRecheck is when a refused create is tried again.
	refusedRecheck = 30 * time.Second
	// nameDraws is how often a taken name is drawn again before it is an error.
	nameDraws = 5
)

// act carries the plan out: what goes first, then what is made. A refused
// create never holds up a removal.
func (r *Reconciler) act(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, decided plan) outcome.Outcome {
	if seen.network == nil {
		return outcome.Block("", "")
	}
	errs := []error{r.remove(ctx, group, seen, decided.remove)}
	if err := podspec.ValidateMounts(group); err != nil {
		return outcome.Block(v1alpha1.ReasonInvalidMount, errors.Join(append(errs, err)...).Error())
	}
	for _, wanted := range decided.create {
		if err := r.create(ctx, group, seen, wanted); err != nil {
			errs = append(errs, err)
			if reason := refusal.Of(err); reason != "" {
				return outcome.Wait(refusedRecheck, reason, errors.Join(errs...).Error())
			}
			break
		}
	}
	if err := errors.Join(errs...); err != nil {
		return outcome.Retry(err)
	}
	return outcome.Continue()
}

// create makes one Server. An ephemeral one draws its name; a persistent one
// has the one name of its ordinal, which nobody else's Server can take.
func (r *Reconciler) create(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, wanted creation) error {
	key := client.ObjectKeyFromObject(group)
	for range nameDraws {
		server := buildServer(group, seen, wanted, r.Random)
		r.writes.Created(key, server.Name, seen.now)
		verdict, err := children.Create(ctx, r.Client, r.Live, server)
		switch {
		case err != nil && certain(err):
			r.writes.Refused(key, server.Name)
			return err
		case err != nil:
			return err
		case verdict == children.Created:
			return nil
		}
		r.writes.Refused(key, server.Name)
		if wanted.ordinal != nil {
			return taken(server, verdict)
		}
	}
	return fmt.Errorf("no free name for a server after %d draws", nameDraws)
}

// taken is the error of an ordinal whose name has a Server already, nil when
// that is the group's own and the cache merely does not show it yet.
func taken(server *v1alpha1.Server, verdict children.Verdict) error {
	if verdict == children.Ours {
		return nil
	}
	return fmt.Errorf("server %s exists and does not belong to this group; delete it", server.Name)
}

// certain tells an answer of the API server from a call whose end nobody knows.
func certain(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsInternalError(err)
}

func buildServer(group *v1alpha1.ServerGroup, seen observation, wanted creation, random podspec.IntN) *v1alpha1.Server {
	name := podspec.EphemeralServerName(group.Name, random)
	if wanted.ordinal != nil {
		name = podspec.PersistentServerName(group.Name, *wanted.ordinal)
	}
	labels := podspec.ManagedLabels()
	labels[podspec.LabelNetwork] = group.Spec.NetworkRef.Name
	labels[podspec.LabelGroup] = group.Name
	return &v1alpha1.Server{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       group.Namespace,
			Name:            name,
			Labels:          labels,
			Finalizers:      []string{v1alpha1.FinalizerDrain},
			OwnerReferences: []metav1.OwnerReference{podspec.ControlledBy(podspec.KindServerGroup, group)},
		},
		Spec: v1alpha1.ServerSpec{
			GroupRef:        v1alpha1.GroupReference{Name: group.Name},
			NetworkRef:      group.Spec.NetworkRef,
			Ordinal:         wanted.ordinal,
			GroupGeneration: &group.Generation,
			PodHash:         seen.podHash,
		},
	}
}

func (r *Reconciler) remove(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, removals []removal) error {
	var errs []error
	for _, one := range removals {
		for i := range seen.objects {
			server := &seen.objects[i]
			if server.Name != one.name {
				continue
			}
			ctrl.LoggerFrom(ctx).Info("Deleting a server", "server", one.name, "why", one.note)
			r.writes.Deleted(client.ObjectKeyFromObject(group), server.UID, seen.now)
			errs = append(errs, children.Delete(ctx, r.Client, server))
		}
	}
	return errors.Join(errs...)
}
