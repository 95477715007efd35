// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// hasWorld is true for a server that lives on a claim.
func hasWorld(server *v1alpha1.Server, group *v1alpha1.ServerGroup) bool {
	return group != nil && !group.IsEphemeral() && server.Spec.Ordinal != nil
}

// observeWorld looks, while there is no pod yet, whether the claim is there to
// be mounted. While it is not, nothing of this server can fail. A claim that
// no cache of ours shows is looked for only after it was met.
func (r *Reconciler) observeWorld(ctx context.Context, server *v1alpha1.Server, seen *observation) error {
	if seen.podState != phase.PodNotMade || !hasWorld(server, seen.group) {
		return nil
	}
	name := podspec.DataClaimName(server.Name)
	claim, err := readClaim(ctx, r.Client, server.Namespace, name)
	if claim == nil && err == nil && sighting.WorldHeld(server) {
		claim, err = readClaim(ctx, r.Live, server.Namespace, name)
	}
	if err != nil {
		return err
	}
	if claim != nil {
		if reason, _ := whyHeld(claim, nil); reason != "" {
			seen.podState = phase.PodWorldHeld
		}
	}
	return nil
}

// readClaim returns nil when there is no claim of that name.
func readClaim(ctx context.Context, reader client.Reader, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	var claim corev1.PersistentVolumeClaim
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &claim)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read claim %s: %w", name, err)
	}
	return &claim, nil
}

// whyHeld is reason and message why a claim is not to be mounted, empty when it
// may be. Nothing but LabelManagedBy makes it ours. One that is being deleted
// stays for as long as a pod mounts it: another pod would only put off what
// somebody asked for.
func whyHeld(claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) (string, string) {
	switch {
	case claim.Labels[podspec.LabelManagedBy] != podspec.ManagedBy:
		return v1alpha1.ReasonClaimNotOurs, fmt.Sprintf(
			"claim %s exists and is not managed by this operator; label it %s=%s to hand it over",
			claim.Name, podspec.LabelManagedBy, podspec.ManagedBy)
	case claim.DeletionTimestamp == nil:
		return "", ""
	case pod != nil:
		return v1alpha1.ReasonClaimTerminating, fmt.Sprintf(
			"somebody deletes claim %s: it goes, with the world on it, as soon as pod %s ends, and nothing takes that back; "+
				"copy now what is to be kept", claim.Name, pod.Name)
	}
	return v1alpha1.ReasonClaimTerminating, fmt.Sprintf(
		"somebody deletes claim %s, and its world goes with it: no new pod mounts it, and when it is gone an empty one is made "+
			"in its place. Until then its finalizers hold it (%s): look for other pods that mount it",
		claim.Name, strings.Join(claim.Finalizers, ", "))
}

// keepClaim sees to the claim of a persistent server: it exists before the
// pod, it is ours, nobody deletes it, and it asks for the size the group wants.
func (r *Reconciler) keepClaim(ctx context.Context, p *pass) outcome.Outcome {
	if !hasWorld(p.server, p.seen.group) {
		return outcome.Continue()
	}
	p.resizeError = p.server.Status.StorageResizeError
	p.resizePending = ptr.Deref(p.server.Status.StorageResizePending, false)
	claim, ended := r.ensureClaim(ctx, p)
	if claim == nil {
		return ended
	}
	if reason, message := whyHeld(claim, p.seen.pod); reason != "" {
		return outcome.Wait(refusedRecheck, reason, message)
	}
	return r.growClaim(ctx, p, claim)
}

// ensureClaim returns the claim, made now or found. A claim is matched by its
// name and by LabelManagedBy alone: it has no owner, so that no mistake with a
// group costs a world.
func (r *Reconciler) ensureClaim(ctx context.Context, p *pass) (*corev1.PersistentVolumeClaim, outcome.Outcome) {
	wanted := podspec.BuildDataClaim(p.seen.group, *p.server.Spec.Ordinal)
	there, err := readClaim(ctx, r.Client, wanted.Namespace, wanted.Name)
	if err != nil {
		return nil, outcome.Retry(err)
	}
	if there != nil || p.decision.Next != v1alpha1.ServerPending {
		// Past Pending a pod has mounted it: the cache is behind, or its label
		// was taken away.
		return there, outcome.Continue()
	}
	err = r.Client.Create(ctx, wanted, fieldOwner)
	if err == nil {
		return wanted, outcome.Continue()
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, refused(fmt.Errorf("create claim %s: %w", wanted.Name, err))
	}
	there, err = readClaim(ctx, r.Live, wanted.Namespace, wanted.Name)
	switch {
	case err != nil:
		return nil, outcome.Retry(err)
	case there == nil:
		// It went between the two calls.
		return nil, outcome.Wait(preparedRecheck, "", "")
	}
	return there, outcome.Continue()
}
