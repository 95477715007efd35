// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/ssa"
)

// namedRoutes is how many groups that do not exist a message names.
const namedRoutes = 5

// report writes the group's status whole, and returns when a count that was
// held back is due.
func (r *Reconciler) report(
	ctx context.Context, group *v1alpha1.ProxyGroup, seen observation, decided plan, ended outcome.Outcome,
) (time.Duration, error) {
	was := group.Status
	set := conditions.From(was.Conditions, group.Generation, seen.now)
	ready := readyPods(seen)
	reportAccepted(set, group, seen, ended)
	reportProgress(set, group, seen.service, len(ready), decided)
	reportNodes(set, seen)
	reportAddresses(set, group, seen)
	reportConfig(set, group, seen)
	address, err := r.address(ctx, group, seen.service, ready)
	status := v1alpha1.ProxyGroupStatus{
		Conditions:       set.List(),
		Phase:            v1alpha1.GroupPending,
		ReadyReplicas:    new(int32(len(ready))),
		Address:          address,
		ConnectedPlayers: new(connected(seen, ptr.Deref(was.ConnectedPlayers, 0))),
	}
	if len(ready) >= int(group.Spec.Replicas) {
		status.Phase = v1alpha1.GroupReady
	}
	failed := errors.Join(ended.Err, err)
	changed := !equality.Semantic.DeepEqual(was, status)
	if wait := r.pacer.Wait(group.UID, seen.now); wait > 0 && changed && onlyPlayersChanged(was, status) {
		return wait, failed
	}
	err = ssa.Status(ctx, r.Client, fieldOwner, group, &was, &status)
	switch {
	case apierrors.IsConflict(err):
		return outcome.Stale, failed
	case err != nil:
		return 0, errors.Join(failed, err)
	}
	if changed {
		r.pacer.Written(group.UID, seen.now)
	}
	set.Tell(r.Events, group)
	return 0, failed
}

func onlyPlayersChanged(was, now v1alpha1.ProxyGroupStatus) bool {
	was.ConnectedPlayers = now.ConnectedPlayers
	return equality.Semantic.DeepEqual(was, now)
}

func reportAccepted(set *conditions.Set, group *v1alpha1.ProxyGroup, seen observation, ended outcome.Outcome) {
	name := group.Spec.NetworkRef.Name
	switch {
	case !seen.found:
		set.False(v1alpha1.ConditionAccepted, v1alpha1.ReasonNetworkNotFound,
			fmt.Sprintf("no Network %s in namespace %s; create it", name, group.Namespace))
	case seen.network == nil:
		set.False(v1alpha1.ConditionAccepted, v1alpha1.ReasonNetworkNotAccepted,
			fmt.Sprintf("Network %s is not accepted; its own condition Accepted says why", name))
	case ended.Explained():
		set.False(v1alpha1.ConditionAccepted, ended.Reason, ended.Message)
	case ended.Err == nil:
		set.True(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "its Network stands"+strayRoutes(&group.Spec.Routing, seen.groups))
	default:
		set.Keep(v1alpha1.ConditionAccepted)
	}
}

// strayRoutes names what routing leads to and does not exist, and who names it.
// Players are sent past it, so it is no reason to refuse the group.
func strayRoutes(routing *v1alpha1.Routing, groups map[string]bool) string {
	var stray []string
	note := func(names []string, where string) {
		for _, name := range names {
			if !groups[name] {
				stray = append(stray, fmt.Sprintf("%s (%s)", name, where))
			}
		}
	}
	note(routing.FallbackGroups, "fallbackGroups")
	for _, forced := range routing.ForcedHosts {
		note(forced.Groups, "forcedHosts "+forced.Host)
	}
	if len(stray) == 0 {
		return ""
	}
	named := strings.Join(stray[:min(len(stray), namedRoutes)], ", ")
	if more := len(stray) - namedRoutes; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return "; routing names ServerGroups that it does not have, and players are sent past them: " + named +
		". Create them, or correct the names"
}

func reportProgress(set *conditions.Set, group *v1alpha1.ProxyGroup, service *corev1.Service, ready int, decided plan) {
	wanted := int(group.Spec.Replicas)
	message := fmt.Sprintf("%d of %d proxies are ready", ready, wanted)
	if service != nil && service.Spec.Type == corev1.ServiceTypeLoadBalancer && balancedAddress(service) == "" {
		message += ", and the load balancer has no address yet: look at the events of Service " + service.Name
	}
	if ready >= wanted {
		set.True(v1alpha1.ConditionAvailable, v1alpha1.ReasonMinimumReplicasReady, message)
	} else {
		set.False(v1alpha1.ConditionAvailable, v1alpha1.ReasonMinimumReplicasUnready, message)
	}
	exchange := fmt.Sprintf("%s, %d of them to be replaced: %s", message, decided.exchange.old, decided.exchange.note)
	switch state := decided.exchange.state; {
	case state == cramped:
		set.False(v1alpha1.ConditionProgressing, v1alpha1.ReasonNoNodeToSurge, exchange)
	case state != settled:
		set.True(v1alpha1.ConditionProgressing, v1alpha1.ReasonRollingOut, exchange)
	case ready < wanted || decided.create > 0:
		set.True(v1alpha1.ConditionProgressing, v1alpha1.ReasonScalingUp, message)
	default:
		set.False(v1alpha1.ConditionProgressing, v1alpha1.ReasonSettled, message)
	}
}

