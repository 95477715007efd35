// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func TestAManifestMeansTheSameBeforeAndAfterTheAPIServerFilledItIn(t *testing.T) {
	network := load[v1alpha1.Network](t, "network")
	schema := specSchema(t, "servergroups")
	for _, name := range []string{"lobby", "survival", "modded", "classic"} {
		t.Run(name, func(t *testing.T) {
			written := load[v1alpha1.ServerGroup](t, name)
			filled := written.DeepCopy()
			filled.Spec = defaulted(t, schema, written.Spec)
			if filled.Spec.Server.DataDir == "" || filled.Spec.TerminationGracePeriodSeconds == 0 {
				t.Fatal("nothing was filled in")
			}
			compare(t,
				podspec.Digest(podspec.ResolveServer(network, written)),
				podspec.Digest(podspec.ResolveServer(network, filled)))
			compare(t, encode(t, serverPod(t, network, written)), encode(t, serverPod(t, network, filled)))
		})
	}
}

func TestAFieldWrittenAtItsDefaultContributesNothing(t *testing.T) {
	tests := map[string]func(*v1alpha1.Network, *v1alpha1.ServerGroup){
		"the operator's own secret": func(n *v1alpha1.Network, _ *v1alpha1.ServerGroup) {
			n.Spec.ForwardingSecretRef.Name = "production-forwarding"
		},
		"online mode, before it is in force": func(n *v1alpha1.Network, _ *v1alpha1.ServerGroup) {
			n.Status.OnlineMode = nil
		},
		"no defaults": func(n *v1alpha1.Network, _ *v1alpha1.ServerGroup) {
			n.Spec.Defaults = &v1alpha1.NetworkDefaults{
				Resources: &corev1.ResourceRequirements{}, Scheduling: &v1alpha1.Scheduling{}, User: &v1alpha1.ServerUser{},
			}
		},
		"no choices": func(_ *v1alpha1.Network, g *v1alpha1.ServerGroup) {
			g.Spec.Env, g.Spec.Mounts = []v1alpha1.EnvVar{}, []v1alpha1.Mount{}
			g.Spec.Server.Properties = map[string]string{}
			g.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{}}
			g.Spec.Scheduling = &v1alpha1.Scheduling{}
		},
		"no choices of where to run": func(_ *v1alpha1.Network, g *v1alpha1.ServerGroup) {
			g.Spec.Scheduling = &v1alpha1.Scheduling{
				NodeSelector: map[string]string{}, Tolerations: []corev1.Toleration{}, Affinity: &corev1.Affinity{},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{},
			}
		},
		"the usual user": func(_ *v1alpha1.Network, g *v1alpha1.ServerGroup) {
			g.Spec.Server.User = &v1alpha1.ServerUser{Policy: v1alpha1.UserFixed, UID: 1000, GID: 1000, FSGroup: 1000}
		},
	}
	want := podspec.Digest(podspec.ResolveServer(load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "lobby")))
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "lobby")
			change(network, group)
			compare(t, want, podspec.Digest(podspec.ResolveServer(network, group)))
		})
	}
}

func TestTheSameChoiceInOtherWordsIsTheSame(t *testing.T) {
	tests := map[string]func(*v1alpha1.ServerGroup){
		"amounts in another notation": func(g *v1alpha1.ServerGroup) {
			g.Spec.Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("4096Mi")}
			g.Spec.Resources.Requests = corev1.ResourceList{
				"memory": resource.MustParse("4294967296"), "cpu": resource.MustParse("2000m"),
			}
		},
		"mounts in another order": func(g *v1alpha1.ServerGroup) {
			g.Spec.Mounts[0], g.Spec.Mounts[1] = g.Spec.Mounts[1], g.Spec.Mounts[0]
		},
		"a group that is left out": func(g *v1alpha1.ServerGroup) { g.Spec.Server.User.GID = 1000 },
	}
	network := load[v1alpha1.Network](t, "network")
	want := podspec.Digest(podspec.ResolveServer(network, load[v1alpha1.ServerGroup](t, "survival")))
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			group := load[v1alpha1.ServerGroup](t, "survival")
			change(group)
			compare(t, want, podspec.Digest(podspec.ResolveServer(network, group)))
		})
	}
}

func TestPullSecretsInAnotherOrderAreTheSame(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "lobby")
	defaults(network).ImagePullSecrets = []v1alpha1.LocalReference{{Name: "a"}, {Name: "b"}}
	want := podspec.Digest(podspec.ResolveServer(network, group))
	defaults(network).ImagePullSecrets = []v1alpha1.LocalReference{{Name: "b"}, {Name: "a"}}
	compare(t, want, podspec.Digest(podspec.ResolveServer(network, group)))
}

func TestAGroupsOwnValueReplacesANetworksDefaultAsAWhole(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network-chosen"), load[v1alpha1.ServerGroup](t, "survival")
	pod := serverPod(t, network, group)
	game := pod.Spec.Containers[0]
	compare(t, encode(t, group.Spec.Resources), encode(t, game.Resources))
	compare(t, group.Spec.Scheduling.NodeSelector, pod.Spec.NodeSelector)
	compare(t, new(int64(10001)), pod.Spec.SecurityContext.RunAsUser)
	compare(t, []corev1.LocalObjectReference{{Name: "registry"}}, pod.Spec.ImagePullSecrets)
}

func TestTheModeInForceCountsAndNotTheOneThatIsAskedFor(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "lobby")
	want := podspec.Digest(podspec.ResolveServer(network, group))
	network.Spec.OnlineMode = new(false)
	compare(t, want, podspec.Digest(podspec.ResolveServer(network, group)))
}

// specSchema is the schema of spec in a kind's CustomResourceDefinition.
func specSchema(t *testing.T, plural string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "spawnery.cloud_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &definition); err != nil {
		t.Fatal(err)
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// defaulted is what the API server makes of a manifest.
func defaulted[T any](t *testing.T, schema apiextensionsv1.JSONSchemaProps, object T) T {
	t.Helper()
	var value any
	decode(t, []byte(encode(t, object)), &value)
	fill(t, schema, value)
	var result T
	decode(t, []byte(encode(t, value)), &result)
	return result
}

func fill(t *testing.T, schema apiextensionsv1.JSONSchemaProps, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, property := range schema.Properties {
			if _, there := value[name]; !there && property.Default != nil {
				var byDefault any
				decode(t, property.Default.Raw, &byDefault)
				value[name] = byDefault
			}
			fill(t, property, value[name])
		}
	case []any:
		for _, item := range value {
			fill(t, *schema.Items.Schema, item)
		}
	}
}

func decode(t *testing.T, document []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(document, into); err != nil {
		t.Fatal(err)
	}
}
