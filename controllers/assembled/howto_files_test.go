// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/agent/prepare"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// TestTheWayToConfigureFilesWorksAsWritten types every command of the page, and
// prepares a directory from the pod that comes of it. No kubelet runs, so the
// test mounts what the pod names.
func TestTheWayToConfigureFilesWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, sample := range []string{"network.yaml", "servergroup_hub.yaml"} {
		p.types("kubectl apply -f " + testenv.Path(t, "config/samples/"+sample))
	}
	p.sees(getHub, map[string]string{"PHASE": "Ready", "READY": "2"})
	page := commands(t, "docs/how-to/configure-server-files.md")
	p.Expect(page).To(gomega.HaveLen(8), "every command is typed")
	p.saves("hub-files.yaml", page[0])
	p.types(page[1])
	p.saves("hub-overlay.yaml", page[2])
	p.types(page[3])
	var overlaid []*corev1.Pod
	p.Eventually(func() []*corev1.Pod { overlaid = p.overlaid(); return overlaid }, 4*patience).Should(gomega.HaveLen(2))

	data := p.prepares(overlaid[0], map[string]string{"plugins/Shop/config.yml": unindented(page[4])})
	name := overlaid[0].Name
	for file, want := range map[string]gomega.OmegaMatcher{
		"plugins/Shop/config.yml": gomega.Equal(unindented(page[5])),
		"plugins/Shop/rules.txt":  gomega.Equal("Be kind.\n"),
		"server.properties": gomega.And(gomega.ContainSubstring("motd=Hub "+name+"\n"),
			gomega.ContainSubstring("view-distance=8\n"), gomega.ContainSubstring("online-mode=false\n")),
	} {
		content, err := os.ReadFile(filepath.Join(data, file))
		p.Expect(err).NotTo(gomega.HaveOccurred())
		p.Expect(string(content)).To(want, file)
	}

	p.types(page[6])
	p.Eventually(func() []string {
		var kept []string
		for _, pod := range p.overlaid() {
			if pod.UID == overlaid[0].UID || pod.UID == overlaid[1].UID {
				kept = append(kept, pod.Name)
			}
		}
		return kept
	}, 4*patience).Should(gomega.BeEmpty())
	p.Expect(p.types(page[7])).To(gomega.ContainSubstring("WHY"))
}

// overlaid are the pods of hub that an overlay is mounted into.
func (p *person) overlaid() []*corev1.Pod {
	p.t.Helper()
	var pods corev1.PodList
	p.Expect(p.Client.List(p.t.Context(), &pods, client.InNamespace(p.namespace), client.MatchingLabels{podspec.LabelGroup: "hub"})).To(gomega.Succeed())
	var found []*corev1.Pod
	for i := range pods.Items {
		for _, volume := range pods.Items[i].Spec.Volumes {
			if volume.ConfigMap != nil && volume.ConfigMap.Name == "hub-files" && pods.Items[i].DeletionTimestamp == nil {
				found = append(found, &pods.Items[i])
			}
		}
	}
	return found
}

// prepares runs what the pod's container of that name runs, with what the pod
// mounts, in a data directory that holds files.
func (p *person) prepares(pod *corev1.Pod, files map[string]string) string {
	p.t.Helper()
	var config corev1.ConfigMap
	p.Expect(p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "hub-files"}, &config)).To(gomega.Succeed())
	var secret corev1.Secret
	p.Expect(p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "shop"}, &secret)).To(gomega.Succeed())
	data, overlay, forwarding := p.t.TempDir(), p.t.TempDir(), p.t.TempDir()
	write := func(path, content string) {
		p.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(gomega.Succeed())
		p.Expect(os.WriteFile(path, []byte(content), 0o600)).To(gomega.Succeed())
	}
	for path, content := range files {
		write(filepath.Join(data, path), content)
	}
	for key, content := range config.Data {
		write(filepath.Join(overlay, "0", key), content)
	}
	write(filepath.Join(forwarding, serverspec.ForwardingKey), "x")
	env := map[string]string{}
	for _, variable := range pod.Spec.InitContainers[0].Env {
		env[variable.Name] = strings.ReplaceAll(variable.Value, "$$", "$")
		if source := variable.ValueFrom; source != nil {
			p.Expect(source.SecretKeyRef.Name).To(gomega.Equal("shop"))
			env[variable.Name] = string(secret.Data[source.SecretKeyRef.Key])
		}
	}
	spec, err := serverspec.Decode([]byte(env[serverspec.Variable]))
	p.Expect(err).NotTo(gomega.HaveOccurred())
	spec.DataDir = data
	p.Expect(prepare.Run(p.t.Context(), prepare.Config{
		Spec: spec, RunDir: p.t.TempDir(), ForwardingDir: forwarding, OverlayDir: overlay,
		Variable: func(name string) (string, bool) { value, found := env[name]; return value, found },
	})).To(gomega.Succeed())
	return data
}

// unindented is a block of a list on a page.
func unindented(block string) string {
	var lines strings.Builder
	for line := range strings.Lines(strings.TrimRight(block, " ")) {
		lines.WriteString(strings.TrimPrefix(line, "   "))
	}
	return lines.String()
}
