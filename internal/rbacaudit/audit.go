// SPDX-License-Identifier: Apache-2.0

// Package rbacaudit holds, written by hand and with a reason each, what the
// manager may do, and compares it with the roles that are generated from the
// markers in the code.
package rbacaudit

import (
	"cmp"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Scope is where a permission holds.
type Scope string

const (
	// Cluster is every namespace, and what has none.
	Cluster Scope = "ClusterRole"
	// OwnNamespace is the namespace the manager runs in.
	OwnNamespace Scope = "Role"
)

// Permission is a right of the manager.
type Permission struct {
	// Scope is where it holds.
	Scope Scope
	// Group of the resource; empty for Kubernetes' core.
	Group string
	// Resource, with its subresource after a slash.
	Resource string
	// Names of the only objects it covers. Empty: all of them.
	Names []string
	// Verbs it allows.
	Verbs []string
	// Why the manager needs it, or needs no more.
	Why string
}

// Grant is one verb on one resource, and the smallest thing that two tables of
// permissions can differ in. Name is empty when it covers every object.
type Grant struct {
	Scope                       Scope
	Group, Resource, Name, Verb string
}

// String names the grant as kubectl would.
func (g Grant) String() string {
	resource := g.Resource
	if g.Group != "" {
		resource += "." + g.Group
	}
	if g.Name != "" {
		resource += " " + g.Name
	}
	return fmt.Sprintf("%s: %s %s", g.Scope, g.Verb, resource)
}

// Grants takes permissions apart, sorted and each once.
func Grants(permissions []Permission) []Grant {
	var grants []Grant
	for _, p := range permissions {
		for _, name := range orAny(p.Names) {
			for _, verb := range p.Verbs {
				grants = append(grants, Grant{p.Scope, p.Group, p.Resource, name, verb})
			}
		}
	}
	return sorted(grants)
}

// RoleGrants takes the rules of a role apart, sorted and each once.
func RoleGrants(scope Scope, rules []rbacv1.PolicyRule) []Grant {
	var permissions []Permission
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				permissions = append(permissions, Permission{
					Scope: scope, Group: group, Resource: resource,
					Names: rule.ResourceNames, Verbs: rule.Verbs,
				})
			}
		}
	}
	return Grants(permissions)
}

// Without returns the grants of one table that another lacks. Called both ways
// round it tells what is missing and what is too much.
func Without(grants, those []Grant) []Grant {
	var rest []Grant
	for _, grant := range grants {
		if !slices.Contains(those, grant) {
			rest = append(rest, grant)
		}
	}
	return rest
}

func orAny(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

func sorted(grants []Grant) []Grant {
	slices.SortFunc(grants, func(a, b Grant) int {
		return cmp.Or(
			cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb),
		)
	})
	return slices.Compact(grants)
}
