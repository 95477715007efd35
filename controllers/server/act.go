// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/refusal"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

const (
	// refusedRecheck is when a refused write is tried again: quota, policy or
	// permission may have been changed without a sign to us.
	refusedRecheck = 30 * time.Second
	// preparedRecheck is when a namespace that is being prepared is looked at.
	preparedRecheck = time.Second
	// saveRecheck is when a save that nobody has confirmed is looked at; the
	// confirmation itself wakes the Server.
	saveRecheck = time.Second
)

// steps are what a pass does, in order.
func (r *Reconciler) steps() []outcome.Step[*pass] {
	return []outcome.Step[*pass]{
		{Name: "tell the agent", Do: r.tellAgent},
		{Name: "release the server", Do: r.release},
		{Name: "delete the pod", Do: r.deletePod},
		{Name: "accept the server", Do: r.accept},
		{Name: "keep the claim", Do: r.keepClaim},
		{Name: "create the pod", Do: r.createPod},
	}
}

// tellAgent states what the pod does not fix. A pod that is gone is forgotten,
// so that its last words count for nothing.
func (r *Reconciler) tellAgent(_ context.Context, p *pass) outcome.Outcome {
	uid := types.UID(p.server.Status.PodUID)
	p.podName, p.podUID = p.server.Status.PodName, uid
	if pod := p.seen.pod; pod != nil {
		// A pass that made it may have ended before it could note so.
		p.podName, p.podUID, uid = pod.Name, pod.UID, pod.UID
	}
	if uid == "" {
		return outcome.Continue()
	}
	if p.seen.podState == phase.PodAbsent {
		r.Sessions.Forget(uid)
		return outcome.Continue()
	}
	if group := p.seen.group; group != nil {
		r.Sessions.SetServerSettings(uid, settingsOf(p.server, group))
	}
	return outcome.Continue()
}

func settingsOf(server *v1alpha1.Server, group *v1alpha1.ServerGroup) *agentv1alpha1.ServerSettings {
	settings := &agentv1alpha1.ServerSettings{
		Server:      server.Name,
		Group:       group.Name,
		DisplayName: cmp.Or(group.Spec.DisplayName, group.Name),
		MaxPlayers:  group.Spec.MaxPlayers,

		EnforcePlayableSlots: ptr.Deref(group.Spec.EnforcePlayableSlots, false),
	}
	if group.Spec.PlayableSlots > 0 {
		settings.PlayableSlots = new(group.Spec.PlayableSlots)
	}
	return settings
}

// release lets the Server go once nothing of it runs. Deleting it first makes
// the end of its finalizer the end of the object.
func (r *Reconciler) release(ctx context.Context, p *pass) outcome.Outcome {
	if !p.decision.Effects.Has(phase.Release) {
		return outcome.Continue()
	}
	if p.server.DeletionTimestamp == nil {
		if err := children.Delete(ctx, r.Client, p.server); err != nil {
			return outcome.Retry(err)
		}
	}
	r.Sessions.Forget(p.podUID)
	p.released = true
	before := p.server.DeepCopy()
	if !controllerutil.RemoveFinalizer(p.server, v1alpha1.FinalizerDrain) {
		return outcome.Block("", "")
	}
	// With the resourceVersion a finalizer that somebody else holds stays.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, p.server, patch, fieldOwner)
	switch {
	case apierrors.IsConflict(err):
		return outcome.Wait(preparedRecheck, "", "")
	case client.IgnoreNotFound(err) != nil:
		return outcome.Retry(fmt.Errorf("remove the finalizer: %w", err))
	}
	return outcome.Block("", "")
}

// deletePod has the world saved, then deletes the pod. A world that cannot be
// saved is no reason to keep a pod that nobody is on.
func (r *Reconciler) deletePod(ctx context.Context, p *pass) outcome.Outcome {
	if !p.decision.Effects.Has(phase.DeletePod) || p.seen.pod == nil {
		return outcome.Continue()
	}
	saved, err := r.Sessions.AskToSave(p.podUID)
	if saved == sessions.SavePending {
		return outcome.Wait(saveRecheck, "", "")
	}
	if saved == sessions.SaveFailed && !errors.Is(err, sessions.ErrNotConnected) {
		ctrl.LoggerFrom(ctx).Info("The world was not saved before its pod is deleted", "reason", err.Error())
	}
	if err := children.Delete(ctx, r.Client, p.seen.pod); err != nil {
		return outcome.Retry(err)
	}
	return outcome.Continue()
}

