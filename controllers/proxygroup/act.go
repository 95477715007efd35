// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/refusal"
	"github.com/spawnery/spawnery-operator/internal/ssa"
)

const (
	// refusedRecheck is when a refused write is tried again.
	refusedRecheck = 30 * time.Second
	// preparedRecheck is when a namespace that is being prepared is looked at.
	preparedRecheck = time.Second
	// nameDraws is how often a taken name is drawn again before it is an error.
	nameDraws = 5
)

// act carries the plan out. What is refused stops the creates, never the
// withdrawals, removals and settings.
func (r *Reconciler) act(ctx context.Context, group *v1alpha1.ProxyGroup, seen observation, decided plan) outcome.Outcome {
	for _, uid := range seen.gone {
		r.Sessions.Forget(uid)
	}
	if seen.network == nil {
		return outcome.Block("", "")
	}
	r.tell(group, seen, decided)
	errs := []error{
		r.mark(ctx, group, seen, decided.withdraw, withdrawal, new(seen.now.UTC().Format(time.RFC3339))),
		r.mark(ctx, group, seen, decided.reinstate, takenBack, nil),
		r.remove(ctx, group, seen, decided.remove),
	}
	if decided.exchange.state != settled && decided.create+len(decided.withdraw) > 0 {
		r.turns.take(client.ObjectKeyFromObject(seen.network), group.Name, seen.now)
	}
	return outcome.Join(
		outcome.Of(errors.Join(errs...)),
		refusedPod(r.createAll(ctx, group, seen, decided)),
		children.Ended(r.ensureService(ctx, group, seen), v1alpha1.ReasonServiceRefused, refusedRecheck),
	)
}

// refusedPod tells a pod that somebody must allow from one that may be tried
// again.
func refusedPod(err error) outcome.Outcome {
	switch reason := refusal.Of(err); reason {
	case "":
		return outcome.Of(err)
	case v1alpha1.ReasonNamespaceNotPrepared:
		return outcome.Wait(preparedRecheck, reason, err.Error())
	default:
		return outcome.Wait(refusedRecheck, reason, err.Error())
	}
}

// tell states every proxy's configuration, also that it is withdrawn.
func (r *Reconciler) tell(group *v1alpha1.ProxyGroup, seen observation, decided plan) {
	leaving := map[string]bool{}
	for _, pod := range seen.pods {
		leaving[pod.Name] = pod.Annotations[podspec.AnnotationWithdrawnAt] != ""
	}
	for _, one := range decided.withdraw {
		leaving[one.name] = true
	}
	for _, one := range decided.reinstate {
		leaving[one.name] = false
	}
	takers := seen.takers(leaving)
	for _, pod := range seen.pods {
		settings := settingsOf(group, seen.network)
		settings.Withdrawn = leaving[pod.Name]
		settings.ClusterCidrs = seen.cluster
		if podspec.ProxyTransfer(group) == v1alpha1.TransferEnabled {
			settings.Transfer.Takers = others(takers, pod.Name)
		}
		settings.RefuseWhileWithdrawn = podspec.HostPortOf(pod.Pod) != 0
		r.Sessions.SetProxySettings(pod.UID, settings)
	}
}

// takers are the proxies that players of others can be sent to: a load balancer
// leads to each of them, and each knows the servers.
func (o observation) takers(leaving map[string]bool) []string {
	var names []string
	for _, pod := range o.pods {
		if one := o.proxyOf(pod); one.able && !leaving[one.name] && one.standing != going && one.standing != ended {
			names = append(names, one.name)
		}
	}
	return names
}

// others counts the takers but for the proxy itself.
func others(takers []string, name string) int32 {
	count := len(takers)
	if slices.Contains(takers, name) {
		count--
	}
	return int32(count)
}

func (r *Reconciler) ensureService(ctx context.Context, group *v1alpha1.ProxyGroup, seen observation) error {
	wanted := podspec.BuildService(group)
	if seen.service != nil {
		return r.changeService(ctx, seen.service, wanted)
	}
	verdict, err := children.Create(ctx, r.Client, r.Live, wanted)
	if err == nil && verdict == children.NotOurs {
		return fmt.Errorf("service %s exists and does not belong to this group; delete it: %w", wanted.Name, children.ErrTaken)
	}
	return err
}

