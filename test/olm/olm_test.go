// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// story is what happens to one installation, and what is remembered of it.
type story struct {
	// released is the last version that was, current the one of this tree.
	// Without the former, why says so.
	released, current *bundle
	why               string
	// catalog are the versions in it so far; installed is the one that works.
	catalog   []bundle
	installed bundle
	// network is what plays, before anything is upgraded.
	network map[string]identity
	// removals are when OLM took managers away on purpose.
	removals []removal
}

// TestNetworksLiveThroughInstallationsAndUpgrades follows one cluster from the
// first installation to its end. The parts build on each other, so one that
// fails ends it.
func TestNetworksLiveThroughInstallationsAndUpgrades(t *testing.T) {
	w := newWorld(t)
	s := newStory(w)
	for _, part := range []struct {
		name string
		do   func(*world, *story)
	}{
		{"a subscription installs the operator", subscriptionInstalls},
		{"the manager makes a network", managerMakesNetwork},
		{"an upgrade changes nothing that plays, and its manager takes over at once", upgradeChangesNothing},
		{"the account that OLM made may do what it must and nothing else", accountIsBounded},
		{"a version that never gets ready leaves the old manager at work", neverReady},
		{"the version after it is installed anew", installedAnew},
		{"a version that drops a stored version of a kind is refused", storedVersionDropped},
		{"the version after that one is installed anew", installedAnew},
		{"a version whose kinds refuse what exists waits for approval and is refused", schemaNarrowed},
		{"networks and worlds stay when the operator is uninstalled", uninstalled},
		{"no manager was forbidden anything, and none ended by itself", nothingForbidden},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.do(w.in(t), s) }) {
			return
		}
	}
}

// newStory reads the versions there are, and gives each its manager.
func newStory(w *world) *story {
	s := &story{why: os.Getenv("SPAWNERY_TEST_NO_RELEASE")}
	current := readBundle(w.t, testenv.Path(w.t, "bundle"))
	if s.why == "" {
		folder := os.Getenv("SPAWNERY_TEST_RELEASED")
		released := readBundle(w.t, filepath.Join(folder, "bundle"))
		if released.version == current.version {
			// Between two versions the tree is that of the last one.
			current = w.later(current, current.nextPatch(), "", nil)
		}
		s.released = &released
		w.provideManager(released, filepath.Join(folder, "manager"))
	}
	s.current = &current
	w.provideManager(current, w.manager())
	return s
}

// manager is the program of this tree.
func (w *world) manager() string { return filepath.Join(w.bin, "olm", "manager") }

// provideManager says what the image of a version's manager holds.
func (w *world) provideManager(b bundle, program string) {
	const nobody = 65532
	w.node.provide(b.manager, image{files: map[string]string{"manager": program}, user: nobody})
}

// subscriptionInstalls does what the instructions say, but for the catalog:
// that has an address, since no node runs it.
func subscriptionInstalls(w *world, s *story) {
	s.installed = *s.current
	if s.released != nil {
		s.installed = *s.released
	}
	s.catalog = []bundle{s.installed}
	w.publish(s.catalog...)
	var kinds []string
	for _, object := range documented(w.t) {
		kinds = append(kinds, object.GetKind())
		if object.GetKind() == "CatalogSource" {
			object.Object["spec"] = map[string]any{"sourceType": "grpc", "address": w.catalog.address}
		}
		w.create(object)
	}
	w.Expect(kinds).To(gomega.Equal([]string{"Namespace", "CatalogSource", "OperatorGroup", subKind}), "what the instructions make")
	w.awaitInstalled(s.installed)
}

// awaitInstalled waits until a version is the one that is installed.
func (w *world) awaitInstalled(b bundle) {
	w.t.Helper()
	w.Eventually(func() map[string]string { return w.phases() }).Should(gomega.Equal(map[string]string{b.csv(): "Succeeded"}))
	w.Eventually(func() string { return text(w.subscription(), "status.installedCSV") }).Should(gomega.Equal(b.csv()))
	w.Eventually(w.managers).Should(gomega.ConsistOf(gomega.HaveField("Image", b.manager)))
}

// csvMessage is what the ClusterServiceVersion of a version says.
func (w *world) csvMessage(b bundle) string {
	w.t.Helper()
	for _, csv := range w.list(csvKind) {
		if csv.GetName() == b.csv() {
			return text(csv, "status.message")
		}
	}
	return ""
}

// phases are those of every ClusterServiceVersion in the operator's namespace.
func (w *world) phases() map[string]string {
	phases := map[string]string{}
	for _, csv := range w.list(csvKind) {
		phases[csv.GetName()] = text(csv, "status.phase")
	}
	return phases
}

// managerMakesNetwork makes the installed version's own examples, which are the
// samples of its release.
func managerMakesNetwork(w *world, s *story) {
	w.createFrom("config/samples/namespace.yaml")
	for _, example := range s.installed.examples(w.t) {
		unstructured.RemoveNestedField(example.Object, "status")
		switch example.GetKind() {
		case "Server":
			// The manager makes these.
			continue
		case "ServerGroup":
			// No node runs a server: that is no failure here.
			set(w.t, example.Object, int64(100_000), "spec", "startupDeadlineSeconds")
		}
		w.create(example)
	}
	w.Eventually(w.unsettled).Should(gomega.Succeed())
	w.Expect(w.names("Server")).To(gomega.ContainElements("survival-0", "survival-1"))
	w.Expect(w.names("PersistentVolumeClaim")).To(gomega.ContainElements("survival-0-data", "survival-1-data"))
	w.Expect(w.names("ScaleBoost")).NotTo(gomega.BeEmpty())
	w.Expect(w.names("Service")).To(gomega.ContainElement("edge-proxy"))
	w.Expect(w.names("Secret")).To(gomega.ContainElement("production-forwarding"))
	s.network = w.identities()
	w.Consistently(w.identities, onePass).Should(gomega.Equal(s.network), "it is at rest")
}

// uninstalled takes the operator away as the instructions say.
func uninstalled(w *world, s *story) {
	before := w.identities()
	w.uninstall(s)
	// People's roles stay with the kinds they are about.
	w.Eventually(w.leftovers).Should(gomega.ConsistOf("*v1.ClusterRole spawnery-editor", "*v1.ClusterRole spawnery-viewer"))
	w.Eventually(func() []string { return w.names(csvKind) }).Should(gomega.BeEmpty(), "OLM's copies of the version")
	after := w.identities()
	w.Expect(after).To(gomega.Equal(before))
	for name, was := range s.network {
		w.Expect(after).To(gomega.HaveKeyWithValue(name, gomega.HaveField("UID", was.UID)), "what the first manager made is still there")
	}
}

// installedAnew does what the instructions say for a version that hangs: it
// takes subscription and versions away, and subscribes again.
func installedAnew(w *world, s *story) {
	before := w.identities()
	fixed := w.later(*s.current, s.last().nextPatch(), "", nil)
	s.publish(w, fixed)
	w.Eventually(func() string { return condition(w.subscription(), "ResolutionFailed") }).
		Should(gomega.ContainSubstring("exists and is not referenced by a subscription"), "OLM does not get there by itself")

	w.uninstall(s)
	for _, object := range documented(w.t) {
		// OLM may write the status of the one before to one of its name.
		if object.GetKind() == subKind {
			object.SetName("spawnery-operator-" + fixed.version)
			w.create(object)
		}
	}
	w.awaitInstalled(fixed)
	s.installed = fixed
	w.Expect(w.identities()).To(gomega.Equal(before))
	w.decides()
}
