// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// manager is where the tests' servers reach it.
var manager = podspec.ManagerAddress{Namespace: "spawnery-system", Ports: []int32{9443}}

// peer is one end of a connection: a pod, or an address outside of the cluster.
type peer struct {
	pod       *corev1.Pod
	namespace string
	address   string
}

func stranger(namespace string) peer { return peer{pod: &corev1.Pod{}, namespace: namespace} }

func outside(address string) peer { return peer{address: address} }

// matches says whether a policy's peer means this one, for a policy of the
// namespace minecraft.
func (p peer) matches(t *testing.T, rule networkingv1.NetworkPolicyPeer) bool {
	t.Helper()
	if rule.IPBlock != nil {
		return p.address != "" && netip.MustParsePrefix(rule.IPBlock.CIDR).Contains(netip.MustParseAddr(p.address))
	}
	if p.pod == nil {
		return false
	}
	namespaceFits := p.namespace == "minecraft"
	if rule.NamespaceSelector != nil {
		namespaceFits = selects(t, rule.NamespaceSelector, map[string]string{corev1.LabelMetadataName: p.namespace})
	}
	return namespaceFits && (rule.PodSelector == nil || selects(t, rule.PodSelector, p.pod.Labels))
}

func selects(t *testing.T, selector *metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Matches(labels.Set(set))
}

// port is where a connection goes.
type port struct {
	protocol corev1.Protocol
	number   int32
}

func tcp(number int32) port { return port{corev1.ProtocolTCP, number} }
func udp(number int32) port { return port{corev1.ProtocolUDP, number} }

func portFits(rules []networkingv1.NetworkPolicyPort, at port, of *corev1.Pod) bool {
	return len(rules) == 0 || slices.ContainsFunc(rules, func(rule networkingv1.NetworkPolicyPort) bool {
		if *rule.Protocol != at.protocol {
			return false
		}
		if rule.Port.Type == intstr.Int {
			return rule.Port.IntVal == at.number
		}
		return of != nil && slices.ContainsFunc(of.Spec.Containers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
				return p.Name == rule.Port.StrVal && p.ContainerPort == at.number && p.Protocol == at.protocol
			})
		})
	})
}

// getsThrough computes what Kubernetes says of policies: a pod that none selects for
// a direction is open, and else what any of them allows is allowed.
func getsThrough(t *testing.T, policies []*networkingv1.NetworkPolicy, from, to peer, at port) bool {
	t.Helper()
	return allowed(t, policies, to.pod, networkingv1.PolicyTypeIngress, func(p *networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
			return peerFits(t, rule.From, from) && portFits(rule.Ports, at, to.pod)
		})
	}) && allowed(t, policies, from.pod, networkingv1.PolicyTypeEgress, func(p *networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
			return peerFits(t, rule.To, to) && portFits(rule.Ports, at, to.pod)
		})
	})
}

func peerFits(t *testing.T, rules []networkingv1.NetworkPolicyPeer, p peer) bool {
	t.Helper()
	return len(rules) == 0 || slices.ContainsFunc(rules, func(rule networkingv1.NetworkPolicyPeer) bool { return p.matches(t, rule) })
}