// changeService brings the Service that exists to what is wanted. Annotations of
// others stay.
func (r *Reconciler) changeService(ctx context.Context, service, wanted *corev1.Service) error {
	if dropped := podspec.Unchosen(service, wanted); len(dropped) > 0 {
		gone := map[string]*string{}
		for _, key := range dropped {
			gone[key] = nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": service.UID, "annotations": gone}})
		if err != nil {
			return fmt.Errorf("render the annotations of service %s: %w", service.Name, err)
		}
		if err := r.Client.Patch(ctx, service.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner); err != nil {
			return fmt.Errorf("take annotations off service %s: %w", service.Name, err)
		}
	}
	if equality.Semantic.DeepDerivative(wanted.Spec, service.Spec) && equality.Semantic.DeepDerivative(wanted.Annotations, service.Annotations) {
		return nil
	}
	return ssa.Child(ctx, r.Client, fieldOwner, service, wanted)
}

func (r *Reconciler) createAll(ctx context.Context, group *v1alpha1.ProxyGroup, seen observation, decided plan) error {
	for range decided.create {
		if err := r.create(ctx, group, seen, decided.because); err != nil {
			return err
		}
	}
	return nil
}

// create makes one proxy under a name that nobody has.
func (r *Reconciler) create(ctx context.Context, group *v1alpha1.ProxyGroup, seen observation, because string) error {
	inputs := podspec.ResolveProxy(seen.network, group)
	for range nameDraws {
		pod := podspec.BuildProxyPod(inputs, podspec.ProxyRuntime{
			Group:         group,
			Name:          podspec.ProxyPodName(group.Name, r.Random),
			OperatorImage: r.Image,
			SessionServer: r.SessionServer,
		})
		r.writes.Created(group.UID, pod.Name, seen.now)
		err := r.Client.Create(ctx, pod, fieldOwner)
		if err == nil {
			created.Tell(ctx, r.Events, group, pod, because)
			return nil
		}
		if refusal.Certain(err) {
			r.writes.Refused(group.UID, pod.Name)
		}
		if refusal.Of(err) == v1alpha1.ReasonPodRefused && group.Spec.Expose.Type == v1alpha1.ExposeHostPort {
			err = fmt.Errorf("%w; a port of a node needs a namespace that allows it: label namespace %s with "+
				"pod-security.kubernetes.io/enforce=privileged, or choose another expose.type", err, group.Namespace)
		}
		if !apierrors.IsAlreadyExists(err) {
			return children.Drawn(fmt.Errorf("create pod %s: %w", pod.Name, err), pod.Name, podspec.ProxyPodPattern(group.Name))
		}
	}
	return fmt.Errorf("no free name for a proxy after %d draws", nameDraws)
}

// mark notes on pods since when they are withdrawn; nil takes it back.
func (r *Reconciler) mark(
	ctx context.Context, group *v1alpha1.ProxyGroup, seen observation, intents []intent, done conditions.Deed, at *string,
) error {
	var errs []error
	for _, one := range intents {
		pod := seen.pod(one.name)
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": pod.UID, "annotations": map[string]*string{podspec.AnnotationWithdrawnAt: at},
		}})
		if err != nil {
			return fmt.Errorf("render the annotation of pod %s: %w", one.name, err)
		}
		err = r.Client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("annotate pod %s: %w", one.name, err))
			continue
		}
		done.Tell(ctx, r.Events, group, pod, one.note)
	}
	return errors.Join(errs...)
}

// remove deletes proxies. The grace period lets a proxy that still has players
// drain by itself.
func (r *Reconciler) remove(ctx context.Context, group *v1alpha1.ProxyGroup, seen observation, intents []intent) error {
	var errs []error
	for _, one := range intents {
		pod := seen.pod(one.name)
		r.writes.Deleted(group.UID, pod.UID, seen.now)
		err := children.Delete(ctx, r.Client, pod, client.GracePeriodSeconds(podspec.ProxyGraceSeconds(group)))
		if err != nil && refusal.Certain(err) {
			r.writes.Spared(group.UID, pod.UID)
		}
		if err == nil {
			deleted.Tell(ctx, r.Events, group, pod, one.note)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pod returns the proxy pod of a name that a plan took from this observation.
func (o observation) pod(name string) *corev1.Pod {
	for _, pod := range o.pods {
		if pod.Name == name {
			return pod.Pod
		}
	}
	return &corev1.Pod{}
}
