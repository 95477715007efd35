// SPDX-License-Identifier: Apache-2.0

package scaleboost

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

var now = time.Date(2026, 9, 19, 23, 0, 0, 0, time.UTC)

func expired(ago time.Duration, edits ...func(*v1alpha1.ScaleBoost)) *v1alpha1.ScaleBoost {
	boost := &v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}}
	boost.Spec = v1alpha1.ScaleBoostSpec{
		GroupRef: v1alpha1.GroupReference{Name: "hub"}, Replicas: new(int32(2)), ExpiresAt: new(metav1.NewTime(now.Add(-ago))),
	}
	for _, edit := range edits {
		edit(boost)
	}
	return boost
}

func ours(boost *v1alpha1.ScaleBoost) { boost.Labels = podspec.ManagedLabels() }

func forever(boost *v1alpha1.ScaleBoost) { boost.Spec.ExpiresAt = nil }

func label(key, value string) func(*v1alpha1.ScaleBoost) {
	return func(boost *v1alpha1.ScaleBoost) { boost.Labels[key] = value }
}

func annotation(key, value string) func(*v1alpha1.ScaleBoost) {
	return func(boost *v1alpha1.ScaleBoost) { boost.Annotations[key] = value }
}

func TestWhichBoostsGoAndWhen(t *testing.T) {
	const long = 30 * 24 * time.Hour
	tests := map[string]struct {
		boost *v1alpha1.ScaleBoost
		want  bool
	}{
		"one of the operator's goes at its expiry":    {expired(0, ours), true},
		"and not a second before":                     {expired(-time.Second, ours), false},
		"one made by hand stays for a day":            {expired(24*time.Hour - time.Second), false},
		"and then goes":                               {expired(24 * time.Hour), true},
		"one that never expires stays":                {expired(0, forever), false},
		"also one of the operator's":                  {expired(0, ours, forever), false},
		"one on its way out is left alone":            {expired(long, func(b *v1alpha1.ScaleBoost) { b.DeletionTimestamp = new(metav1.NewTime(now)) }), false},
		"kubectl apply tracks nothing":                {expired(long, annotation("kubectl.kubernetes.io/last-applied-configuration", "{}")), true},
		"Argo CD's annotation":                        {expired(long, annotation("argocd.argoproj.io/tracking-id", "games:spawnery.cloud/ScaleBoost:minecraft/friday")), false},
		"Argo CD's label":                             {expired(long, label("app.kubernetes.io/instance", "games")), false},
		"Argo CD's own label":                         {expired(long, label("argocd.argoproj.io/instance", "games")), false},
		"Flux's kustomization":                        {expired(long, label("kustomize.toolkit.fluxcd.io/name", "games")), false},
		"Flux's Helm release":                         {expired(long, label("helm.toolkit.fluxcd.io/name", "games")), false},
		"Helm's annotation":                           {expired(long, annotation("meta.helm.sh/release-name", "games")), false},
		"Helm's label":                                {expired(long, label("app.kubernetes.io/managed-by", "Helm")), false},
		"one of the operator's that a tool took over": {expired(long, ours, label("kustomize.toolkit.fluxcd.io/name", "games")), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := due(tt.boost, now); got != tt.want {
				t.Errorf("due = %v, want %v", got, tt.want)
			}
		})
	}
}