func allowed(
	t *testing.T, policies []*networkingv1.NetworkPolicy, pod *corev1.Pod, direction networkingv1.PolicyType,
	allows func(*networkingv1.NetworkPolicy) bool,
) bool {
	t.Helper()
	selected := false
	for _, policy := range policies {
		if pod == nil || !slices.Contains(policy.Spec.PolicyTypes, direction) || !selects(t, &policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		selected = true
		if allows(policy) {
			return true
		}
	}
	return !selected
}

// stageOf has the ends of the table, and the policies of two groups.
func stageOf(t *testing.T, mode v1alpha1.PolicyMode) (map[string]peer, []*networkingv1.NetworkPolicy) {
	t.Helper()
	network := load[v1alpha1.Network](t, "network")
	network.Spec.NetworkPolicy = mode
	if mode == v1alpha1.PolicyStrict {
		network.Spec.NetworkPolicyEgress = []v1alpha1.EgressRule{
			{CIDR: "192.0.2.0/24", Ports: []v1alpha1.EgressPort{{Port: 3306}, {Port: 8125, Protocol: v1alpha1.ProtocolUDP}}},
			{CIDR: "198.51.100.7/32"},
		}
	}
	lobby, survival := load[v1alpha1.ServerGroup](t, "lobby"), load[v1alpha1.ServerGroup](t, "survival")
	lobby.Spec.Ports = []v1alpha1.ServerPort{
		{Name: "voice", Port: 24454, Protocol: v1alpha1.ProtocolUDP, From: v1alpha1.FromAnywhere},
		{Name: "metrics", Port: 9940},
	}
	other := proxyPod(t, "network", "front")
	other.Labels[podspec.LabelNetwork] = "another"
	peers := map[string]peer{
		"proxy":            {pod: proxyPod(t, "network", "front"), namespace: "minecraft"},
		"other proxy":      {pod: other, namespace: "minecraft"},
		"lobby":            {pod: serverPod(t, network, lobby), namespace: "minecraft"},
		"survival":         {pod: serverPod(t, network, survival), namespace: "minecraft"},
		"stranger":         stranger("minecraft"),
		"monitoring":       stranger("monitoring"),
		"manager":          stranger("spawnery-system"),
		"name server":      stranger("kube-system"),
		"name cache":       outside("169.254.20.10"),
		"player":           outside("203.0.113.9"),
		"database":         outside("192.0.2.20"),
		"web hook":         outside("198.51.100.7"),
		"session server":   outside("203.0.113.80"),
		"forged elsewhere": {pod: proxyPod(t, "network", "front"), namespace: "elsewhere"},
	}
	var policies []*networkingv1.NetworkPolicy
	for _, group := range []*v1alpha1.ServerGroup{lobby, survival} {
		if policy := podspec.BuildServerPolicy(network, group, manager); policy != nil {
			policies = append(policies, policy)
		}
	}
	return peers, policies
}

func TestWhoReachesWhom(t *testing.T) {
	const (
		always  = "Disabled Ingress Strict"
		open    = "Disabled Ingress"
		without = "Disabled"
	)
	rows := []struct {
		from, to string
		at       port
		// in are the modes in which the connection is let through.
		in string
	}{
		{"proxy", "lobby", tcp(25565), always},
		{"proxy", "lobby", tcp(serverspec.Port), always},
		{"proxy", "survival", tcp(25570), always},
		{"proxy", "survival", tcp(25565), without},
		{"proxy", "lobby", tcp(25575), without},
		{"proxy", "lobby", udp(25565), without},
		{"other proxy", "lobby", tcp(25565), without},
		{"other proxy", "lobby", tcp(serverspec.Port), without},
		{"forged elsewhere", "lobby", tcp(25565), without},
		{"survival", "lobby", tcp(25565), without},
		{"stranger", "lobby", tcp(25565), without},
		{"stranger", "lobby", tcp(serverspec.Port), without},
		{"monitoring", "lobby", tcp(25565), without},
		{"player", "lobby", tcp(25565), without},
		{"manager", "lobby", tcp(serverspec.Port), without},
		{"player", "lobby", udp(24454), always},
		{"stranger", "lobby", udp(24454), always},
		{"player", "lobby", tcp(24454), without},
		{"player", "survival", udp(24454), without},
		{"monitoring", "lobby", tcp(9940), always},
		{"proxy", "lobby", tcp(9940), always},
		{"player", "lobby", tcp(9940), without},
		{"player", "proxy", tcp(25565), always},
		{"proxy", "session server", tcp(443), always},
		{"proxy", "manager", tcp(9443), always},
		{"lobby", "manager", tcp(9443), always},
		{"lobby", "manager", tcp(6443), open},
		{"lobby", "monitoring", tcp(9443), open},
		{"lobby", "name server", udp(53), always},
		{"lobby", "name server", tcp(5353), always},
		{"lobby", "name cache", udp(53), always},
		{"lobby", "session server", tcp(443), open},
		{"lobby", "database", tcp(3306), always},
		{"lobby", "database", tcp(5432), open},
		{"lobby", "database", udp(8125), always},
		{"survival", "web hook", tcp(443), always},
		{"survival", "web hook", udp(1), always},
		{"lobby", "proxy", tcp(25565), open},
		{"lobby", "survival", tcp(25570), without},
	}
	for _, mode := range []v1alpha1.PolicyMode{v1alpha1.PolicyDisabled, v1alpha1.PolicyIngress, v1alpha1.PolicyStrict} {
		peers, policies := stageOf(t, mode)
		for _, row := range rows {
			want := slices.Contains(strings.Fields(row.in), string(mode))
			if got := getsThrough(t, policies, peers[row.from], peers[row.to], row.at); got != want {
				t.Errorf("%s: %s reaches %s at %v: %t, want %t", mode, row.from, row.to, row.at, got, want)
			}
		}
	}
}

func TestAManagerElsewhereIsReachedByItsPortAlone(t *testing.T) {
	network := load[v1alpha1.Network](t, "network")
	network.Spec.NetworkPolicy = v1alpha1.PolicyStrict
	group := load[v1alpha1.ServerGroup](t, "lobby")
	policies := []*networkingv1.NetworkPolicy{podspec.BuildServerPolicy(network, group, podspec.ManagerAddress{Ports: []int32{9443, 443}})}
	server := peer{pod: serverPod(t, network, group), namespace: "minecraft"}
	for number, want := range map[int32]bool{443: true, 9443: true, 80: false} {
		if got := getsThrough(t, policies, server, outside("203.0.113.80"), tcp(number)); got != want {
			t.Errorf("port %d: %t, want %t", number, got, want)
		}
	}
}

func TestPoliciesAreGolden(t *testing.T) {
	var objects []any
	for _, mode := range []v1alpha1.PolicyMode{v1alpha1.PolicyIngress, v1alpha1.PolicyStrict} {
		_, policies := stageOf(t, mode)
		objects = append(objects, policies[0])
	}
	golden(t, "policies", objects...)
}

func TestAPodDeclaresItsPortsAndSaysNothingOfWhoMayReachThem(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "lobby")
	group.Spec.Ports = []v1alpha1.ServerPort{
		{Name: "voice", Port: 24454, Protocol: v1alpha1.ProtocolUDP, From: v1alpha1.FromAnywhere}, {Name: "metrics", Port: 9940},
	}
	declared := fmt.Sprint(serverPod(t, network, group).Spec.Containers[0].Ports)
	digest := podspec.Digest(podspec.ResolveServer(network, group))
	compare(t, fmt.Sprint([]corev1.ContainerPort{
		{Name: "minecraft", ContainerPort: 25565, Protocol: "TCP"},
		{Name: "metrics", ContainerPort: 9940, Protocol: "TCP"},
		{Name: "voice", ContainerPort: 24454, Protocol: "UDP"},
	}), declared)
	slices.Reverse(group.Spec.Ports)
	group.Spec.Ports[0].Protocol, group.Spec.Ports[0].From = v1alpha1.ProtocolTCP, v1alpha1.FromAnywhere
	compare(t, digest, podspec.Digest(podspec.ResolveServer(network, group)))
	compare(t, declared, fmt.Sprint(serverPod(t, network, group).Spec.Containers[0].Ports))
}
