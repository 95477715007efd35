// SPDX-License-Identifier: Apache-2.0

package operatorhub_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/rbacaudit"
)

// lifted are the grants as OLM makes them: an operator that watches every
// namespace gets its namespaced permissions in every namespace too.
func lifted(t *testing.T) []rbacaudit.Grant {
	t.Helper()
	var grants []rbacaudit.Grant
	spec := load(t).csv.Spec.Install.Spec
	for _, permission := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		if permission.ServiceAccountName != "spawnery-manager" {
			t.Errorf("permissions for the account %q", permission.ServiceAccountName)
		}
		grants = append(grants, rbacaudit.RoleGrants(rbacaudit.Cluster, permission.Rules)...)
	}
	if len(grants) == 0 {
		t.Fatal("the bundle grants nothing")
	}
	return grants
}

func TestLiftedRolesHoldExactlyWhatIsRequired(t *testing.T) {
	granted := lifted(t)
	permissions := rbacaudit.Required()
	for i := range permissions {
		permissions[i].Scope = rbacaudit.Cluster
	}
	required := rbacaudit.Grants(permissions)
	for _, grant := range rbacaudit.Without(required, granted) {
		t.Errorf("required and not granted: %s", grant)
	}
	for _, grant := range rbacaudit.Without(granted, required) {
		t.Errorf("granted and not required: %s", grant)
	}
}

func TestLiftedRolesReadNoSecretButTheManagersOwn(t *testing.T) {
	for _, grant := range lifted(t) {
		if grant.Resource != "secrets" || grant.Verb == "create" {
			continue
		}
		if grant.Name != "spawnery-manager-tls" {
			t.Errorf("reaches other secrets: %s", grant)
		}
		if !slices.Contains([]string{"get", "update", "patch"}, grant.Verb) {
			t.Errorf("no verb for one secret: %s", grant)
		}
	}
}

func TestLiftedRolesNameTheirObjects(t *testing.T) {
	for _, grant := range lifted(t) {
		if slices.Contains([]string{"secrets", "leases", "configmaps", "serviceaccounts"}, grant.Resource) &&
			grant.Verb != "create" && grant.Name == "" {
			t.Errorf("holds for every object of every namespace: %s", grant)
		}
		if slices.Contains([]string{grant.Group, grant.Resource, grant.Verb}, "*") {
			t.Errorf("a wildcard: %s", grant)
		}
	}
}

func TestLiftedRolesHaveFiveVerbsOnClaims(t *testing.T) {
	var verbs []string
	for _, grant := range lifted(t) {
		if grant.Resource == "persistentvolumeclaims" {
			verbs = append(verbs, grant.Verb)
		}
	}
	slices.Sort(verbs)
	if diff := cmp.Diff([]string{"create", "get", "list", "patch", "watch"}, verbs); diff != "" {
		t.Errorf("verbs on claims (-want +got):\n%s", diff)
	}
}

func TestLiftedRolesWriteNobodysSpec(t *testing.T) {
	for _, grant := range lifted(t) {
		owners := slices.Contains([]string{"networks", "proxygroups", "servergroups"}, grant.Resource)
		if owners && !slices.Contains([]string{"get", "list", "watch"}, grant.Verb) {
			t.Errorf("writes what belongs to an owner: %s", grant)
		}
		if grant.Resource == "customresourcedefinitions" {
			t.Errorf("reaches the definitions of kinds: %s", grant)
		}
	}
}
