// SPDX-License-Identifier: Apache-2.0

package rbacaudit

import "github.com/spawnery/spawnery-operator/api/v1alpha1"

// Required returns everything the manager may do. The generated roles hold
// exactly this.
func Required() []Permission {
	permissions := ours()
	permissions = append(permissions, workloads()...)
	permissions = append(permissions, namespaceParts()...)
	return append(permissions, own()...)
}

// ours is about the kinds of this API.
func ours() []Permission {
	status := "Status is applied, never updated: a stale copy must not undo what another wrote."
	return []Permission{
		{
			Scope: Cluster, Group: v1alpha1.GroupName, Resource: "networks", Verbs: []string{"get", "list", "watch"},
			Why: "A Network belongs to its owner: it is read and never changed.",
		},
		{
			Scope: Cluster, Group: v1alpha1.GroupName, Resource: "proxygroups", Verbs: []string{"get", "list", "watch"},
			Why: "A ProxyGroup belongs to its owner: it is read and never changed.",
		},
		{
			Scope: Cluster, Group: v1alpha1.GroupName, Resource: "servergroups", Verbs: []string{"get", "list", "watch"},
			Why: "A ServerGroup's spec belongs to a file of its owner's: the scaler never edits it.",
		},
		{
			Scope: Cluster, Group: v1alpha1.GroupName, Resource: "scaleboosts", Verbs: []string{"get", "list", "watch", "create", "delete"},
			Why: "Live boosts raise the floor of a group. Plugins of its servers, and staff in the game, have some made, within the group's maxReplicas, and end those. " +
				"Those that have expired are deleted, unless a GitOps tool keeps them.",
		},
		{
			Scope: Cluster, Group: v1alpha1.GroupName, Resource: "servers",
			Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
			Why:   "A group makes its servers, retires them by a patch of the spec, as plugins and staff in the game may ask, holds them by a finalizer and deletes them.",
		},
		{Scope: Cluster, Group: v1alpha1.GroupName, Resource: "networks/status", Verbs: []string{"get", "patch"}, Why: status},
		{Scope: Cluster, Group: v1alpha1.GroupName, Resource: "proxygroups/status", Verbs: []string{"get", "patch"}, Why: status},
		{Scope: Cluster, Group: v1alpha1.GroupName, Resource: "servergroups/status", Verbs: []string{"get", "patch"}, Why: status},
		{Scope: Cluster, Group: v1alpha1.GroupName, Resource: "servers/status", Verbs: []string{"get", "patch"}, Why: status},
	}
}

// workloads is about what servers and proxies consist of.
func workloads() []Permission {
	return []Permission{
		{
			Scope: Cluster, Resource: "pods",
			Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
			Why:   "Servers and proxies are bare pods: made, labelled while occupied, deleted.",
		},
		{
			// delete and update are absent on purpose. Nothing here ever
			// deletes a claim, so that a mistake costs a stray object and
			// never a world; and growing one is a patch of its requested size
			// that can touch no other field, where an update could.
			Scope: Cluster, Resource: "persistentvolumeclaims",
			Verbs: []string{"create", "get", "list", "watch", "patch"},
			Why: "A world's claim is made once and grown by a patch of its requested size. " +
				"There is no delete: a claim is a world, and only a person deletes one. " +
				"There is no update: growing a claim must not be able to touch anything else of it.",
		},
		{
			Scope: Cluster, Resource: "services", Verbs: []string{"get", "list", "watch", "create", "patch"},
			Why: "Players reach a ProxyGroup by a Service; its owner reference deletes it.",
		},
		{
			Scope: Cluster, Group: "policy", Resource: "poddisruptionbudgets", Verbs: []string{"get", "list", "watch", "create", "patch"},
			Why: "A group's budget counts its servers with players, so that a node drain throws nobody out; its owner reference deletes it.",
		},
		{
			Scope: Cluster, Group: "networking.k8s.io", Resource: "networkpolicies",
			Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
			Why: "A group's policy lets the proxies of its Network alone reach its servers. It is deleted when the Network wants none " +
				"any more; else its owner reference does that.",
		},
		{
			Scope: Cluster, Resource: "nodes", Verbs: []string{"get", "list", "watch"},
			Why: "Servers leave nodes that are about to go, and only where another node could take them. " +
				"A node's address is what players type when a ProxyGroup is exposed by NodePort.",
		},
		{
			Scope: Cluster, Resource: "persistentvolumes", Verbs: []string{"get"},
			Why: "Whether a world can follow its server to another node is written on its volume.",
		},
	}
}

// namespaceParts is about what every namespace with a Network needs.
func namespaceParts() []Permission {
	return []Permission{
		{
			Scope: Cluster, Resource: "serviceaccounts", Verbs: []string{"create"},
			Why: "Pods run under accounts of their own, made in each namespace; a create cannot be restricted by name.",
		},
		{
			Scope: Cluster, Resource: "serviceaccounts", Names: []string{"spawnery-server", "spawnery-proxy"}, Verbs: []string{"get"},
			Why: "Tells whether an account of that name is ours.",
		},
		{
			Scope: Cluster, Resource: "configmaps", Verbs: []string{"create"},
			Why: "Where agents find the manager stands in one ConfigMap per namespace; a create cannot be restricted by name.",
		},
		{
			Scope: Cluster, Resource: "configmaps", Names: []string{"spawnery-channel"}, Verbs: []string{"get", "patch"},
			Why: "That ConfigMap follows the manager's address and certificate authority. No other is read.",
		},
		{
			Scope: Cluster, Resource: "secrets", Verbs: []string{"create"},
			Why: "A Network without a forwarding secret gets one. There is no get: the operator never reads a secret of a game namespace.",
		},
		{
			Scope: Cluster, Resource: "events", Verbs: []string{"create", "patch"},
			Why: "The leader election reports by events of the core group.",
		},
		{
			Scope: Cluster, Group: "events.k8s.io", Resource: "events", Verbs: []string{"create", "patch"},
			Why: "Decisions are told as events; repeated ones are counted by a patch.",
		},
		{
			Scope: Cluster, Group: "authentication.k8s.io", Resource: "tokenreviews", Verbs: []string{"create"},
			Why: "An agent's identity is its token, and only the API server can check that.",
		},
	}
}

// own is about the manager's own namespace. Every rule but a create names its
// object: where a package manager turns this Role into a ClusterRole, no
// secret of anybody else becomes readable.
func own() []Permission {
	return []Permission{
		{
			Scope: OwnNamespace, Resource: "secrets", Verbs: []string{"create"},
			Why: "The manager's certificate is made at its first start; a create cannot be restricted by name.",
		},
		{
			Scope: OwnNamespace, Resource: "secrets", Names: []string{"spawnery-manager-tls"}, Verbs: []string{"get", "update", "patch"},
			Why: "Certificate and authority are read uncached and renewed. There is no list or watch: they would show every secret.",
		},
		{
			Scope: OwnNamespace, Group: "coordination.k8s.io", Resource: "leases", Verbs: []string{"create"},
			Why: "The lease of the leader is made at the first start; a create cannot be restricted by name.",
		},
		{
			Scope: OwnNamespace, Group: "coordination.k8s.io", Resource: "leases", Names: []string{"spawnery-manager"},
			Verbs: []string{"get", "update", "patch"},
			Why:   "The leader renews its lease and releases it on exit.",
		},
	}
}
