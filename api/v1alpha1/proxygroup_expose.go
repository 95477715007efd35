// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ExposeType is how players reach the proxies of a group.
//
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer;HostPort
type ExposeType string

const (
	// ExposeClusterIP makes a Service inside the cluster; how players come
	// that far is the owner's business.
	ExposeClusterIP ExposeType = "ClusterIP"
	// ExposeNodePort opens the same port on every node.
	ExposeNodePort ExposeType = "NodePort"
	// ExposeLoadBalancer asks the cluster's load balancer for an address.
	ExposeLoadBalancer ExposeType = "LoadBalancer"
	// ExposeHostPort opens a port on the nodes that run a proxy, by itself.
	ExposeHostPort ExposeType = "HostPort"
)

// TrafficPolicy says which nodes pass players on.
//
// +kubebuilder:validation:Enum=Local;Cluster
type TrafficPolicy string

const (
	// TrafficLocal lets only nodes with a proxy answer, and keeps the
	// players' addresses.
	TrafficLocal TrafficPolicy = "Local"
	// TrafficCluster lets every node answer, and hides the players' addresses
	// behind the nodes'.
	TrafficCluster TrafficPolicy = "Cluster"
)

// Expose says how players reach the proxies of a group.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterIP) == (self.type == 'ClusterIP')",message="clusterIP is required with type ClusterIP and forbidden with any other"
// +kubebuilder:validation:XValidation:rule="has(self.nodePort) == (self.type == 'NodePort')",message="nodePort is required with type NodePort and forbidden with any other"
// +kubebuilder:validation:XValidation:rule="has(self.hostPort) == (self.type == 'HostPort')",message="hostPort is required with type HostPort and forbidden with any other"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancer) || self.type == 'LoadBalancer'",message="loadBalancer is forbidden with any type but LoadBalancer"
// +kubebuilder:validation:XValidation:rule="self.type != 'LoadBalancer' || oldSelf.type != 'LoadBalancer' || (has(self.loadBalancer) && has(self.loadBalancer.loadBalancerClass) ? self.loadBalancer.loadBalancerClass : '-') == (has(oldSelf.loadBalancer) && has(oldSelf.loadBalancer.loadBalancerClass) ? oldSelf.loadBalancer.loadBalancerClass : '-')",message="loadBalancer.loadBalancerClass is immutable while the type is LoadBalancer"
type Expose struct {
	// type is ClusterIP, NodePort, LoadBalancer or HostPort. The block of the
	// same name is required, with LoadBalancer optional; the others are forbidden.
	// Another type moves nobody who is in, but for HostPort, whose port is part
	// of the pods: they are replaced one at a time.
	//
	// +required
	Type ExposeType `json:"type,omitempty"`

	// clusterIP describes the way in that the owner provides.
	//
	// +optional
	ClusterIP ExposeByClusterIP `json:"clusterIP,omitzero"`

	// nodePort describes the port on the nodes.
	//
	// +optional
	NodePort ExposeByNodePort `json:"nodePort,omitzero"`

	// loadBalancer describes the load balancer that is asked for. Default: the
	// cluster's own, which keeps the players' addresses.
	//
	// +optional
	LoadBalancer ExposeByLoadBalancer `json:"loadBalancer,omitzero"`

	// hostPort describes the port on the nodes that run a proxy.
	//
	// +optional
	HostPort ExposeByHostPort `json:"hostPort,omitzero"`
}

// ExposeByClusterIP describes a way in that the owner provides.
type ExposeByClusterIP struct {
	// address is what players type: host or host:port. It is shown in the
	// status; nothing is opened at it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=259
	// +kubebuilder:validation:Pattern=`^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?$`
	Address string `json:"address,omitempty"`
}

// ExposeByNodePort describes the port on the nodes.
type ExposeByNodePort struct {
	// port on every node, within the cluster's range of node ports.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// externalTrafficPolicy is Local or Cluster. Local keeps the players'
	// addresses and answers only on nodes that run a proxy; Cluster answers
	// everywhere and hides the addresses behind the nodes'. Default: Local.
	//
	// +optional
	// +default="Local"
	ExternalTrafficPolicy TrafficPolicy `json:"externalTrafficPolicy,omitempty"`
}

// ExposeByLoadBalancer describes the load balancer that is asked for. Players
// reach it at port 25565.
//
// +kubebuilder:validation:MinProperties=1
type ExposeByLoadBalancer struct {
	// annotations of the Service, for what makes load balancers. One that is
	// taken out here is taken off the Service. Default: none.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.size() <= 317 && key.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && self[key].size() <= 1024)",message="an annotation has a qualified name as its key, and a value of at most 1024 characters"
	// +kubebuilder:validation:XValidation:rule="!self.exists(key, key.matches('^([^/]*[.])?spawnery[.]cloud/'))",message="annotations of spawnery.cloud are not an owner's to set"
	Annotations map[string]string `json:"annotations,omitempty"`

	// externalTrafficPolicy is Local or Cluster. Local keeps the players'
	// addresses and sends nobody over a node without a proxy; Cluster hides the
	// addresses behind the nodes'. Default: Local.
	//
	// +optional
	// +default="Local"
	ExternalTrafficPolicy TrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// loadBalancerClass chooses among several makers of load balancers. Immutable
	// while the type is LoadBalancer. Default: the cluster's own.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`
}

// ExposeByHostPort describes the port on the nodes that run a proxy. Only one
// proxy fits on a node, and the namespace must allow pods that use ports of nodes.
type ExposeByHostPort struct {
	// port on the node of each proxy. Another one replaces the proxies, one at a
	// time.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}
