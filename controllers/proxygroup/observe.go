// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// schedulerWords is how much of the scheduler's message is passed on.
const schedulerWords = 300

// unheard is the number of players on a proxy that says nothing: unknown.
const unheard = -1

// observation is everything a pass over one ProxyGroup looks at.
type observation struct {
	now time.Time
	// network is nil unless it exists and is accepted.
	network *v1alpha1.Network
	// found is true when a Network of the name exists.
	found bool
	pods  []seenPod
	// groups are the names of the Network's ServerGroups.
	groups map[string]bool
	// service is nil while there is none.
	service *corev1.Service
	pending expect.Pending
	// gone are pods of this group that there were in the last pass.
	gone []types.UID
	// cluster are the addresses of nodes and pods, as ranges.
	cluster []string
	// ahead is another group of the Network that exchanges a proxy.
	ahead string
}

// seenPod is one proxy pod, and what the proxy in it said last.
type seenPod struct {
	*corev1.Pod
	said   sessions.ProxyState
	making making
	// node says whether its node is about to leave.
	node node
}

// node says whether the node of a proxy is about to leave.
type node int

const (
	// nodeStays means nothing follows from it.
	nodeStays node = iota
	// nodeLeaves means that another one could take the proxy.
	nodeLeaves
	// nodeHolds means that none could.
	nodeHolds
)

func (r *Reconciler) observe(ctx context.Context, group *v1alpha1.ProxyGroup) (observation, error) {
	seen := observation{now: r.Clock.Now()}
	var network v1alpha1.Network
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: group.Spec.NetworkRef.Name}, &network)
	if client.IgnoreNotFound(err) != nil {
		return seen, fmt.Errorf("read network %s: %w", group.Spec.NetworkRef.Name, err)
	}
	seen.found = err == nil
	if seen.found && apimeta.IsStatusConditionTrue(network.Status.Conditions, v1alpha1.ConditionAccepted) {
		seen.network = &network
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(group.Namespace),
		client.MatchingLabels(podspec.GroupPods(podspec.RoleProxy, group.Name))); err != nil {
		return seen, fmt.Errorf("list the proxies: %w", err)
	}
	// A cache has no order by itself, and the address must not change by chance.
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	var shown []expect.Seen
	there := map[types.UID]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !children.OwnedBy(pod, group.UID) {
			continue
		}
		there[pod.UID] = true
		seen.pods = append(seen.pods, seenPod{Pod: pod, said: r.Sessions.Proxy(pod.UID), making: asWanted, node: nodeStays})
		shown = append(shown, expect.Seen{Name: pod.Name, UID: pod.UID, Deleting: pod.DeletionTimestamp != nil})
	}
	seen.gone = r.heard.replace(client.ObjectKeyFromObject(group), there)
	seen.pending = r.writes.Settle(group.UID, shown, seen.now)
	err = errors.Join(r.observeMaking(ctx, group, &seen), r.observeGroups(ctx, group, &seen), r.observeService(ctx, group, &seen))
	return seen, err
}

func (r *Reconciler) observeGroups(ctx context.Context, group *v1alpha1.ProxyGroup, seen *observation) error {
	groups, err := index.ServerGroupsIn(ctx, r.Client, group.Namespace, group.Spec.NetworkRef.Name)
	seen.groups = map[string]bool{}
	for i := range groups {
		seen.groups[groups[i].Name] = true
	}
	return err
}

// observeMaking says of every proxy whether it can stay, and whose turn it is
// when one cannot.
func (r *Reconciler) observeMaking(ctx context.Context, group *v1alpha1.ProxyGroup, seen *observation) error {
	if seen.network == nil || len(seen.pods) == 0 {
		return nil
	}
	view, err := sighting.Nodes(ctx, r.Client, r.DrainTaints)
	if err != nil {
		return err
	}
	seen.cluster = view.Addresses()
	wanted := podspec.ProxyDigest(podspec.ResolveProxy(seen.network, group))
	replaces := false
	for i := range seen.pods {
		pod := &seen.pods[i]
		if pod.Annotations[podspec.AnnotationPodHash] != wanted {
			pod.making = ofOldSpec
		}
		switch {
		case view.Outlook(pod.Pod) == fleet.NodeDeparting:
			pod.making, pod.node = onLeavingNode, nodeLeaves
		case view.Departing(pod.Spec.NodeName):
			pod.node = nodeHolds
		}
		replaces = replaces || pod.making != asWanted
	}
	if replaces {
		seen.ahead, err = r.ahead(ctx, group, seen.now)
	}
	return err
}

func (r *Reconciler) observeService(ctx context.Context, group *v1alpha1.ProxyGroup, seen *observation) error {
	var service corev1.Service
	key := client.ObjectKey{Namespace: group.Namespace, Name: podspec.ProxyServiceName(group.Name)}
	err := r.Client.Get(ctx, key, &service)
	switch {
	case err == nil && children.OwnedBy(&service, group.UID):
		seen.service = &service
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("read service %s: %w", key.Name, err)
	}
	return nil
}

// world is the observation in the words of decide.
func (o observation) world(group *v1alpha1.ProxyGroup) world {
	w := world{
		now:      o.now,
		replicas: int(group.Spec.Replicas),
		ordered:  len(o.pending.Creates),
		drain:    time.Duration(podspec.ProxyDrainSeconds(group)) * time.Second,
		ahead:    o.ahead,
		port:     portOfItsOwn,
	}
	if group.Spec.Expose.Type == v1alpha1.ExposeHostPort {
		w.port = portOfTheNode
	}
	for _, pod := range o.pods {
		w.proxies = append(w.proxies, o.proxyOf(pod))
	}
	return w
}

func (o observation) proxyOf(pod seenPod) proxy {
	one := proxy{
		name: pod.Name, making: pod.making, players: playersOn(pod), createdAt: pod.CreationTimestamp.Time,
		able: isReady(pod.Pod) && pod.said.Freshness == sessions.Fresh && pod.said.HoldsDirectory,
	}
	one.unplacedSince, one.unplacedWhy = unplaced(pod.Pod)
	_, deleted := o.pending.Deletes[pod.UID]
	since, err := time.Parse(time.RFC3339, pod.Annotations[podspec.AnnotationWithdrawnAt])
	switch {
	case deleted || pod.DeletionTimestamp != nil:
		one.standing = going
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		one.standing = ended
	case err == nil:
		one.standing, one.withdrawnAt = withdrawn, since
	}
	return one
}

// playersOn is how many players a proxy has. One that was never Ready and
// never connected has let nobody in.
func playersOn(pod seenPod) int {
	if pod.said.Freshness == sessions.Fresh {
		return pod.said.Players
	}
	if pod.said.Freshness == sessions.Unknown && !started(pod.Pod) {
		return 0
	}
	return unheard
}

// started is true once the kubelet has started the proxy in a pod.
func started(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running != nil || status.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return false
}

// unplaced is since when the scheduler finds no node for a pod, and its words.
func unplaced(pod *corev1.Pod) (time.Time, string) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
			return condition.LastTransitionTime.Time, strings.ToValidUTF8(condition.Message[:min(len(condition.Message), schedulerWords)], "")
		}
	}
	return time.Time{}, ""
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}
