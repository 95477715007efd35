// SPDX-License-Identifier: Apache-2.0

// Package manager runs the real manager, as the account its manifests give it,
// against a real API server, and reads in the audit log what it did.
package manager

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/rbacaudit"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	ownNamespace = "spawnery-system"
	account      = "spawnery-manager"
	user         = "system:serviceaccount:" + ownNamespace + ":" + account

	// patience is long for what takes seconds, on a machine that is busy.
	patience = time.Minute
)

func TestManagerDoesWhatItMayAndNothingElse(t *testing.T) {
	g := gomega.NewWithT(t)
	env := testenv.Start(t)
	create(t, env, "config/manager/namespace.yaml", "config/rbac/service_account.yaml",
		"config/rbac/role.yaml", "config/rbac/role_binding.yaml")
	manager := start(t, env)

	create(t, env, "config/samples/namespace.yaml", "config/samples/network.yaml", "config/samples/proxygroup.yaml",
		"config/samples/servergroup_hub.yaml", "config/samples/servergroup_survival.yaml", "config/samples/scaleboost.yaml")
	eventually(g, func() []string { return names(t, env, &v1alpha1.ServerList{}, "hub") }).Should(gomega.HaveLen(4), "two servers, and two of the boost")
	eventually(g, func() []string { return names(t, env, &v1alpha1.ServerList{}, "survival") }).Should(gomega.ConsistOf("survival-0", "survival-1"))
	eventually(g, func() []string { return names(t, env, &corev1.PersistentVolumeClaimList{}, "survival") }).
		Should(gomega.ConsistOf("survival-0-data", "survival-1-data"))
	eventually(g, func() []string { return names(t, env, &corev1.PodList{}, "") }).Should(gomega.HaveLen(8), "a pod for each of six servers, and two proxies")
	eventually(g, func() error { return get(t, env, "edge-proxy", &corev1.Service{}) }).Should(gomega.Succeed())
	eventually(g, func() error { return get(t, env, "production-forwarding", &corev1.Secret{}) }).Should(gomega.Succeed())

	// A smaller group gives its highest world's pod back, and keeps the world.
	edit(t, env, "survival", func(survival *v1alpha1.ServerGroup) { survival.Spec.Replicas = new(int32(1)) })
	eventually(g, func() []string { return names(t, env, &v1alpha1.ServerList{}, "survival") }).Should(gomega.ConsistOf("survival-0"))
	g.Expect(names(t, env, &corev1.PersistentVolumeClaimList{}, "survival")).To(gomega.HaveLen(2))

	g.Expect(manager.Process.Signal(syscall.SIGTERM)).To(gomega.Succeed())
	g.Expect(manager.Wait()).To(gomega.Succeed(), "it ends when it is told to")
	lease := &unstructured.Unstructured{}
	lease.SetAPIVersion("coordination.k8s.io/v1")
	lease.SetKind("Lease")
	g.Expect(env.Client.Get(t.Context(), client.ObjectKey{Namespace: ownNamespace, Name: account}, lease)).To(gomega.Succeed())
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	g.Expect(holder).To(gomega.BeEmpty(), "the lease is released for the next")

	audit(t, env.Calls(t, user))
}

// audit compares what was done with what is allowed.
func audit(t *testing.T, calls []testenv.Call) {
	t.Helper()
	if len(calls) == 0 {
		t.Fatal("no call of the manager in the audit log")
	}
	may := map[rbacaudit.Grant]bool{}
	for _, grant := range rbacaudit.Grants(rbacaudit.Required()) {
		grant.Scope = ""
		may[grant] = false
	}
	for _, call := range calls {
		if call.Forbidden {
			t.Errorf("forbidden: %+v", call)
		}
		grant := rbacaudit.Grant{Group: call.Group, Resource: call.Resource, Verb: call.Verb}
		if call.Subresource != "" {
			grant.Resource += "/" + call.Subresource
		}
		named := grant
		named.Name = call.Name
		for _, candidate := range []rbacaudit.Grant{grant, named} {
			if _, known := may[candidate]; known {
				may[candidate] = true
			}
		}
		if !may[grant] && !may[named] {
			t.Errorf("done and not required: %+v", call)
		}
	}
	for grant, used := range may {
		if !used {
			t.Logf("not used by this test: %s", grant)
		}
	}
}

// start builds the manager and runs it as its account.
func start(t *testing.T, env *testenv.Env) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = testenv.Path(t)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, output)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "manager.log"))
	if err != nil {
		t.Fatal(err)
	}
	manager := exec.CommandContext(t.Context(), binary, "--leader-elect", "--namespace="+ownNamespace,
		"--operator-image=spawnery.test/operator:dev", "--health-probe-bind-address=0",
		"--agent-bind-address=127.0.0.1:0", "--agent-endpoint=127.0.0.1:9")
	manager.Env = append(os.Environ(), "KUBECONFIG="+testenv.Kubeconfig(t, env.AsServiceAccount(ownNamespace, account)))
	manager.Stdout, manager.Stderr = log, log
	if err := manager.Start(); err != nil {
		t.Fatalf("starting the manager: %v", err)
	}
	t.Cleanup(func() {
		if manager.ProcessState == nil {
			_ = manager.Process.Kill()
			_ = manager.Wait()
		}
		if content, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the manager said:\n%s", content)
		}
	})
	return manager
}

func create(t *testing.T, env *testenv.Env, files ...string) {
	t.Helper()
	for _, file := range files {
		for _, manifest := range testenv.ReadManifests(t, testenv.Path(t, file)) {
			if err := env.Client.Create(t.Context(), manifest); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

func eventually[T any](g *gomega.WithT, see func() T) gomega.AsyncAssertion {
	return g.Eventually(see).WithTimeout(patience).WithPolling(200 * time.Millisecond)
}

func get(t *testing.T, env *testenv.Env, name string, object client.Object) error {
	t.Helper()
	return env.Client.Get(t.Context(), client.ObjectKey{Namespace: "minecraft", Name: name}, object)
}

// edit changes a group as its owner does, beside a manager that writes the
// group's status meanwhile: a patch says what changes and conflicts with nothing.
func edit(t *testing.T, env *testenv.Env, name string, change func(*v1alpha1.ServerGroup)) {
	t.Helper()
	group := &v1alpha1.ServerGroup{}
	if err := get(t, env, name, group); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	before := group.DeepCopy()
	change(group)
	if err := env.Client.Patch(t.Context(), group, client.MergeFrom(before)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// names lists the objects of a group, or of all groups.
func names(t *testing.T, env *testenv.Env, list client.ObjectList, group string) []string {
	t.Helper()
	options := []client.ListOption{client.InNamespace("minecraft")}
	if group != "" {
		options = append(options, client.MatchingLabels{"spawnery.cloud/group": group})
	}
	if err := env.Client.List(t.Context(), list, options...); err != nil {
		t.Fatal(err)
	}
	items, err := apimeta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, item := range items {
		accessor, err := apimeta.Accessor(item)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, accessor.GetName())
	}
	return found
}
