// SPDX-License-Identifier: Apache-2.0

// Package admission shows a real API server what podspec renders, in a
// namespace that admits restricted pods only.
package admission_test

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	namespace     = "minecraft"
	operatorImage = "images.test/spawnery-operator:v1.2.3"
)

func TestARestrictedNamespaceAdmitsEverythingRendered(t *testing.T) {
	env := testenv.Start(t)
	create(t, env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   namespace,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
	create(t, env, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "worlds"}})
	for _, account := range podspec.BuildServiceAccounts(namespace) {
		create(t, env, account)
	}
	create(t, env, podspec.BuildChannelConfig(namespace, podspec.Channel{Endpoint: "manager.test:9443"}))
	create(t, env, podspec.BuildForwardingSecret(namespace, "production", []byte("not-so-secret")))

	network := load[v1alpha1.Network](t, "network")
	for _, name := range []string{"lobby", "survival", "modded", "classic"} {
		t.Run(name, func(t *testing.T) { admitServers(t, env, network, name) })
	}
	for _, name := range []string{"front", "edge"} {
		t.Run(name, func(t *testing.T) { admitProxies(t, env, network, name) })
	}
}

func admitServers(t *testing.T, env *testenv.Env, network *v1alpha1.Network, name string) {
	written, group := load[v1alpha1.ServerGroup](t, name), load[v1alpha1.ServerGroup](t, name)
	create(t, env, group)
	before, after := podspec.Digest(podspec.ResolveServer(network, written)), podspec.Digest(podspec.ResolveServer(network, group))
	if before != after {
		t.Errorf("the digest is %s as written and %s as the API server filled it in", before, after)
	}
	if err := podspec.ValidateMounts(group); err != nil {
		t.Errorf("its mounts are refused: %v", err)
	}
	create(t, env, podspec.BuildServerBudget(group, 1))
	server := serverOf(group)
	if server.Spec.Ordinal != nil {
		create(t, env, podspec.BuildDataClaim(group, *server.Spec.Ordinal))
	}
	create(t, env, server)
	pod, err := podspec.BuildServerPod(podspec.ResolveServer(network, group), podspec.Runtime{
		Server: server, OperatorImage: operatorImage, StopToken: "a-stop-token",
	})
	if err != nil {
		t.Fatal(err)
	}
	create(t, env, pod)
}

func serverOf(group *v1alpha1.ServerGroup) *v1alpha1.Server {
	server := &v1alpha1.Server{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       group.Namespace,
			Name:            podspec.EphemeralServerName(group.Name, func(int) int { return 1 }),
			OwnerReferences: []metav1.OwnerReference{podspec.ControlledBy(podspec.KindServerGroup, group)},
			Finalizers:      []string{v1alpha1.FinalizerDrain},
		},
		Spec: v1alpha1.ServerSpec{
			GroupRef:   v1alpha1.GroupReference{Name: group.Name},
			NetworkRef: group.Spec.NetworkRef,
		},
	}
	if !group.IsEphemeral() {
		server.Name, server.Spec.Ordinal = podspec.PersistentServerName(group.Name, 0), new(int32(0))
	}
	return server
}

func admitProxies(t *testing.T, env *testenv.Env, network *v1alpha1.Network, name string) {
	group := load[v1alpha1.ProxyGroup](t, name)
	create(t, env, group)
	create(t, env, podspec.BuildService(group))
	create(t, env, podspec.BuildProxyBudget(group, 1))
	create(t, env, podspec.BuildProxyPod(podspec.ResolveProxy(network, group), podspec.ProxyRuntime{
		Group:         group,
		Name:          podspec.ProxyPodName(name, func(int) int { return 1 }),
		OperatorImage: operatorImage,
	}))
}

func create(t *testing.T, env *testenv.Env, object client.Object) {
	t.Helper()
	if err := env.Client.Create(t.Context(), object); err != nil {
		t.Errorf("%T %s: %v", object, object.GetName(), err)
	}
}

func load[T any](t *testing.T, name string) *T {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "testdata", "manifests", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := yaml.UnmarshalStrict(content, object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}
