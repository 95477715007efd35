// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/catalogue"
)

// reached are the conditions that any pass of any suite has left in a status,
// as rows of the catalogue.
type reached map[string]bool

func row(kind, conditionType string, status metav1.ConditionStatus, reason string) string {
	return strings.Join([]string{kind, conditionType, string(status), reason}, " ")
}

// look notes what an object's status says.
func (r reached) look(object client.Object) {
	kind := reflect.TypeOf(object).Elem().Name()
	for _, c := range conditionsOf(object) {
		r[row(kind, c.Type, c.Status, c.Reason)] = true
	}
}

func conditionsOf(object client.Object) []metav1.Condition {
	switch object := object.(type) {
	case *v1alpha1.Network:
		return object.Status.Conditions
	case *v1alpha1.ProxyGroup:
		return object.Status.Conditions
	case *v1alpha1.ServerGroup:
		return object.Status.Conditions
	case *v1alpha1.Server:
		return object.Status.Conditions
	}
	return nil
}

// whole compares what was reached with the catalogue. It comes after all
// suites: what owners are told of happens, and nothing else does.
func (r reached) whole(t *testing.T) {
	for _, entry := range catalogue.Conditions() {
		key := row(entry.Kind, entry.Type, entry.Status, entry.Reason)
		if !r[key] {
			t.Errorf("no pass reaches: %s (%s)", key, entry.Means)
		}
		delete(r, key)
	}
	for key := range r {
		t.Errorf("not in the catalogue: %s", key)
	}
}
