// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/refusal"
	"github.com/spawnery/spawnery-operator/internal/sizing"
)

const (
	// refusedRecheck is when a refused create is tried again.
	refusedRecheck = 30 * time.Second
	// nameDraws is how often a taken name is drawn again before it is an error.
	nameDraws = 5
)

// act carries the plan out: what stays and what goes first, then what is made.
// A refused create never holds up a removal, nor one ordinal another.
func (r *Reconciler) act(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, decided sizing.Plan) outcome.Outcome {
	if seen.network == nil {
		return outcome.Block("", "")
	}
	ended := outcome.Join(
		r.withdraw(ctx, group, seen, decided.Withdraw),
		r.retire(ctx, group, seen, decided.Retire),
		outcome.Of(r.remove(ctx, group, seen, decided.Remove)),
		refused(r.createAll(ctx, group, seen, decided)),
	)
	if wrong := seen.unmakeable; wrong != nil {
		ended = outcome.Join(outcome.Block(wrong.reason, wrong.message), ended)
	}
	return ended
}

// refused tells a create that somebody must allow from one that may be repeated.
func refused(err error) outcome.Outcome {
	reason := refusedFor(err)
	if reason == "" {
		return outcome.Of(err)
	}
	return outcome.Wait(refusedRecheck, reason, err.Error())
}

// refusedFor is the reason of a create that a repetition alone does not cure.
func refusedFor(err error) string {
	if errors.Is(err, children.ErrTaken) {
		return v1alpha1.ReasonServerNameTaken
	}
	switch reason := refusal.Of(err); reason {
	case "", v1alpha1.ReasonNamespaceTerminating, v1alpha1.ReasonQuotaExceeded:
		return reason
	}
	return v1alpha1.ReasonPermissionDenied
}

// createAll makes Servers until the API server fails one. An ordinal whose name
// is taken says nothing about the others.
func (r *Reconciler) createAll(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, decided sizing.Plan) error {
	var errs []error
	for _, wanted := range decided.Create {
		err := r.create(ctx, group, seen, wanted, decided.Note)
		errs = append(errs, err)
		if err != nil && !errors.Is(err, children.ErrTaken) {
			break
		}
	}
	return errors.Join(errs...)
}

// create makes one Server. An ephemeral one draws its name; a persistent one
// has the one name of its ordinal.
func (r *Reconciler) create(
	ctx context.Context, group *v1alpha1.ServerGroup, seen observation, wanted sizing.Creation, why string,
) error {
	for range nameDraws {
		server := buildServer(group, seen, wanted, r.Random)
		name := server.Name
		r.writes.Created(group.UID, name, seen.now)
		verdict, err := children.Create(ctx, r.Client, r.Live, server)
		switch {
		case err != nil && refusal.Certain(err):
			r.writes.Refused(group.UID, name)
			if wanted.Ordinal == nil {
				err = children.Drawn(err, name, podspec.EphemeralServerPattern(group.Name))
			}
			return err
		case err != nil:
			return err
		case verdict == children.Created:
			created.Tell(ctx, r.Events, group, server, why)
			return nil
		case verdict == children.Ours && wanted.Ordinal != nil:
			// It is the group's own, and the cache will show it.
			return nil
		}
		r.writes.Refused(group.UID, name)
		if wanted.Ordinal != nil {
			return fmt.Errorf("server %s exists and does not belong to this group; delete it: %w", name, children.ErrTaken)
		}
	}
	return fmt.Errorf("no free name for a server after %d draws", nameDraws)
}

func buildServer(group *v1alpha1.ServerGroup, seen observation, wanted sizing.Creation, random podspec.IntN) *v1alpha1.Server {
	name := podspec.EphemeralServerName(group.Name, random)
	if wanted.Ordinal != nil {
		name = podspec.PersistentServerName(group.Name, *wanted.Ordinal)
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
			Ordinal:         wanted.Ordinal,
			GroupGeneration: &group.Generation,
			PodHash:         seen.podHash,
		},
	}
}

func (r *Reconciler) remove(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, removals []sizing.Removal) error {
	var errs []error
	for _, one := range removals {
		server := seen.object(one.Name)
		if server == nil {
			continue
		}
		r.writes.Deleted(group.UID, server.UID, seen.now)
		err := children.Delete(ctx, r.Client, server)
		if err != nil && refusal.Certain(err) {
			r.writes.Spared(group.UID, server.UID)
		}
		if err == nil {
			deleted.Tell(ctx, r.Events, group, server, one.Note)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
