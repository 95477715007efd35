// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	operatorNamespace = "spawnery-system"
	gameNamespace     = "minecraft"
	accountName       = "spawnery-manager"
	accountUser       = "system:serviceaccount:" + operatorNamespace + ":" + accountName

	// patience is long for what takes seconds, on a machine that is busy.
	patience  = 90 * time.Second
	stopGrace = 10 * time.Second
	// onePass is longer than the manager leaves a group alone.
	onePass = 6 * time.Second

	// Images that OLM runs a bundle's unpacking with.
	opmImage  = "spawnery.test/opm"
	utilImage = "spawnery.test/util"
)

// world is an API server with OLM, a catalog, and a node for the operator.
type world struct {
	*testenv.Env
	*gomega.WithT
	t *testing.T

	bin     string
	logs    string
	scratch string
	node    *node
	catalog *catalog
}

// in is the same world for a part of the test.
func (w *world) in(t *testing.T) *world {
	part := *w
	part.t, part.WithT = t, newGomega(t)
	return &part
}

func newGomega(t *testing.T) *gomega.WithT {
	g := gomega.NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	g.SetDefaultEventuallyPollingInterval(glance)
	return g
}

func newWorld(t *testing.T) *world {
	bin := os.Getenv("SPAWNERY_TEST_BIN")
	if bin == "" || os.Geteuid() != 0 {
		t.Fatal("this test needs OLM's programs, and root for network namespaces: run make test-olm as root")
	}
	w := &world{t: t, WithT: newGomega(t), bin: bin, logs: filepath.Join(bin, "olm", "logs"), scratch: t.TempDir()}
	if err := os.RemoveAll(w.logs); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(w.logs, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Env = testenv.StartWith(t, kindsOfOLM(t))
	kubeconfig := testenv.Kubeconfig(t, w.Config)
	// Namespaces have an account, Deployments and Jobs have pods, and what is
	// owned goes with its owner.
	w.StartControllers(t, "serviceaccount-controller", "deployment-controller", "replicaset-controller", "job-controller",
		"garbage-collector-controller", "namespace-controller")

	w.node = &node{client: w.Client, config: w.Config, namespace: operatorNamespace, logs: w.logs}
	t.Cleanup(w.explain)
	w.node.start(t)
	w.node.provide(opmImage, image{files: map[string]string{"bin/opm": filepath.Join(bin, "opm")}, user: 1001})
	w.node.provide(utilImage, image{})

	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "olm"}})
	w.daemon(t, w.open(t), "olm-operator", []string{"KUBECONFIG=" + kubeconfig, "OPERATOR_NAMESPACE=olm", "OPERATOR_NAME=olm-operator"},
		"--namespace=olm", "--interval=15s")
	inside := w.open(t)
	w.daemon(t, inside, "catalog-operator", []string{"KUBECONFIG=" + kubeconfig, "OPERATOR_NAMESPACE=olm"},
		"--namespace=olm", "--interval=15s", "--opmImage="+opmImage, "--util-image="+utilImage, "--set-workload-user-id=true",
		"--install-plan-retry-timeout=5s")
	w.catalog = &catalog{address: "127.0.0.1:50051", inside: inside}
	t.Cleanup(func() {
		if w.catalog.server != nil {
			w.catalog.server.stop(stopGrace)
		}
	})
	return w
}

// open opens a network that lasts as long as the test.
func (w *world) open(t testing.TB) *network {
	t.Helper()
	inside, err := openNetwork(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inside.close)
	return inside
}

// kindsOfOLM is the folder of OLM's kinds, in the module that tools/olm pins.
func kindsOfOLM(t testing.TB) string {
	t.Helper()
	list := exec.Command("go", "mod", "download", "-json", "github.com/operator-framework/api")
	list.Dir = testenv.Path(t, "tools/olm")
	output, err := list.Output()
	if err != nil {
		t.Fatalf("finding OLM's kinds: %v", err)
	}
	folder := regexp.MustCompile(`"Dir": "(.*)"`).FindSubmatch(output)
	if folder == nil {
		t.Fatalf("finding OLM's kinds: no folder in %s", output)
	}
	return filepath.Join(string(folder[1]), "crds")
}

// documented are the objects that the instructions for OLM let a person make.
func documented(t testing.TB) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(testenv.Path(t, "docs/how-to/install-olm.md"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, block := range regexp.MustCompile(`(?s)kubectl apply -f - <<END(\n.*?)\n   END\n`).FindAllSubmatch(content, -1) {
		made, err := testenv.ParseManifests(bytes.ReplaceAll(block[1], []byte("\n   "), []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, made...)
	}
	return objects
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		if err := w.Client.Create(w.t.Context(), object); err != nil {
			w.t.Fatalf("creating %s %s: %v", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
	}
}

// createFrom creates the objects of a file of the project.
func (w *world) createFrom(files ...string) {
	w.t.Helper()
	for _, file := range files {
		for _, object := range testenv.ReadManifests(w.t, testenv.Path(w.t, file)) {
			w.create(object)
		}
	}
}

// subscription is the one there is, and empty without.
func (w *world) subscription() unstructured.Unstructured {
	w.t.Helper()
	for _, found := range w.list(subKind) {
		return found
	}
	return unstructured.Unstructured{}
}

// list returns all objects of a kind of OLM's in the operator's namespace.
func (w *world) list(kind string) []unstructured.Unstructured {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiOfOLM)
	list.SetKind(kind + "List")
	if err := w.Client.List(w.t.Context(), list, client.InNamespace(operatorNamespace)); err != nil {
		w.t.Fatalf("listing %s: %v", kind, err)
	}
	return list.Items
}

// text is a field of an object, empty when it is not there.
func text(object unstructured.Unstructured, path string) string {
	value, _, _ := unstructured.NestedString(object.Object, strings.Split(path, ".")...)
	return value
}
