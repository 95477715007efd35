// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// maxNote is the longest note the events API takes, in bytes.
const maxNote = 1024

// Tell emits one event for each flank that an owner wants to hear of: trouble
// that begins, and trouble that ends. What is well from the start is no news.
func (s *Set) Tell(recorder events.EventRecorder, object runtime.Object) {
	for _, flank := range s.Flanks() {
		kind := corev1.EventTypeNormal
		if troubles(flank.Now) {
			kind = corev1.EventTypeWarning
		} else if flank.Was.Type == "" {
			continue
		}
		recorder.Eventf(object, nil, kind, flank.Now.Reason, flank.Now.Type, "%s", Note(flank.Now.Message))
	}
}

// Note cuts a sentence to what an event can hold, at a character's boundary.
func Note(sentence string) string {
	if len(sentence) <= maxNote {
		return sentence
	}
	end := maxNote
	for !utf8.RuneStart(sentence[end]) {
		end--
	}
	return sentence[:end]
}

// failures are the reasons of a server that needs somebody to look at it. That
// one is not ready yet, or no more, is its ordinary life.
var failures = map[string]bool{
	v1alpha1.ReasonPrepareFailed: true, v1alpha1.ReasonStartupTimeout: true, v1alpha1.ReasonRecoveryTimeout: true,
	v1alpha1.ReasonFlapping: true, v1alpha1.ReasonUnresponsive: true, v1alpha1.ReasonGameExited: true,
	v1alpha1.ReasonOutOfMemory: true,
}

// troubles tells whether a condition is one that somebody has to look at.
func troubles(condition metav1.Condition) bool {
	switch condition.Type {
	case v1alpha1.ConditionBackingOff, v1alpha1.ConditionDegraded, v1alpha1.ConditionScalingLimited:
		return condition.Status == metav1.ConditionTrue
	case v1alpha1.ConditionChannelDegraded, v1alpha1.ConditionClientAddressHidden, v1alpha1.ConditionNodeDraining:
		return condition.Status == metav1.ConditionTrue
	case v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable:
		return false
	case v1alpha1.ConditionReady:
		return failures[condition.Reason]
	}
	return condition.Status == metav1.ConditionFalse
}
