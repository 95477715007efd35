// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

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
			reportAddresses(set, group, observation{})
			if got := set.List()[0]; got.Type != v1alpha1.ConditionClientAddressHidden || got.Status != row.want {
				t.Errorf("got %+v, want %s", got, row.want)
			}
		})
	}
}

// loggedIn is what proxies say of so many logins, of which some hide players.
func loggedIn(freshness sessions.Freshness, logins ...[2]int32) observation {
	var seen observation
	for _, one := range logins {
		report := &agentv1alpha1.ProxyReport{LoginOrigins: &agentv1alpha1.LoginOrigins{Logins: one[0], FromCluster: one[1]}}
		seen.pods = append(seen.pods, seenPod{Pod: &corev1.Pod{}, said: sessions.ProxyState{Freshness: freshness, Report: report}})
	}
	return seen
}

func TestLoginsSayWhetherPlayersAddressesAreHidden(t *testing.T) {
	byNodePort := func(policy v1alpha1.TrafficPolicy) v1alpha1.ProxyGroupSpec {
		return v1alpha1.ProxyGroupSpec{Expose: v1alpha1.Expose{
			Type: v1alpha1.ExposeNodePort, NodePort: v1alpha1.ExposeByNodePort{ExternalTrafficPolicy: policy},
		}}
	}
	byBalancer := func(policy v1alpha1.TrafficPolicy) v1alpha1.ProxyGroupSpec {
		return v1alpha1.ProxyGroupSpec{Expose: v1alpha1.Expose{
			Type: v1alpha1.ExposeLoadBalancer, LoadBalancer: v1alpha1.ExposeByLoadBalancer{ExternalTrafficPolicy: policy},
		}}
	}
	told := byBalancer(v1alpha1.TrafficLocal)
	told.Config.ProxyProtocol.TrustedCIDRs = []string{"192.0.2.0/28"}
	const hidden = "most logins that were counted came from addresses of the cluster in place of the players', which bans and rates by address hold for: "
	const seenAll = "most logins that were counted came from addresses outside of the cluster"
	const byPolicy = "externalTrafficPolicy Local keeps the players' addresses"
	const proxied = "; have it speak the PROXY protocol, and name its addresses in config.proxyProtocol.trustedCIDRs"
	for name, row := range map[string]struct {
		spec v1alpha1.ProxyGroupSpec
		seen observation
		want string // a status and its message
	}{
		"most of enough, over all proxies": {
			byNodePort(v1alpha1.TrafficCluster), loggedIn(sessions.Fresh, [2]int32{10, 0}, [2]int32{10, 10}, [2]int32{1, 1}),
			"True " + hidden + "set expose.nodePort.externalTrafficPolicy to Local",
		},
		"half of enough":             {byNodePort(v1alpha1.TrafficCluster), loggedIn(sessions.Fresh, [2]int32{20, 10}), "False " + seenAll},
		"all of too few":             {byNodePort(v1alpha1.TrafficLocal), loggedIn(sessions.Fresh, [2]int32{19, 19}), "False " + byPolicy},
		"what a proxy said long ago": {byNodePort(v1alpha1.TrafficLocal), loggedIn(sessions.Stale, [2]int32{90, 90}), "False " + byPolicy},
		"a load balancer that hides them by its policy": {
			byBalancer(v1alpha1.TrafficCluster), loggedIn(sessions.Fresh, [2]int32{20, 20}),
			"True " + hidden + "set expose.loadBalancer.externalTrafficPolicy to Local",
		},
		"a load balancer of pods": {
			byBalancer(v1alpha1.TrafficLocal), loggedIn(sessions.Fresh, [2]int32{20, 20}),
			"True " + hidden + "the load balancer passes players on by itself" + proxied,
		},
		"a load balancer that tells of another one": {
			told, loggedIn(sessions.Fresh, [2]int32{20, 20}),
			"True " + hidden + "the load balancers that config.proxyProtocol trusts name them, so what is in front of those hides the players",
		},
		"a way in of the owner's": {
			v1alpha1.ProxyGroupSpec{Expose: v1alpha1.Expose{Type: v1alpha1.ExposeClusterIP}},
			loggedIn(sessions.Fresh, [2]int32{20, 20}),
			"True " + hidden + "what leads players to the Service passes them on by itself" + proxied,
		},
		"a port of the node": {
			v1alpha1.ProxyGroupSpec{Expose: v1alpha1.Expose{Type: v1alpha1.ExposeHostPort}},
			loggedIn(sessions.Fresh, [2]int32{20, 20}),
			"True " + hidden + "something in the cluster passes players on by itself" + proxied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := conditions.From(nil, 1, time.Unix(0, 0))
			reportAddresses(set, &v1alpha1.ProxyGroup{Spec: row.spec}, row.seen)
			if got := set.List()[0]; string(got.Status)+" "+got.Message != row.want {
				t.Errorf("got  %s %s\nwant %s", got.Status, got.Message, row.want)
			}
		})
	}
}

func TestAQuietNightLeavesWhatLoginsHaveSaid(t *testing.T) {
	group := &v1alpha1.ProxyGroup{}
	group.Generation = 1
	group.Spec.Expose = v1alpha1.Expose{Type: v1alpha1.ExposeNodePort, NodePort: v1alpha1.ExposeByNodePort{ExternalTrafficPolicy: v1alpha1.TrafficLocal}}
	day := conditions.From(nil, 1, time.Unix(0, 0))
	reportAddresses(day, group, loggedIn(sessions.Fresh, [2]int32{20, 20}))
	night := conditions.From(day.List(), 1, time.Unix(600, 0))
	reportAddresses(night, group, loggedIn(sessions.Fresh, [2]int32{1, 0}))
	if got := night.List()[0]; got.Status != metav1.ConditionTrue {
		t.Errorf("at night: %s, %s", got.Status, got.Message)
	}
	group.Generation = 2
	edited := conditions.From(night.List(), 2, time.Unix(700, 0))
	reportAddresses(edited, group, loggedIn(sessions.Fresh, [2]int32{1, 0}))
	if got := edited.List()[0]; got.Status != metav1.ConditionFalse {
		t.Errorf("after an edit: %s, %s", got.Status, got.Message)
	}
}
