// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
)

func TestAGroupThatDoesNotExistIsNamedWithItsPlace(t *testing.T) {
	groups := map[string]bool{"hub": true, "duels": true}
	for name, row := range map[string]struct {
		routing v1alpha1.Routing
		want    string
	}{
		"all exist": {
			v1alpha1.Routing{FallbackGroups: []string{"hub"}, ForcedHosts: []v1alpha1.ForcedHost{{Host: "a.example", Groups: []string{"duels"}}}}, "",
		},
		"some do not": {
			v1alpha1.Routing{FallbackGroups: []string{"hub", "limbo"}, ForcedHosts: []v1alpha1.ForcedHost{{Host: "a.example", Groups: []string{"duel"}}}},
			"; routing names ServerGroups that it does not have, and players are sent past them: limbo (fallbackGroups), " +
				"duel (forcedHosts a.example). Create them, or correct the names",
		},
		"many do not": {
			v1alpha1.Routing{FallbackGroups: []string{"a", "b", "c", "d", "e", "f", "g"}},
			"; routing names ServerGroups that it does not have, and players are sent past them: a (fallbackGroups), b (fallbackGroups), " +
				"c (fallbackGroups), d (fallbackGroups), e (fallbackGroups) and 2 more. Create them, or correct the names",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strayRoutes(&row.routing, groups); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestAddressesAreNotHiddenWhereABalancerTellsThem(t *testing.T) {
	for name, row := range map[string]struct {
		trusted []string
		want    metav1.ConditionStatus
	}{"nobody tells": {nil, metav1.ConditionTrue}, "a balancer tells": {[]string{"10.0.0.0/8"}, metav1.ConditionFalse}} {
		t.Run(name, func(t *testing.T) {
			group := &v1alpha1.ProxyGroup{}
			group.Spec.Expose = v1alpha1.Expose{Type: v1alpha1.ExposeNodePort, NodePort: v1alpha1.ExposeByNodePort{ExternalTrafficPolicy: v1alpha1.TrafficCluster}}
			group.Spec.Config.ProxyProtocol.TrustedCIDRs = row.trusted
			set := conditions.From(nil, 1, time.Unix(0, 0))
			reportAddresses(set, group)
			if got := set.List()[0]; got.Type != v1alpha1.ConditionClientAddressHidden || got.Status != row.want {
				t.Errorf("got %+v, want %s", got, row.want)
			}
		})
	}
}
