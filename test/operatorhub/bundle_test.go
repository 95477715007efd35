// SPDX-License-Identifier: Apache-2.0

// Package operatorhub_test holds the rules of OperatorHub's catalogs, and some
// of ours, against the tree that a pull request to them adds.
package operatorhub_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// packageName is the name that the operator has in catalogs for ever.
const packageName = "spawnery-operator"

// bundle is one version of the operator, as staged.
type bundle struct {
	// directory is named by the version.
	directory string
	csv       csv
	// objects are all manifests but the CSV, by file name.
	objects map[string]unstructured.Unstructured
	// annotations of metadata/annotations.yaml.
	annotations map[string]string
}

// csv is what the rules look at in a ClusterServiceVersion.
type csv struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     csvSpec           `json:"spec"`
}

type csvSpec struct {
	DisplayName    string
	Description    string
	Version        string
	MinKubeVersion string
	Maturity       string
	Replaces       string
	Keywords       []string
	Icon           []struct{ Base64data, Mediatype string }
	Links          []struct{ Name, URL string }
	Maintainers    []struct{ Name, Email string }
	Provider       struct{ Name string }
	Cleanup        struct{ Enabled bool }
	InstallModes   []struct {
		Type      string
		Supported bool
	}
	RelatedImages []struct{ Name, Image string }
	Install       struct {
		Spec struct {
			Deployments []struct {
				Name string
				Spec appsv1.DeploymentSpec
			}
			Permissions, ClusterPermissions []permission
		}
	}
	CustomResourceDefinitions struct{ Owned, Required []description }
}

// permission is the rules of one account; where the operator watches every
// namespace OLM makes ClusterRoles of both kinds.
type permission struct {
	ServiceAccountName string
	Rules              []rbacv1.PolicyRule
}

// description is what a CSV says about a kind.
type description struct {
	Name, Kind, Version, DisplayName, Description string

	Resources                          []struct{ Kind, Version string }
	SpecDescriptors, StatusDescriptors []struct{ Path, DisplayName, Description string }
}

// load reads the one staged version.
func load(t *testing.T) *bundle {
	t.Helper()
	bin := os.Getenv("SPAWNERY_TEST_BIN")
	if bin == "" {
		t.Skip("needs the staged tree: make operatorhub")
	}
	found, err := filepath.Glob(filepath.Join(bin, "operatorhub/operators", packageName, "*", "manifests"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d versions are staged: %v", len(found), err)
	}
	return loadFrom(t, filepath.Dir(found[0]))
}

// loadFrom reads the bundle in a folder.
func loadFrom(t *testing.T, directory string) *bundle {
	t.Helper()
	b := &bundle{directory: directory, objects: map[string]unstructured.Unstructured{}}
	var metadata struct{ Annotations map[string]string }
	read(t, filepath.Join(directory, "metadata/annotations.yaml"), &metadata)
	b.annotations = metadata.Annotations
	files, err := filepath.Glob(filepath.Join(directory, "manifests/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".clusterserviceversion.yaml") {
			read(t, file, &b.csv)
			continue
		}
		var object unstructured.Unstructured
		read(t, file, &object)
		b.objects[filepath.Base(file)] = object
	}
	return b
}

// read decodes a file of YAML.
func read(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// crds are the bundled definitions by name.
func (b *bundle) crds() map[string]unstructured.Unstructured {
	crds := map[string]unstructured.Unstructured{}
	for _, object := range b.objects {
		if object.GetKind() == "CustomResourceDefinition" {
			crds[object.GetName()] = object
		}
	}
	return crds
}

// examples are the objects that users start from.
func (b *bundle) examples(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	var examples []unstructured.Unstructured
	if err := json.Unmarshal([]byte(b.csv.Metadata.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatalf("alm-examples: %v", err)
	}
	return examples
}

// pod is the template of the one Deployment.
func (b *bundle) pod(t *testing.T) corev1.PodSpec {
	t.Helper()
	deployments := b.csv.Spec.Install.Spec.Deployments
	if len(deployments) != 1 {
		t.Fatalf("%d Deployments", len(deployments))
	}
	return deployments[0].Spec.Template.Spec
}
