// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Deed is what a group does with one of its members, in the words of an event.
type Deed struct{ Reason, Action string }

// Member is a server or a proxy of a group.
type Member interface {
	runtime.Object
	metav1.Object
}

// Tell says what was done, once it is done: to the log, and to whoever
// describes the group.
func (d Deed) Tell(ctx context.Context, recorder events.EventRecorder, group runtime.Object, member Member, why string) {
	logr.FromContextOrDiscard(ctx).Info(d.Reason, "member", member.GetName(), "why", why)
	recorder.Eventf(group, member, corev1.EventTypeNormal, d.Reason, d.Action, "%s", noteOn(member.GetName(), why))
}

// TellOf is Tell about a part of a member. Events that differ in nothing but
// their notes are counted as one, which keeps the first note: what is to be read
// later needs a part of its own.
func (d Deed) TellOf(ctx context.Context, recorder events.EventRecorder, group runtime.Object, part *corev1.ObjectReference, why string) {
	logr.FromContextOrDiscard(ctx).Info(d.Reason, "member", part.Name, "part", part.FieldPath, "why", why)
	recorder.Eventf(group, part, corev1.EventTypeNormal, d.Reason, d.Action, "%s", noteOn(part.Name, why))
}

// noteOn is the note about a member; it begins with the member's name.
func noteOn(name, why string) string {
	if strings.HasPrefix(why, name+" ") {
		return Note(why)
	}
	return Note(name + ": " + why)
}
