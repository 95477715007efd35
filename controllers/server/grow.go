// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/refusal"
)

const (
	// resizeErrorLength is the API's bound on status.storageResizeError.
	resizeErrorLength = 1024
	// onlineResize is how long a claim may wait for its file system before only
	// a restart can help: drivers that grow it under a running pod let it wait
	// too, for seconds, and a kubelet that failed tries again within two minutes.
	onlineResize = 3 * time.Minute
)

// growClaim is the only write on a claim after its creation: it raises the
// requested size, and touches no other field. What somebody else raised
// further stays as it is. A refusal does not stop the server from running on
// what it has.
func (r *Reconciler) growClaim(ctx context.Context, p *pass, claim *corev1.PersistentVolumeClaim) outcome.Outcome {
	p.resizeError = storageFailed(claim)
	p.followFileSystem(claim)
	wanted := p.seen.group.Spec.Storage.Size
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	if wanted == nil || wanted.Cmp(requested) <= 0 || wanted.Cmp(capacity) <= 0 {
		return outcome.Continue()
	}
	if claim.Status.Phase != corev1.ClaimBound {
		// Only a bound claim may grow; being bound wakes the server.
		return outcome.Continue()
	}
	if r.growth.Wait(claim.UID, p.seen.now) > 0 {
		p.resizeError = p.server.Status.StorageResizeError
		p.recheckIn(refusedRecheck)
		return outcome.Continue()
	}
	patch, err := growthOf(claim, wanted.String())
	if err != nil {
		return outcome.Retry(err)
	}
	err = r.Client.Patch(ctx, claim.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		r.growth.Written(claim.UID, p.seen.now)
		p.resizeError = growthRefused(err, claim)
		p.recheckIn(refusedRecheck)
		return outcome.Continue()
	case apierrors.IsConflict(err):
		return outcome.Wait(preparedRecheck, "", "")
	case err != nil:
		return outcome.Retry(fmt.Errorf("grow claim %s: %w", claim.Name, err))
	}
	r.growth.Forget(claim.UID)
	return outcome.Continue()
}

// growthOf is the patch. With the claim's UID and resourceVersion it holds for
// the very claim that was looked at, and for no later state of it.
func growthOf(claim *corev1.PersistentVolumeClaim, size string) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": claim.UID, "resourceVersion": claim.ResourceVersion},
		"spec": map[string]any{"resources": map[string]any{
			"requests": map[string]any{string(corev1.ResourceStorage): size},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("render the size of claim %s: %w", claim.Name, err)
	}
	return patch, nil
}

// growthRefused is what the API server said, and what can be done about it.
// Nothing that allows it makes a sign to us, so it is asked again and again.
func growthRefused(err error, claim *corev1.PersistentVolumeClaim) string {
	words, _, _ := strings.Cut(err.Error(), "\n")
	advice := "it is asked again every half minute"
	switch {
	case refusal.Of(err) == v1alpha1.ReasonQuotaExceeded:
		advice = "raise that quota"
	case refusal.Of(err) == v1alpha1.ReasonPermissionDenied:
		advice = "give the operator the permissions of its release"
	case strings.Contains(words, "must support resize"):
		advice = fmt.Sprintf("set allowVolumeExpansion: true on StorageClass %q if its storage can grow volumes; "+
			"otherwise copy the world to a larger claim", ptr.Deref(claim.Spec.StorageClassName, ""))
	}
	return bounded(words, ". What to do: "+advice+".")
}

// bounded shortens words that are not ours so far that ours fit behind them.
func bounded(words, ours string) string {
	return strings.ToValidUTF8(words[:min(len(words), resizeErrorLength-len(ours))], "") + ours
}

// storageFailed is what the storage said when it could not give what the claim
// asks for, empty while nothing is known to be wrong.
func storageFailed(claim *corev1.PersistentVolumeClaim) string {
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	if requested.Cmp(capacity) <= 0 {
		return ""
	}
	for _, condition := range claim.Status.Conditions {
		failed := condition.Type == corev1.PersistentVolumeClaimControllerResizeError ||
			condition.Type == corev1.PersistentVolumeClaimNodeResizeError
		if failed && condition.Status == corev1.ConditionTrue {
			return bounded(fmt.Sprintf("claim %s asks for %s and has %s, and its storage says: %s",
				claim.Name, requested.String(), capacity.String(), strings.TrimSpace(condition.Message)),
				". What to do: look at the events of the claim, and at the free space of its storage.")
		}
	}
	return ""
}

// followFileSystem says whether a restart is what the file system of a grown
// volume waits for. It is not while a driver may still grow it under the running
// pod, nor when it waited before this server was made: another restart would only
// be followed by the next.
func (p *pass) followFileSystem(claim *corev1.PersistentVolumeClaim) {
	p.resizePending = false
	asked, mounted := fileSystemAsked(claim), mountedAt(p.seen.pod)
	if asked == nil || mounted == nil {
		return
	}
	again := asked.Before(&p.server.CreationTimestamp)
	latest := asked.Time
	if again {
		latest = mounted.Time
	}
	switch wait := latest.Add(onlineResize).Sub(p.seen.now); {
	case wait > 0:
		p.recheckIn(wait)
	case !again:
		p.resizePending = true
	case p.resizeError == "":
		p.resizeError = fmt.Sprintf("the file system on claim %s has not grown though it was mounted anew since. "+
			"What to do: look at the events of the claim, and at its storage driver.", claim.Name)
	}
}

// mountedAt is when the kubelet took a pod up, and so mounted its volumes, nil
// before that.
func mountedAt(pod *corev1.Pod) *metav1.Time {
	if pod == nil {
		return nil
	}
	return pod.Status.StartTime
}

// fileSystemAsked is when a claim began to wait for its file system, nil while
// it does not. One that does not say since when has waited for ever.
func fileSystemAsked(claim *corev1.PersistentVolumeClaim) *metav1.Time {
	for i := range claim.Status.Conditions {
		condition := &claim.Status.Conditions[i]
		if condition.Type == corev1.PersistentVolumeClaimFileSystemResizePending && condition.Status == corev1.ConditionTrue {
			return &condition.LastTransitionTime
		}
	}
	return nil
}
