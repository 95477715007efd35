// SPDX-License-Identifier: Apache-2.0

// Package refusal tells apart why the API server forbade a write, so that the
// owner reads what to change instead of a bare 403.
package refusal

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fence"
)

// Of returns the condition reason for a write that failed; it is empty for an
// error that a repetition may cure. The message that goes with it is the API
// server's own, err.Error().
func Of(err error) string {
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return ""
	}
	words := err.Error()
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return v1alpha1.ReasonNamespaceTerminating
	case strings.Contains(words, "exceeded quota"), strings.Contains(words, "failed quota"):
		return v1alpha1.ReasonQuotaExceeded
	case strings.Contains(words, "error looking up service account"):
		return v1alpha1.ReasonNamespaceNotPrepared
	case isPermission(words):
		return v1alpha1.ReasonPermissionDenied
	default:
		return v1alpha1.ReasonPodRefused
	}
}

// isPermission recognises the authorizer's sentence; every other 403 comes
// from admission.
func isPermission(words string) bool {
	return strings.Contains(words, " cannot ") && strings.Contains(words, " resource ")
}

// Certain tells an answer of the API server, or a call that never left, from one
// whose end nobody knows: what such a call asked for may have been done.
func Certain(err error) bool {
	var status apierrors.APIStatus
	return errors.Is(err, fence.ErrNotLeading) || (errors.As(err, &status) &&
		!apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsInternalError(err))
}
