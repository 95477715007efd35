// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"strings"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

const (
	// enoughLogins of ten minutes say where players come from. Of fewer, a person
	// in the cluster's own network may be most.
	enoughLogins = 20
	// counted begins every message that logins say, not the way they take.
	counted = "most logins that were counted came from addresses "
)

// reportAddresses says whether servers see the players' addresses: by the logins
// of the last ten minutes, and before there are enough by the way they take.
func reportAddresses(set *conditions.Set, group *v1alpha1.ProxyGroup, seen observation) {
	logins, hidden := originsOf(seen)
	switch {
	case logins >= enoughLogins && 2*hidden > logins:
		set.True(v1alpha1.ConditionClientAddressHidden, v1alpha1.ReasonClusterAddresses,
			counted+"of the cluster in place of the players', which bans and rates by address hold for: "+unhide(group))
	case logins >= enoughLogins:
		set.False(v1alpha1.ConditionClientAddressHidden, v1alpha1.ReasonPlayerAddresses, counted+"outside of the cluster")
	case wasCounted(set, group):
		// A quiet night changes nothing.
		set.Keep(v1alpha1.ConditionClientAddressHidden)
	default:
		foretellAddresses(set, group)
	}
}

// originsOf sums up where the logins of all proxies came from: how many there
// were, and how many of them by addresses of the cluster.
func originsOf(seen observation) (int, int) {
	logins, hidden := 0, 0
	for _, pod := range seen.pods {
		if pod.said.Freshness == sessions.Fresh {
			origins := pod.said.Report.GetLoginOrigins()
			logins += int(origins.GetLogins())
			hidden += int(origins.GetFromCluster())
		}
	}
	return logins, hidden
}

// wasCounted is true when logins have had a say since the spec was edited.
func wasCounted(set *conditions.Set, group *v1alpha1.ProxyGroup) bool {
	before, found := set.Previous(v1alpha1.ConditionClientAddressHidden)
	return found && before.ObservedGeneration == group.Generation && strings.HasPrefix(before.Message, counted)
}

// unhide names the setting to change.
func unhide(group *v1alpha1.ProxyGroup) string {
	const tell = "have it speak the PROXY protocol, and name its addresses in config.proxyProtocol.trustedCIDRs"
	expose := group.Spec.Expose
	switch {
	case len(group.Spec.Config.ProxyProtocol.TrustedCIDRs) > 0:
		return "the load balancers that config.proxyProtocol trusts name them, so what is in front of those hides the players"
	case expose.Type == v1alpha1.ExposeNodePort && expose.NodePort.ExternalTrafficPolicy == v1alpha1.TrafficCluster:
		return "set expose.nodePort.externalTrafficPolicy to Local"
	case expose.Type == v1alpha1.ExposeLoadBalancer && expose.LoadBalancer.ExternalTrafficPolicy == v1alpha1.TrafficCluster:
		return "set expose.loadBalancer.externalTrafficPolicy to Local"
	case expose.Type == v1alpha1.ExposeLoadBalancer:
		return "the load balancer passes players on by itself; " + tell
	case expose.Type == v1alpha1.ExposeClusterIP:
		return "what leads players to the Service passes them on by itself; " + tell
	}
	return "something in the cluster passes players on by itself; " + tell
}

// foretellAddresses says whether players keep their addresses on the way through
// the Service, by how that is made. On a way that the owner provides nobody knows.
func foretellAddresses(set *conditions.Set, group *v1alpha1.ProxyGroup) {
	if len(group.Spec.Config.ProxyProtocol.TrustedCIDRs) > 0 {
		set.False(v1alpha1.ConditionClientAddressHidden, v1alpha1.ReasonPlayerAddresses, "config.proxyProtocol has load balancers tell the players' addresses")
		return
	}
	expose := group.Spec.Expose
	policy := expose.NodePort.ExternalTrafficPolicy
	switch expose.Type {
	case v1alpha1.ExposeHostPort:
		set.False(v1alpha1.ConditionClientAddressHidden, v1alpha1.ReasonPlayerAddresses, "a port of the node keeps the players' addresses")
	case v1alpha1.ExposeLoadBalancer, v1alpha1.ExposeNodePort:
		if expose.Type == v1alpha1.ExposeLoadBalancer {
			policy = expose.LoadBalancer.ExternalTrafficPolicy
		}
		if policy == v1alpha1.TrafficCluster {
			set.True(v1alpha1.ConditionClientAddressHidden, v1alpha1.ReasonClusterAddresses,
				"externalTrafficPolicy Cluster puts a node's address in place of the player's: a ban by address hits everybody; use Local")
			return
		}
		set.False(v1alpha1.ConditionClientAddressHidden, v1alpha1.ReasonPlayerAddresses, "externalTrafficPolicy Local keeps the players' addresses")
	case v1alpha1.ExposeClusterIP:
	}
}
