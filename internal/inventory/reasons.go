// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// WaitReason is why a required ordinal has no Server.
type WaitReason string

const (
	// GroupLeaving ordinals are of a group that is being deleted; their claims
	// are orphans once it is gone.
	GroupLeaving WaitReason = "GroupLeaving"
	// GaveUp ordinals are not tried again before a person acts.
	GaveUp WaitReason = "GaveUp"
	// BetweenAttempts ordinals are tried again by themselves.
	BetweenAttempts WaitReason = "BetweenAttempts"
	// NotAccepted ordinals are of a group that the operator does not act for.
	NotAccepted WaitReason = "NotAccepted"
	// Due ordinals are to be made next.
	Due WaitReason = "Due"
)

// reasonToWait reads from a group's status why it does not create.
func reasonToWait(group *v1alpha1.ServerGroup) (WaitReason, string) {
	told := func(condition string) string {
		if found := apimeta.FindStatusCondition(group.Status.Conditions, condition); found != nil {
			return found.Message
		}
		return ""
	}
	conditions := group.Status.Conditions
	failures := ptr.Deref(group.Status.ConsecutiveFailures, 0)
	switch {
	case group.DeletionTimestamp != nil:
		return GroupLeaving, "the group is being deleted; the claim is an orphan once it is gone"
	case apimeta.IsStatusConditionTrue(conditions, v1alpha1.ConditionDegraded):
		return GaveUp, told(v1alpha1.ConditionDegraded)
	case apimeta.IsStatusConditionTrue(conditions, v1alpha1.ConditionBackingOff):
		return BetweenAttempts, told(v1alpha1.ConditionBackingOff)
	case apimeta.IsStatusConditionFalse(conditions, v1alpha1.ConditionAccepted):
		return NotAccepted, told(v1alpha1.ConditionAccepted)
	case failures > 0:
		return BetweenAttempts, fmt.Sprintf("%d failed starts in a row, the last at %s", failures, stamp(group.Status.LastFailureAt))
	case group.Status.LastDecision != "":
		return Due, "not made yet; last decision: " + group.Status.LastDecision
	}
	return Due, "not made yet, and the operator has not said why: does it run?"
}

func stamp(at *metav1.Time) string {
	if at == nil {
		return "an unknown time"
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}

// UseState is whether a pod uses a claim.
type UseState string

const (
	// UseUnknown: Kubernetes does not say it. It does from 1.37 on, and 1.36
	// can be told to.
	UseUnknown UseState = "Unknown"
	// InUse claims are in a pod that has not ended.
	InUse UseState = "InUse"
	// Unused claims are in no pod, or only in pods that have ended.
	Unused UseState = "Unused"
)

// Use is what Kubernetes says about the use of a claim, by the condition
// Unused.
type Use struct {
	State UseState `json:"state"`
	// Since is when an Unused claim was last used, and when one InUse was taken
	// into use. Where Kubernetes began to watch later than that, it is when it
	// began.
	Since *metav1.Time `json:"since,omitempty"`
}

func useOf(claim *corev1.PersistentVolumeClaim) Use {
	for _, condition := range claim.Status.Conditions {
		if condition.Type != corev1.PersistentVolumeClaimUnused {
			continue
		}
		since := condition.LastTransitionTime
		switch condition.Status {
		case corev1.ConditionTrue:
			return Use{Unused, &since}
		case corev1.ConditionFalse:
			return Use{InUse, &since}
		case corev1.ConditionUnknown:
		}
	}
	return Use{State: UseUnknown}
}
