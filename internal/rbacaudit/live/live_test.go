// SPDX-License-Identifier: Apache-2.0

// Package live asks a real API server what the manager's account may do once
// the project's own manifests are applied.
package live

import (
	"cmp"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/spawnery/spawnery-operator/internal/rbacaudit"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	ownNamespace  = "spawnery-system"
	gameNamespace = "minecraft"
	manager       = "system:serviceaccount:spawnery-system:spawnery-manager"
)

func TestManagersAccount(t *testing.T) {
	env := withRoles(t)

	t.Run("may do what is required", func(t *testing.T) {
		for _, grant := range rbacaudit.Grants(rbacaudit.Required()) {
			namespace := gameNamespace
			if grant.Scope == rbacaudit.OwnNamespace {
				namespace = ownNamespace
			}
			if !allowed(t, env, question(grant, namespace)) {
				t.Errorf("refused: %s", grant)
			}
		}
	})

	refused := map[string]authorizationv1.ResourceAttributes{
		"deleting a claim":                    {Verb: "delete", Resource: "persistentvolumeclaims", Namespace: gameNamespace},
		"deleting all claims":                 {Verb: "deletecollection", Resource: "persistentvolumeclaims", Namespace: gameNamespace},
		"updating a claim":                    {Verb: "update", Resource: "persistentvolumeclaims", Namespace: gameNamespace},
		"reading a secret":                    {Verb: "get", Resource: "secrets", Namespace: gameNamespace, Name: "production-forwarding"},
		"listing secrets":                     {Verb: "list", Resource: "secrets", Namespace: gameNamespace},
		"watching secrets":                    {Verb: "watch", Resource: "secrets", Namespace: gameNamespace},
		"listing secrets beside its own":      {Verb: "list", Resource: "secrets", Namespace: ownNamespace},
		"reading a secret beside its own":     {Verb: "get", Resource: "secrets", Namespace: ownNamespace, Name: "other"},
		"reading a secret named like its own": {Verb: "get", Resource: "secrets", Namespace: gameNamespace, Name: "spawnery-manager-tls"},
		"reading an owner's ConfigMap":        {Verb: "get", Resource: "configmaps", Namespace: gameNamespace, Name: "plugins"},
		"editing a group":                     {Verb: "patch", Group: "spawnery.cloud", Resource: "servergroups", Namespace: gameNamespace},
		"executing in a pod":                  {Verb: "create", Resource: "pods", Subresource: "exec", Namespace: gameNamespace},
		"changing what it may do":             {Verb: "patch", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
	}
	for name, attributes := range refused {
		t.Run("is refused "+name, func(t *testing.T) {
			if allowed(t, env, attributes) {
				t.Errorf("allowed: %+v", attributes)
			}
		})
	}
}

// withRoles is an API server with the roles that config/ ships.
func withRoles(t *testing.T) *testenv.Env {
	t.Helper()
	env := testenv.Start(t)
	for _, file := range []string{
		"config/manager/namespace.yaml", "config/rbac/service_account.yaml", "config/rbac/role.yaml",
		"config/rbac/role_binding.yaml", "config/rbac/user_roles.yaml",
	} {
		for _, manifest := range testenv.ReadManifests(t, testenv.Path(t, file)) {
			if err := env.Client.Create(t.Context(), manifest); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
	return env
}

func question(grant rbacaudit.Grant, namespace string) authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(grant.Resource, "/")
	return authorizationv1.ResourceAttributes{
		Verb: grant.Verb, Group: grant.Group, Resource: resource, Subresource: subresource,
		Name: cmp.Or(grant.Name, "any"), Namespace: namespace,
	}
}

func allowed(t *testing.T, env *testenv.Env, attributes authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               manager,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + ownNamespace, "system:authenticated"},
		ResourceAttributes: &attributes,
	}}
	if err := env.Client.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
