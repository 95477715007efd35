// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	packageName = "spawnery-operator"
	csvFile     = "manifests/spawnery-operator.clusterserviceversion.yaml"
)

// bundle is a version of the operator as OLM gets it.
type bundle struct {
	folder  string
	version string
	// manager is the image its Deployment runs.
	manager string
}

// csv is the name of its ClusterServiceVersion.
func (b bundle) csv() string { return packageName + ".v" + b.version }

// nextPatch and nextMinor are the versions that may follow this one.
func (b bundle) nextPatch() string {
	return fmt.Sprintf("%d.%d.%d", b.number(0), b.number(1), b.number(2)+1)
}
func (b bundle) nextMinor() string { return fmt.Sprintf("%d.%d.0", b.number(0), b.number(1)+1) }

func (b bundle) number(place int) int {
	number, _ := strconv.Atoi(strings.Split(b.version, ".")[place])
	return number
}

// image is the name of the bundle's own.
func (b bundle) image() string { return "spawnery.test/bundle:v" + b.version }

// readBundle reads what a bundle says about itself.
func readBundle(t testing.TB, folder string) bundle {
	t.Helper()
	csv := testenv.ReadManifests(t, filepath.Join(folder, csvFile))[0]
	version, _, _ := unstructured.NestedString(csv.Object, "spec", "version")
	manager := managerOf(t, csv)
	return bundle{folder: folder, version: version, manager: manager["image"].(string)}
}

// examples are those that the version has of its kinds.
func (b bundle) examples(t testing.TB) []*unstructured.Unstructured {
	t.Helper()
	csv := testenv.ReadManifests(t, filepath.Join(b.folder, csvFile))[0]
	var objects []map[string]any
	if err := json.Unmarshal([]byte(csv.GetAnnotations()["alm-examples"]), &objects); err != nil || len(objects) == 0 {
		t.Fatalf("no examples in %s: %v", csv.GetName(), err)
	}
	var examples []*unstructured.Unstructured
	for _, object := range objects {
		examples = append(examples, &unstructured.Unstructured{Object: object})
	}
	return examples
}

// managerOf is the container of the manager in a ClusterServiceVersion.
func managerOf(t testing.TB, csv *unstructured.Unstructured) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedFieldNoCopy(theDeployment(t, csv), "spec", "template", "spec", "containers")
	if err != nil || containers == nil {
		t.Fatalf("no container in the Deployment of %s: %v", csv.GetName(), err)
	}
	return containers.([]any)[0].(map[string]any)
}

func theDeployment(t testing.TB, csv *unstructured.Unstructured) map[string]any {
	t.Helper()
	deployments, _, err := unstructured.NestedFieldNoCopy(csv.Object, "spec", "install", "spec", "deployments")
	if err != nil || deployments == nil {
		t.Fatalf("no Deployment in %s: %v", csv.GetName(), err)
	}
	return deployments.([]any)[0].(map[string]any)
}

// later makes a later version of a bundle, with one of its manifests changed.
// Its manager is the same program under another image's name.
func (w *world) later(b bundle, version, manifest string, change func(*unstructured.Unstructured)) bundle {
	w.t.Helper()
	t := w.t
	folder := filepath.Join(w.scratch, version)
	if err := os.CopyFS(folder, os.DirFS(b.folder)); err != nil {
		t.Fatal(err)
	}
	later := bundle{folder: folder, version: version, manager: "spawnery.test/operator:v" + version}
	edit(t, filepath.Join(folder, csvFile), func(csv *unstructured.Unstructured) {
		csv.SetName(later.csv())
		set(t, csv.Object, version, "spec", "version")
		set(t, csv.Object, b.csv(), "spec", "replaces")
		managerOf(t, csv)["image"] = later.manager
	})
	if change != nil {
		edit(t, filepath.Join(folder, manifest), change)
	}
	return later
}

func edit(t testing.TB, file string, change func(*unstructured.Unstructured)) {
	t.Helper()
	object := testenv.ReadManifests(t, file)[0]
	change(object)
	content, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func set(t testing.TB, object map[string]any, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// catalog is served to OLM's operators.
type catalog struct {
	address string
	inside  *network
	server  *process
}

// publish makes a catalog of these versions by the rules of the shipped one,
// and serves it in place of the one before.
func (w *world) publish(bundles ...bundle) {
	w.t.Helper()
	folder := filepath.Join(w.t.TempDir(), "catalog")
	file := filepath.Join(folder, packageName, "catalog.yaml")
	rendered, err := w.render(bundles)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, rendered, 0o644))
	}
	if err != nil {
		w.t.Fatalf("making a catalog: %v", err)
	}
	if output, err := exec.Command(filepath.Join(w.bin, "opm"), "validate", folder).CombinedOutput(); err != nil {
		w.t.Fatalf("validating the catalog: %v\n%s", err, output)
	}
	for _, b := range bundles {
		w.node.provide(b.image(), image{files: map[string]string{
			"manifests": filepath.Join(b.folder, "manifests"), "metadata": filepath.Join(b.folder, "metadata"),
		}})
	}
	w.serve(folder)
}

// render renders the catalog from the shipped template, with other versions.
func (w *world) render(bundles []bundle) ([]byte, error) {
	shipped, err := os.ReadFile(testenv.Path(w.t, "config/operatorhub/catalog-template.yaml"))
	if err != nil {
		return nil, err
	}
	var template map[string]any
	if err := yaml.Unmarshal(shipped, &template); err != nil {
		return nil, err
	}
	arguments := []string{filepath.Join(w.t.TempDir(), "template.yaml")}
	var images []any
	for _, b := range bundles {
		images = append(images, map[string]any{"image": b.image()})
		arguments = append(arguments, b.image()+"="+b.folder)
	}
	for _, channel := range []string{"candidate", "stable"} {
		template[channel] = map[string]any{"bundles": images}
	}
	content, err := yaml.Marshal(template)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(arguments[0], content, 0o644); err != nil {
		return nil, err
	}
	var problems strings.Builder
	command := exec.Command(filepath.Join(w.bin, "render-catalog"), arguments...)
	command.Stderr = &problems
	rendered, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problems.String())
	}
	return rendered, nil
}

// serve starts the server of a catalog where the one before was.
func (w *world) serve(folder string) {
	w.t.Helper()
	if w.catalog.server != nil {
		w.catalog.server.stop(stopGrace)
	}
	_, port, _ := strings.Cut(w.catalog.address, ":")
	command := exec.Command(filepath.Join(w.bin, "opm"), "serve", folder, "--port", port, "--termination-log", "", "--pprof-addr", "")
	command.Env = append(os.Environ(), "HOME="+w.logs)
	server, err := launch(command, w.catalog.inside, filepath.Join(w.logs, "opm.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.catalog.server = server
}
