// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/inventory"
	"github.com/spawnery/spawnery-operator/internal/inventory/live"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// person is somebody with exactly the permissions that are bound to the name.
func person(t *testing.T, env *testenv.Env, name string) client.Reader {
	t.Helper()
	config := rest.CopyConfig(env.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	reader, err := client.New(config, client.Options{Scheme: env.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

func create(t *testing.T, env *testenv.Env, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := env.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// shippedRoles installs what config/rbac has for people, and waits until
// Kubernetes has added it to its own role view.
func shippedRoles(t *testing.T, env *testenv.Env) {
	t.Helper()
	env.StartControllers(t, "clusterrole-aggregation-controller")
	for _, role := range testenv.ReadManifests(t, testenv.Path(t, "config/rbac/user_roles.yaml")) {
		create(t, env, role)
	}
	gomega.NewWithT(t).Eventually(func() []string {
		var view rbacv1.ClusterRole
		if err := env.Client.Get(t.Context(), client.ObjectKey{Name: "view"}, &view); err != nil {
			return []string{err.Error()}
		}
		var resources []string
		for _, rule := range view.Rules {
			resources = append(resources, rule.Resources...)
		}
		return resources
	}, time.Minute).Should(gomega.ContainElements("servergroups", "persistentvolumeclaims"))
}

func bind(t *testing.T, env *testenv.Env, namespace, user string, roles ...string) {
	t.Helper()
	for _, role := range roles {
		create(t, env, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	}
}

func claim(namespace, name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	made := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	made.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	made.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return made
}

// onlyClaims is less than what is needed, and has no namespaces.
var onlyClaims = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"list"}}}

func orphansOf(ctx context.Context, t *testing.T, reader client.Reader, namespace string) []string {
	t.Helper()
	taken, err := live.Take(ctx, reader, namespace)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, orphan := range taken.Of(inventory.Orphaned) {
		names = append(names, orphan.Namespace+"/"+orphan.Name)
	}
	return names
}

func TestWhoeverMayViewANamespaceMayTakeItsInventory(t *testing.T) {
	env := testenv.Start(t)
	shippedRoles(t, env)
	here, elsewhere := env.Namespace(t), env.Namespace(t)
	for _, namespace := range []string{here, elsewhere} {
		create(t, env, claim(namespace, "gone-0-data", podspec.ManagedLabels()), claim(namespace, "theirs-0-data", nil))
	}
	bind(t, env, here, "anna", "view")

	t.Run("of that namespace", func(t *testing.T) {
		if got := orphansOf(t.Context(), t, person(t, env, "anna"), here); !slices.Equal(got, []string{here + "/gone-0-data"}) {
			t.Errorf("orphans: %v", got)
		}
	})
	t.Run("and of no other", func(t *testing.T) {
		for namespace, want := range map[string]string{
			elsewhere: "whoever has the ClusterRole view in namespace " + elsewhere + " may, by a RoleBinding there: list persistentvolumeclaims in namespace " + elsewhere,
			"":        "whoever has the ClusterRole view in any namespace may, by a ClusterRoleBinding: list persistentvolumeclaims in any namespace",
		} {
			if _, err := live.Take(t.Context(), person(t, env, "anna"), namespace); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nwant %s", err, want)
			}
		}
	})
	t.Run("an administrator sees all", func(t *testing.T) {
		got := orphansOf(t.Context(), t, env.Client, "")
		if len(got) != 2 {
			t.Errorf("orphans: %v", got)
		}
	})
	t.Run("half the permissions do not do", func(t *testing.T) {
		create(t, env, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "claims"}, Rules: onlyClaims})
		bind(t, env, here, "bert", "claims")
		_, err := live.Take(t.Context(), person(t, env, "bert"), here)
		if err == nil || !strings.Contains(err.Error(), "list servers.spawnery.cloud in namespace "+here) {
			t.Error(err)
		}
	})
	t.Run("it only gets and lists", func(t *testing.T) {
		orphansOf(t.Context(), t, person(t, env, "anna"), here)
		var used []string
		for _, call := range env.Calls(t, "anna") {
			used = append(used, call.Verb+" "+call.Resource)
		}
		slices.Sort(used)
		want := []string{"list persistentvolumeclaims", "list servergroups", "list servers"}
		if got := slices.Compact(used); !slices.Equal(got, want) {
			t.Errorf("it has used %v, want %v", got, want)
		}
	})
}

func TestANamespaceWithoutAnythingIsToldFromNone(t *testing.T) {
	env := testenv.Start(t)
	shippedRoles(t, env)
	empty := env.Namespace(t)
	bind(t, env, empty, "anna", "view")
	if got := orphansOf(t.Context(), t, person(t, env, "anna"), empty); len(got) > 0 {
		t.Errorf("orphans: %v", got)
	}
	_, err := live.Take(t.Context(), env.Client, "nowhere")
	if want := "there is no namespace nowhere"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	t.Run("whoever may list and not get namespaces is told of nothing", func(t *testing.T) {
		create(t, env, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "claims"}, Rules: onlyClaims})
		bind(t, env, empty, "carl", "claims", "spawnery-viewer")
		if got := orphansOf(t.Context(), t, person(t, env, "carl"), empty); len(got) > 0 {
			t.Errorf("orphans: %v", got)
		}
	})
}

func TestWithoutOurKindsNobodyCanSay(t *testing.T) {
	env := testenv.StartWith(t)
	namespace := env.Namespace(t)
	create(t, env, claim(namespace, "gone-0-data", podspec.ManagedLabels()))
	_, err := live.Take(t.Context(), env.Client, namespace)
	want := "this cluster does not know the kinds of Spawnery, so nobody can say which claims are needed; install them, " +
		"or look at all claims an operator made: kubectl get pvc -A -l spawnery.cloud/managed-by=spawnery-operator"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}
