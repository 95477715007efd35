// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

func TestAProxyIsToldWhatItsOwnerChose(t *testing.T) {
	network := &v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "production"}}
	for name, row := range map[string]struct {
		spec v1alpha1.ProxyGroupSpec
		want *agentv1alpha1.ProxySettings
	}{
		"nothing": {
			v1alpha1.ProxyGroupSpec{},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "production", DrainSeconds: v1alpha1.DefaultProxyDrainSeconds,
				Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD,
			},
		},
		"bounds": {
			v1alpha1.ProxyGroupSpec{Config: v1alpha1.ProxyConfig{
				MOTD: "<gold>Hello", PlayerLimit: 70, EnforcePlayerLimit: new(true), MaxHeld: 9,
				ProxyProtocol: v1alpha1.ProxyProtocol{TrustedCIDRs: []string{"10.0.0.0/8"}},
				RateLimits: v1alpha1.RateLimits{
					LoginsPerSecond: 2, LoginBurst: 3, StatusPerSecond: 4, StatusBurst: 5, ExemptCIDRs: []string{"192.0.2.0/24"},
				},
			}},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "<gold>Hello", DrainSeconds: v1alpha1.DefaultProxyDrainSeconds,
				PlayerLimit: 70, EnforcePlayerLimit: true, MaxHeld: new(int32(9)),
				ProxyProtocol: &agentv1alpha1.ProxyProtocol{TrustedCidrs: []string{"10.0.0.0/8"}},
				RateLimits: &agentv1alpha1.RateLimits{
					LoginsPerSecond: 2, LoginBurst: 3, StatusPerSecond: 4, StatusBurst: 5, ExemptCidrs: []string{"192.0.2.0/24"},
				},
				Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD,
			},
		},
		"no commands": {
			v1alpha1.ProxyGroupSpec{Config: v1alpha1.ProxyConfig{Commands: []v1alpha1.ProxyCommand{}}},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "production", DrainSeconds: v1alpha1.DefaultProxyDrainSeconds,
				Commands: &agentv1alpha1.Commands{}, Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD,
			},
		},
		"two commands": {
			v1alpha1.ProxyGroupSpec{Config: v1alpha1.ProxyConfig{Commands: []v1alpha1.ProxyCommand{"hub", "server"}}},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "production", DrainSeconds: v1alpha1.DefaultProxyDrainSeconds,
				Commands: &agentv1alpha1.Commands{Names: []string{"hub", "server"}}, Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD,
			},
		},
		"what ConfigMaps hold": {
			v1alpha1.ProxyGroupSpec{Config: v1alpha1.ProxyConfig{
				Favicon:   v1alpha1.FaviconSource{Name: "pictures", Key: "icon.png"},
				Protocols: v1alpha1.LocalReference{Name: "rows"},
			}},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "production", DrainSeconds: v1alpha1.DefaultProxyDrainSeconds,
				FaviconKey: "icon.png", Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD,
			},
		},
		"routing": {
			v1alpha1.ProxyGroupSpec{Routing: v1alpha1.Routing{
				FallbackGroups: []string{"hub", "limbo"}, Strategy: v1alpha1.RoutingFill, HoldSeconds: new(int32(7)),
				ForcedHosts: []v1alpha1.ForcedHost{{Host: "*.example.org", Groups: []string{"duels", "hub"}}},
			}},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "production", DrainSeconds: v1alpha1.DefaultProxyDrainSeconds,
				FallbackGroups: []string{"hub", "limbo"}, HoldSeconds: 7,
				ForcedHosts: []*agentv1alpha1.ForcedHost{{Host: "*.example.org", Groups: []string{"duels", "hub"}}},
				Strategy:    agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_FILL,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := settingsOf(&v1alpha1.ProxyGroup{Spec: row.spec}, network)
			if diff := cmp.Diff(row.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
