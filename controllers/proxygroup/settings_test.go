// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/sessions"
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
				Messages:  v1alpha1.MessageSource{Name: "words", FallbackLocale: "de_de"},
			}},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "production", DrainSeconds: v1alpha1.DefaultProxyDrainSeconds,
				FaviconKey: "icon.png", FallbackLocale: "de_de", Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD,
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
		"transfers": {
			v1alpha1.ProxyGroupSpec{
				Expose: v1alpha1.Expose{Type: v1alpha1.ExposeLoadBalancer},
				Update: v1alpha1.ProxyUpdate{TransferAddress: "play.example.org:25570"},
			},
			&agentv1alpha1.ProxySettings{
				Network: "production", OnlineMode: true, Motd: "production", DrainSeconds: v1alpha1.DefaultTransferDrainSeconds,
				Transfer: &agentv1alpha1.Transfer{Address: "play.example.org:25570", WithdrawSeconds: v1alpha1.DefaultWithdrawSeconds},
				Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD,
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

// Whoever is sent on is sent to a proxy that takes them.
func TestATakerServesIsReadyAndKnowsTheServers(t *testing.T) {
	one := func(name string, change func(*seenPod)) seenPod {
		pod := seenPod{
			Pod: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
				Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			},
			said: sessions.ProxyState{Freshness: sessions.Fresh, HoldsDirectory: true},
		}
		change(&pod)
		return pod
	}
	seen := observation{pods: []seenPod{
		one("good", func(*seenPod) {}),
		one("another", func(*seenPod) {}),
		one("unready", func(p *seenPod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }),
		one("silent", func(p *seenPod) { p.said.Freshness = sessions.Stale }),
		one("lost", func(p *seenPod) { p.said.HoldsDirectory = false }),
		one("deleted", func(p *seenPod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }),
		one("withdrawn", func(*seenPod) {}),
	}}
	takers := seen.takers(map[string]bool{"withdrawn": true})
	if diff := cmp.Diff([]string{"good", "another"}, takers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]int32{"good": 1, "withdrawn": 2} {
		if got := others(takers, name); got != want {
			t.Errorf("%s has %d others, want %d", name, got, want)
		}
	}
}
