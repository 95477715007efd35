// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fence"
)

func forbidden(words string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "lobby-abcd", errors.New(words))
}

func TestForbiddenWritesAreToldApart(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "lobby-abcd", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		err  error
		want string
	}{
		"quota":            {forbidden("exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10"), v1alpha1.ReasonQuotaExceeded},
		"quota that fails": {forbidden("failed quota: small: must specify limits.memory"), v1alpha1.ReasonQuotaExceeded},
		"pod security":     {forbidden(`violates PodSecurity "restricted:latest": runAsNonRoot`), v1alpha1.ReasonPodRefused},
		"no account yet":   {forbidden("error looking up service account minecraft/spawnery-server: not found"), v1alpha1.ReasonNamespaceNotPrepared},
		"the namespace":    {terminating, v1alpha1.ReasonNamespaceTerminating},
		"no permission": {
			forbidden(`User "system:serviceaccount:spawnery-system:spawnery-manager" cannot create resource "pods" in API group ""`),
			v1alpha1.ReasonPermissionDenied,
		},
		"wrapped":       {fmt.Errorf("create pod: %w", forbidden("exceeded quota: small")), v1alpha1.ReasonQuotaExceeded},
		"another error": {apierrors.NewInternalError(errors.New("etcd is slow")), ""},
		"no API error":  {errors.New("connection refused"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Of(test.err); got != test.want {
				t.Errorf("reason = %q, want %q", got, test.want)
			}
		})
	}
}

func TestOnlyAnAnswerOfTheAPIServerIsCertain(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"refused":            {fmt.Errorf("create pod: %w", forbidden("exceeded quota: small")), true},
		"the name is taken":  {apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "lobby-abcd"), true},
		"an internal error":  {apierrors.NewInternalError(errors.New("etcd is slow")), false},
		"it took too long":   {apierrors.NewTimeoutError("no answer", 1), false},
		"the server is busy": {apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "create", 1), false},
		"it was never sent":  {&url.Error{Op: "Post", Err: fmt.Errorf("%w: it has no lease yet", fence.ErrNotLeading)}, true},
		"no answer at all":   {errors.New("connection reset by peer"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Certain(test.err); got != test.want {
				t.Errorf("certain = %t, want %t", got, test.want)
			}
		})
	}
}
