// SPDX-License-Identifier: Apache-2.0

package servergroup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/controllers/servergroup"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func builder(t *testing.T) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme)
}

// scraped are the series of a registry with the collector of that reader, one
// a line, and what Prometheus' own linter says of them.
func scraped(t *testing.T, reader client.Reader, elected <-chan struct{}) ([]string, error) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(&servergroup.Collector{Context: t.Context(), Reader: reader, Elected: elected}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	var lines []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			lines = append(lines, fmt.Sprintf("%s{%s} %.0f", family.GetName(), strings.Join(labels, ","), metric.GetGauge().GetValue()))
		}
	}
	slices.Sort(lines)
	problems, lintErr := promlint.NewWithMetricFamilies(families).Lint()
	if len(problems) > 0 || lintErr != nil {
		t.Errorf("Prometheus' conventions: %v %v", problems, lintErr)
	}
	return lines, err
}

func leads() <-chan struct{} {
	elected := make(chan struct{})
	close(elected)
	return elected
}

func persistent(name string, replicas int32) *v1alpha1.ServerGroup {
	made := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: name}}
	made.Spec.Type, made.Spec.Replicas = v1alpha1.GroupPersistent, &replicas
	return made
}

func dataClaim(name, capacity string) *corev1.PersistentVolumeClaim {
	made := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: name, Labels: podspec.ManagedLabels()}}
	if capacity != "" {
		made.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
	}
	return made
}

func TestSeriesFollowTheObjectsTheyAreAbout(t *testing.T) {
	broken := persistent("survival", 2)
	broken.Status.ConsecutiveFailures = new(int32(6))
	broken.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue}}
	lobby := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: "lobby"}}
	lobby.Spec.Type = v1alpha1.GroupEphemeral
	stands := &v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: "survival-0"}}
	stands.Spec.GroupRef.Name, stands.Spec.Ordinal = "survival", new(int32(0))
	foreign := dataClaim("survival-9-data", "1Gi")
	foreign.Labels = nil
	last := dataClaim("creative-0-data", "1Gi")
	cluster := builder(t).WithObjects(broken, lobby, stands, last, foreign,
		dataClaim("survival-0-data", "1Gi"), dataClaim("survival-1-data", "1Gi"),
		dataClaim("survival-2-data", "2Ki"), dataClaim("survival-3-data", "1Ki"), dataClaim("survival-4-data", "")).Build()

	groups := []string{
		`spawnery_orphaned_claims_capacity_bytes{group="survival",namespace="minecraft"} 3072`,
		`spawnery_orphaned_claims{group="survival",namespace="minecraft"} 3`,
		`spawnery_servergroup_consecutive_failures{group="lobby",namespace="minecraft",type="Ephemeral"} 0`,
		`spawnery_servergroup_consecutive_failures{group="survival",namespace="minecraft",type="Persistent"} 6`,
		`spawnery_servergroup_degraded{group="lobby",namespace="minecraft",type="Ephemeral"} 0`,
		`spawnery_servergroup_degraded{group="survival",namespace="minecraft",type="Persistent"} 1`,
		`spawnery_waiting_ordinals{group="survival",namespace="minecraft"} 1`,
	}
	gone := []string{
		`spawnery_orphaned_claims_capacity_bytes{group="creative",namespace="minecraft"} 1073741824`,
		`spawnery_orphaned_claims{group="creative",namespace="minecraft"} 1`,
	}
	sees := func(want ...string) {
		t.Helper()
		slices.Sort(want)
		got, err := scraped(t, cluster, leads())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v -want +got:\n%s", err, diff)
		}
	}
	sees(append(gone, groups...)...)
	remove := func(object client.Object) {
		t.Helper()
		if err := cluster.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	remove(last)
	sees(groups...)
	remove(broken)
	remove(stands)
	sees(groups[2], groups[4],
		`spawnery_orphaned_claims_capacity_bytes{group="survival",namespace="minecraft"} 2147486720`,
		`spawnery_orphaned_claims{group="survival",namespace="minecraft"} 5`)
}

func TestAPersistentGroupWithNothingLeftOverHasZeros(t *testing.T) {
	got, err := scraped(t, builder(t).WithObjects(persistent("survival", 0)).Build(), leads())
	want := []string{
		`spawnery_orphaned_claims_capacity_bytes{group="survival",namespace="minecraft"} 0`,
		`spawnery_orphaned_claims{group="survival",namespace="minecraft"} 0`,
		`spawnery_servergroup_consecutive_failures{group="survival",namespace="minecraft",type="Persistent"} 0`,
		`spawnery_servergroup_degraded{group="survival",namespace="minecraft",type="Persistent"} 0`,
		`spawnery_waiting_ordinals{group="survival",namespace="minecraft"} 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v -want +got:\n%s", err, diff)
	}
	var names []string
	for _, line := range want {
		name, _, _ := strings.Cut(line, "{")
		names = append(names, name)
	}
	for _, metric := range servergroup.Metrics() {
		if !slices.Contains(names, metric.Name) {
			t.Errorf("%s is told of and never collected", metric.Name)
		}
	}
}

func TestAManagerThatStandsByTellsNothing(t *testing.T) {
	got, err := scraped(t, builder(t).WithObjects(persistent("survival", 1)).Build(), make(chan struct{}))
	if len(got) > 0 || err != nil {
		t.Errorf("%v %v", got, err)
	}
}

func TestAScrapeThatCannotReadFails(t *testing.T) {
	broken := builder(t).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache has not filled")
		},
	}).Build()
	got, err := scraped(t, broken, leads())
	if err == nil || !strings.Contains(err.Error(), "the cache has not filled") || len(got) > 0 {
		t.Errorf("%v %v", got, err)
	}
}