// accept goes on only while there is a pod to make: a Pending Server whose
// group and Network stand, and whose name nobody holds.
func (r *Reconciler) accept(_ context.Context, p *pass) outcome.Outcome {
	switch {
	case p.server.DeletionTimestamp != nil:
		return outcome.Block("", "")
	case p.seen.group == nil:
		return outcome.Block(v1alpha1.ReasonGroupNotFound, fmt.Sprintf("ServerGroup %s is gone", p.server.Spec.GroupRef.Name))
	case p.seen.network == nil:
		return outcome.Block(v1alpha1.ReasonNetworkNotFound, fmt.Sprintf(
			"no accepted Network %s in namespace %s", p.server.Spec.NetworkRef.Name, p.server.Namespace))
	case p.seen.twin != "":
		return outcome.Wait(refusedRecheck, v1alpha1.ReasonDuplicateOrdinal, fmt.Sprintf(
			"Server %s carries ordinal %d too, and one world serves one server; delete the one you do not want",
			p.seen.twin, *p.server.Spec.Ordinal))
	}
	return outcome.Continue()
}

func (r *Reconciler) createPod(ctx context.Context, p *pass) outcome.Outcome {
	if p.decision.Next != v1alpha1.ServerPending {
		return outcome.Continue()
	}
	switch p.seen.podState {
	case phase.PodNameTerminating, phase.PodNameTaken:
		return outcome.Wait(heldNameRecheck, nameReason(p.seen.podState), nameHeld(p.seen))
	case phase.PodNotMade:
		return r.postPod(ctx, p)
	case phase.PodWorldHeld:
		// The claim has come free since it was looked at.
		return outcome.Wait(preparedRecheck, "", "")
	case phase.PodUnseen, phase.PodWaiting, phase.PodRunning, phase.PodReady, phase.PodFinished, phase.PodGameExited,
		phase.PodOutOfMemory, phase.PodPrepareFailed, phase.PodEvicted, phase.PodTerminating, phase.PodAbsent:
	}
	return outcome.Continue()
}

// heldNameRecheck is how often a held name is looked at: its holder may be a
// pod that no cache of ours shows.
const heldNameRecheck = 5 * time.Second

func (r *Reconciler) postPod(ctx context.Context, p *pass) outcome.Outcome {
	if err := r.alignHash(ctx, p); err != nil {
		return outcome.Retry(err)
	}
	pod, err := podspec.BuildServerPod(p.seen.inputs, r.runtime(p))
	if err != nil {
		return outcome.Block(v1alpha1.ReasonPodRefused, err.Error())
	}
	verdict, err := children.Create(ctx, r.Client, r.Live, pod)
	if err != nil {
		return refused(err)
	}
	if verdict == children.NotOurs {
		p.seen.holder, p.seen.podState = pod, heldBy(pod)
		return outcome.Wait(heldNameRecheck, nameReason(p.seen.podState), nameHeld(p.seen))
	}
	p.podName, p.podUID = pod.Name, pod.UID
	return outcome.Continue()
}

// refused tells a write that somebody must allow from one that may be repeated.
func refused(err error) outcome.Outcome {
	switch reason := refusal.Of(err); reason {
	case "":
		return outcome.Retry(err)
	case v1alpha1.ReasonNamespaceNotPrepared:
		return outcome.Wait(preparedRecheck, reason, err.Error())
	default:
		return outcome.Wait(refusedRecheck, reason, err.Error())
	}
}

func nameReason(state phase.Pod) string {
	if state == phase.PodNameTerminating {
		return v1alpha1.ReasonPodNameTerminating
	}
	return v1alpha1.ReasonPodNameConflict
}

func nameHeld(seen observation) string {
	holder := seen.holder
	if seen.podState != phase.PodNameTerminating {
		return fmt.Sprintf("pod %s exists and does not belong to this Server; delete it, or wait until it is gone", holder.Name)
	}
	return fmt.Sprintf("pod %s is still terminating on node %q. If that node is really gone: "+
		"kubectl delete pod %s -n %s --force --grace-period=0. On a node that merely cannot be reached its game may "+
		"still be running and holding the volume", holder.Name, holder.Spec.NodeName, holder.Name, holder.Namespace)
}

// alignHash keeps the Server's podHash that of the spec its pod is made from,
// also when the group was edited between the two. A pod that the cache does not
// show yet was made from the spec before, and keeps its hash.
func (r *Reconciler) alignHash(ctx context.Context, p *pass) error {
	if p.server.Spec.PodHash == p.seen.podHash {
		return nil
	}
	if there, err := r.readPod(ctx, r.Live, p.server); err != nil || there != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.server.UID},
		"spec":     map[string]any{"podHash": p.seen.podHash, "groupGeneration": p.seen.group.Generation},
	})
	if err != nil {
		return fmt.Errorf("render podHash: %w", err)
	}
	target := p.server.DeepCopy()
	if err := r.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), fieldOwner); err != nil {
		return fmt.Errorf("write podHash: %w", err)
	}
	p.server.Spec, p.server.ResourceVersion = target.Spec, target.ResourceVersion
	return nil
}

// runtime is what the pod needs beside the owner's choices.
func (r *Reconciler) runtime(p *pass) podspec.Runtime {
	return podspec.Runtime{Server: p.server, OperatorImage: r.Image, StopToken: r.HookValue()}
}
