// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// wayInPasses are about the types of expose.
func wayInPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a load balancer's address is shown once it has one": balancerAddress,
		"annotations of a load balancer come and go":         balancerAnnotations,
		"every type can become every other":                  everyWayInChanges,
		"a port of the node that is refused says what to do": hostPortRefused,
	}
}

func byBalancer(annotations map[string]string) v1alpha1.Expose {
	return v1alpha1.Expose{Type: v1alpha1.ExposeLoadBalancer, LoadBalancer: v1alpha1.ExposeByLoadBalancer{Annotations: annotations}}
}

// balance plays the part of the cloud, which no test cluster has.
func (w *world) balance(ingress ...corev1.LoadBalancerIngress) {
	w.t.Helper()
	service := get[corev1.Service](w, "front-proxy")
	service.Status.LoadBalancer.Ingress = ingress
	w.Expect(w.Client.Status().Update(w.t.Context(), service)).To(gomega.Succeed())
	w.settle(aFront, "front")
}

func balancerAddress(w *world) {
	w.front(1, byBalancer(nil))
	service := get[corev1.Service](w, "front-proxy")
	w.Expect(service.Spec.Type).To(gomega.Equal(corev1.ServiceTypeLoadBalancer))
	w.Expect(service.Spec.ExternalTrafficPolicy).To(gomega.Equal(corev1.ServiceExternalTrafficPolicyLocal))
	w.balance(corev1.LoadBalancerIngress{IP: "198.51.100.7"})
	w.Expect(w.frontStatus().Address).To(gomega.BeEmpty(), "nothing answers there yet")
	w.balance()
	w.runProxies()
	w.Expect(w.frontStatus().Address).To(gomega.BeEmpty())
	w.Expect(w.frontCondition("Available")).To(gomega.Equal(
		"True MinimumReplicasReady: 1 of 1 proxies are ready, and the load balancer has no address yet: look at the events of Service front-proxy"))
	w.balance(corev1.LoadBalancerIngress{IP: "198.51.100.7"})
	w.Expect(w.frontStatus().Address).To(gomega.Equal("198.51.100.7"))
	w.balance(corev1.LoadBalancerIngress{Hostname: "lb.example.org"})
	w.Expect(w.frontStatus().Address).To(gomega.Equal("lb.example.org"))
	w.Expect(w.frontCondition("Available")).To(gomega.Equal("True MinimumReplicasReady: 1 of 1 proxies are ready"))
	w.Expect(w.frontCondition("ClientAddressHidden")).To(gomega.HavePrefix("False PlayerAddresses"))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) {
		g.Spec.Expose.LoadBalancer.ExternalTrafficPolicy = v1alpha1.TrafficCluster
	})
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ClientAddressHidden")).To(gomega.HavePrefix("True ClusterAddresses"))
}

func balancerAnnotations(w *world) {
	w.front(1, byBalancer(map[string]string{"metallb.io/address-pool": "games", "example.org/kept": "1"}))
	edit(w, "front-proxy", func(s *corev1.Service) { s.Annotations["cloud.example.org/id"] = "42" })
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Expose = byBalancer(map[string]string{"example.org/kept": "2"}) })
	w.settle(aFront, "front")
	w.Expect(get[corev1.Service](w, "front-proxy").Annotations).To(gomega.Equal(map[string]string{
		"example.org/kept": "2", "cloud.example.org/id": "42", "spawnery.cloud/chosen-annotations": "example.org/kept",
	}))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Expose = byAddress() })
	w.settle(aFront, "front")
	w.Expect(get[corev1.Service](w, "front-proxy").Annotations).To(gomega.Equal(map[string]string{"cloud.example.org/id": "42"}))
}

func everyWayInChanges(w *world) {
	classed := byBalancer(nil)
	classed.LoadBalancer.LoadBalancerClass = "example.org/fast"
	ways := map[corev1.ServiceType][]v1alpha1.Expose{
		corev1.ServiceTypeClusterIP: {
			byAddress(), {Type: v1alpha1.ExposeHostPort, HostPort: v1alpha1.ExposeByHostPort{Port: 25577}},
		},
		corev1.ServiceTypeNodePort:     {byPort(30574)},
		corev1.ServiceTypeLoadBalancer: {classed},
	}
	w.front(1, byAddress())
	uid := get[corev1.Service](w, "front-proxy").UID
	for _, froms := range ways {
		for _, from := range froms {
			for kind, tos := range ways {
				for _, to := range tos {
					for _, way := range []v1alpha1.Expose{from, to} {
						edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Expose = way })
						w.settle(aFront, "front")
					}
					service := get[corev1.Service](w, "front-proxy")
					w.Expect(service.Spec.Type).To(gomega.Equal(kind), "from %s to %s: %s", from.Type, to.Type, w.frontCondition("Accepted"))
					w.Expect(service.Spec.LoadBalancerClass == nil).To(gomega.Equal(kind != corev1.ServiceTypeLoadBalancer))
					policy := corev1.ServiceExternalTrafficPolicyLocal
					if kind == corev1.ServiceTypeClusterIP {
						policy = ""
					}
					w.Expect(service.Spec.ExternalTrafficPolicy).To(gomega.Equal(policy))
					w.Expect(w.frontCondition("Accepted")).To(gomega.HavePrefix("True"))
				}
			}
		}
	}
	w.Expect(get[corev1.Service](w, "front-proxy").UID).To(gomega.Equal(uid))
}

func hostPortRefused(w *world) {
	namespace := &corev1.Namespace{}
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Name: w.namespace}, namespace)).To(gomega.Succeed())
	namespace.Labels["pod-security.kubernetes.io/enforce"] = "baseline"
	w.Expect(w.Client.Update(w.t.Context(), namespace)).To(gomega.Succeed())
	w.front(1, v1alpha1.Expose{Type: v1alpha1.ExposeHostPort, HostPort: v1alpha1.ExposeByHostPort{Port: 25577}})
	w.Eventually(func() string {
		w.pass(aFront, "front")
		return w.frontCondition("Accepted")
	}, 10*time.Second).Should(gomega.And(
		gomega.HavePrefix("False PodRefused"), gomega.ContainSubstring("hostPort 25577"),
		gomega.ContainSubstring("label namespace "+w.namespace+" with pod-security.kubernetes.io/enforce=privileged")))
}
