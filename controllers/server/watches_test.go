// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func woken(name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "minecraft", Name: name}}}
}

// So a Server that waits for its name is woken the moment its holder goes, where
// the cache shows that.
func TestAPodWakesTheServerOfItsNameWhoeverMadeIt(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: "survival-0"}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Server", Name: "survival-0", UID: "of a Server that is gone"}}
	if diff := cmp.Diff(woken("survival-0"), sameName(t.Context(), pod)); diff != "" {
		t.Errorf("wakes (-want +got):\n%s", diff)
	}
}

func TestAClaimWakesTheServerThatMountsItByItsName(t *testing.T) {
	tests := map[string]struct {
		claim  string
		labels map[string]string
		want   []reconcile.Request
	}{
		"one of ours":               {"survival-12-data", map[string]string{podspec.LabelServer: "survival-12"}, woken("survival-12")},
		"one that was handed over":  {"survival-0-data", nil, woken("survival-0")},
		"whatever its labels say":   {"survival-0-data", map[string]string{podspec.LabelServer: "other"}, woken("survival-0")},
		"one that no server mounts": {"backup", map[string]string{podspec.LabelServer: "survival-0"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: tt.claim, Labels: tt.labels}}
			if diff := cmp.Diff(tt.want, ofClaim(t.Context(), claim)); diff != "" {
				t.Errorf("wakes (-want +got):\n%s", diff)
			}
		})
	}
}
