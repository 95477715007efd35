// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheAddressesOfAClusterAreThoseOfItsNodesAndPods(t *testing.T) {
	node := func(name string, cidrs []string, addresses ...corev1.NodeAddress) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: cidrs},
			Status: corev1.NodeStatus{Addresses: addresses},
		}
	}
	view := Look([]corev1.Node{
		node("b", []string{"10.244.1.0/24", "2001:db8:1::/64"},
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.2"},
			corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "198.51.100.2"},
			corev1.NodeAddress{Type: corev1.NodeHostName, Address: "192.0.2.99"}),
		node("a", nil,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.2"}, // a cluster in which two nodes share one
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fe80::1%eth0"},
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "no address"}),
	}, nil)
	want := []string{"10.244.1.0/24", "192.0.2.2/32", "198.51.100.2/32", "2001:db8:1::/64", "fe80::1/128"}
	if diff := cmp.Diff(want, view.Addresses()); diff != "" {
		t.Error(diff)
	}
}
