// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/spawnery/spawnery-operator/internal/rbacaudit"
)

// verbs are all that RBAC knows of for an object.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// accountIsBounded asks the API server what the account that OLM made may do.
// OLM makes ClusterRoles of everything, so what is for the operator's own
// namespace holds everywhere: for objects of one name.
func accountIsBounded(w *world, _ *story) {
	w.accountMayDoWhatItMust()
	const other, certificate = "somebodys", "spawnery-manager-tls"
	for name, question := range map[string]struct {
		about authorizationv1.ResourceAttributes
		want  []string
	}{
		"claims are made, read and grown, and never deleted": {
			about: authorizationv1.ResourceAttributes{Namespace: gameNamespace, Resource: "persistentvolumeclaims"},
			want:  []string{"get", "list", "watch", "create", "patch"},
		},
		"secrets of a game namespace are made and never read": {
			about: authorizationv1.ResourceAttributes{Namespace: gameNamespace, Resource: "secrets"},
			want:  []string{"create"},
		},
		"the forwarding secret of a network is as unreadable as any other": {
			about: authorizationv1.ResourceAttributes{Namespace: gameNamespace, Resource: "secrets", Name: "production-forwarding"},
			want:  []string{"create"},
		},
		"other secrets of its own namespace are not read": {
			about: authorizationv1.ResourceAttributes{Namespace: operatorNamespace, Resource: "secrets", Name: other},
			want:  []string{"create"},
		},
		"its certificate is read by name": {
			about: authorizationv1.ResourceAttributes{Namespace: operatorNamespace, Resource: "secrets", Name: certificate},
			want:  []string{"get", "create", "update", "patch"},
		},
		"other leases are left alone": {
			about: authorizationv1.ResourceAttributes{Namespace: operatorNamespace, Group: "coordination.k8s.io", Resource: "leases", Name: other},
			want:  []string{"create"},
		},
		"other ConfigMaps are not read": {
			about: authorizationv1.ResourceAttributes{Namespace: gameNamespace, Resource: "configmaps", Name: other},
			want:  []string{"create"},
		},
		"groups are read and never changed": {
			about: authorizationv1.ResourceAttributes{Namespace: gameNamespace, Group: "spawnery.cloud", Resource: "servergroups"},
			want:  []string{"get", "list", "watch"},
		},
		"roles are not its business": {
			about: authorizationv1.ResourceAttributes{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		},
		"kinds are not its business": {
			about: authorizationv1.ResourceAttributes{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		},
	} {
		w.t.Run(name, func(t *testing.T) {
			w := w.in(t)
			w.Expect(w.allowed(question.about)).To(gomega.Equal(question.want))
		})
	}
}

// accountMayDoWhatItMust asks for everything that the manager needs.
func (w *world) accountMayDoWhatItMust() {
	for _, grant := range rbacaudit.Grants(rbacaudit.Required()) {
		resource, subresource, _ := strings.Cut(grant.Resource, "/")
		about := authorizationv1.ResourceAttributes{
			Namespace: gameNamespace, Group: grant.Group, Resource: resource, Subresource: subresource, Name: grant.Name, Verb: grant.Verb,
		}
		if grant.Scope == rbacaudit.OwnNamespace {
			about.Namespace = operatorNamespace
		}
		w.Expect(w.may(about)).To(gomega.BeTrue(), grant.String())
	}
}

// allowed are the verbs that the account may use.
func (w *world) allowed(about authorizationv1.ResourceAttributes) []string {
	w.t.Helper()
	var allowed []string
	for _, verb := range verbs {
		about.Verb = verb
		if w.may(about) {
			allowed = append(allowed, verb)
		}
	}
	return allowed
}

// may asks the API server whether the account may do something.
func (w *world) may(about authorizationv1.ResourceAttributes) bool {
	w.t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               accountUser,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated"},
		ResourceAttributes: &about,
	}}
	if err := w.Client.Create(w.t.Context(), review); err != nil {
		w.t.Fatalf("asking for a review: %v", err)
	}
	return review.Status.Allowed
}

// nothingForbidden reads what all managers did. While OLM takes one away, its
// roles may go before it does.
func nothingForbidden(w *world, s *story) {
	calls := w.Calls(w.t, accountUser)
	w.Expect(calls).NotTo(gomega.BeEmpty())
	for _, call := range calls {
		leaving := slices.ContainsFunc(s.removals, func(r removal) bool { return call.At.After(r.from) && call.At.Before(r.to) })
		if !leaving {
			w.Expect(call.Forbidden).To(gomega.BeFalse(), "%+v", call)
		}
	}
	w.Expect(w.node.brokenContainers()).To(gomega.BeEmpty())
}