// reportNodes names the proxies on nodes that leave.
func reportNodes(set *conditions.Set, seen observation) {
	var said []string
	if moving := seen.standingOn(nodeLeaves); moving != "" {
		said = append(said, moving+" (a node that is about to leave): replaced one at a time, as Progressing tells")
	}
	if stuck := seen.standingOn(nodeHolds); stuck != "" {
		said = append(said, stuck+" (a node that is about to leave): there is nowhere else to go, so it serves on; add or uncordon a node that can take it")
	}
	if len(said) == 0 {
		set.False(v1alpha1.ConditionNodeDraining, v1alpha1.ReasonNoNodesDraining, "no proxy is on a node that is about to leave")
		return
	}
	set.True(v1alpha1.ConditionNodeDraining, v1alpha1.ReasonNodeDraining, strings.Join(said, ". "))
}

// standingOn lists the proxies on nodes of one kind, each with its node.
func (o observation) standingOn(kind node) string {
	var there []string
	for _, pod := range o.pods {
		if pod.node == kind && pod.DeletionTimestamp == nil {
			there = append(there, pod.Name+" on "+pod.Spec.NodeName)
		}
	}
	return strings.Join(there, ", ")
}

// readyPods are the proxies that take new players.
func readyPods(seen observation) []*corev1.Pod {
	var ready []*corev1.Pod
	for _, pod := range seen.pods {
		if isReady(pod.Pod) {
			ready = append(ready, pod.Pod)
		}
	}
	return ready
}

// connected sums what the proxies said last. Until a new manager has heard all
// of them, the number of the one before stands when it is higher.
func connected(seen observation, before int32) int32 {
	var players int32
	unheardOf := false
	for _, pod := range seen.pods {
		players += int32(pod.said.Players)
		unheardOf = unheardOf || (isReady(pod.Pod) && pod.said.Freshness == sessions.Unknown)
	}
	if unheardOf {
		return max(players, before)
	}
	return players
}

// address is what players type, empty while nothing answers there. With type
// NodePort and HostPort it names the first node that runs a ready proxy.
func (r *Reconciler) address(
	ctx context.Context, group *v1alpha1.ProxyGroup, service *corev1.Service, ready []*corev1.Pod,
) (string, error) {
	if len(ready) == 0 || service == nil {
		return "", nil
	}
	switch expose := group.Spec.Expose; expose.Type {
	case v1alpha1.ExposeClusterIP:
		return expose.ClusterIP.Address, nil
	case v1alpha1.ExposeLoadBalancer:
		return balancedAddress(service), nil
	case v1alpha1.ExposeNodePort:
		return r.onNode(ctx, ready[0].Spec.NodeName, expose.NodePort.Port)
	case v1alpha1.ExposeHostPort:
		// Until all are replaced, some have another port, or none.
		for _, pod := range ready {
			if port := podspec.HostPortOf(pod); port != 0 {
				return r.onNode(ctx, pod.Spec.NodeName, port)
			}
		}
	}
	return "", nil
}

// balancedAddress is the first that the load balancer's maker has written, empty
// while there is none. Its port is the one that players need not type.
func balancedAddress(service *corev1.Service) string {
	for _, way := range service.Status.LoadBalancer.Ingress {
		if address := cmp.Or(way.Hostname, way.IP); address != "" {
			return address
		}
	}
	return ""
}

// onNode is a port of a node, empty when nobody knows the node.
func (r *Reconciler) onNode(ctx context.Context, name string, port int32) (string, error) {
	var node corev1.Node
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("read node %s: %w", name, err)
	}
	return net.JoinHostPort(nodeAddress(&node), strconv.Itoa(int(port))), nil
}

// nodeAddress prefers what is reached from outside.
func nodeAddress(node *corev1.Node) string {
	for _, kind := range []corev1.NodeAddressType{corev1.NodeExternalIP, corev1.NodeInternalIP, corev1.NodeHostName} {
		for _, address := range node.Status.Addresses {
			if address.Type == kind {
				return address.Address
			}
		}
	}
	return node.Name
}
