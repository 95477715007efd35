// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// mapsOnAClaim is a claim that somebody fills, by a program of his own.
const mapsOnAClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: maps, namespace: minecraft}
spec:
  storageClassName: shared
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 16Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: fills-maps, namespace: minecraft}
spec:
  restartPolicy: Never
  securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: fill
    image: spawnery.test/double:shell
    command: [/bin/sh, -c, "/bin/busybox mkdir -p /maps/creative/plugins && echo 'from a claim' > /maps/creative/plugins/claim.txt"]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: maps, mountPath: /maps}]
  volumes: [{name: maps, persistentVolumeClaim: {claimName: maps}}]
`

// noSuchPath is a group whose layer cannot be copied.
const noSuchPath = `
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata: {name: astray, namespace: minecraft}
spec:
  networkRef: {name: production}
  type: Ephemeral
  image: spawnery.test/double:dev
  maxPlayers: 4
  scaling: {minReplicas: 1, maxReplicas: 1, spareSlots: 0}
  server: {acceptEula: true, template: [{persistentVolumeClaim: {name: maps}, path: /nowhere}]}
`

// TestContentReachesTheDataDirectory brings files from the game's image, which
// has neither a shell nor cp, from a claim, and from an image that is mounted.
// The nodes are processes of this machine, and so what a game sees can be read.
func TestContentReachesTheDataDirectory(t *testing.T) {
	chronicle(t)
	must(t, settle(t.Context()))
	t.Cleanup(func() {
		for _, command := range []string{"delete servergroup astray", "delete pod fills-maps", "delete pvc maps"} {
			args := append(strings.Fields(command), "-n", stage.Namespace, "--ignore-not-found")
			if _, err := cluster.Kubectl(context.WithoutCancel(t.Context()), "", args...); err != nil {
				t.Error(err)
			}
		}
	})
	_, err := cluster.Kubectl(t.Context(), mapsOnAClaim, "apply", "-f", "-")
	must(t, err)
	_, err = cluster.Kubectl(t.Context(), "", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/fills-maps",
		"-n", stage.Namespace, "--timeout="+soon.String())
	must(t, err)
	_, err = cluster.Kubectl(t.Context(), noSuchPath, "apply", "-f", "-")
	must(t, err)

	lendWorlds(t, worlds{name: "creative", replicas: 1, template: []v1alpha1.TemplateLayer{
		{FromGameImage: "/data"},
		{PersistentVolumeClaim: v1alpha1.LocalReference{Name: "maps"}, Path: "/creative"},
		{Image: "spawnery.test/content@" + digestOf(t, "content.tar"), Path: "/content", Mode: v1alpha1.TemplateAlways},
	}})
	const server = "creative-0"
	before := podOf(t, server)
	came := map[string]string{
		"baked.txt": "from the image of the game\n", "claim.txt": "from a claim\n", "image.txt": "from an image of its own\n",
	}
	wantPlugins(t, before, came)
	for name := range came {
		must(t, os.WriteFile(filepath.Join(dataOf(t, before), "plugins", name), []byte("edited\n"), 0o600))
	}
	_, err = cluster.Kubectl(t.Context(), "", "delete", "pod", server, "-n", stage.Namespace, "--wait=false")
	must(t, err)
	awaitNewPod(t, server, before)
	wantPlugins(t, podOf(t, server), map[string]string{
		"baked.txt": "edited\n", "claim.txt": "edited\n", "image.txt": "from an image of its own\n",
	})
	nothingCounted(t, "creative")
	awaitAstray(t)
}

// awaitAstray waits for the words of an agent that does not find its layer.
func awaitAstray(t *testing.T) {
	t.Helper()
	const want = "PrepareFailed Preparing the game failed: server.template, layer 1 (claim maps, path /nowhere): there is no such directory"
	must(t, cluster.Await(t.Context(), want, soon, func(ctx context.Context) (string, bool) {
		out, err := cluster.Kubectl(ctx, "", "get", "servers", "-n", stage.Namespace, "-l", "spawnery.cloud/group=astray",
			"-o", `jsonpath={range .items[*].status.conditions[?(@.type=="Ready")]}{.reason} {.message}{"\n"}{end}`)
		return fmt.Sprintf("%s %v", out, err), strings.Contains(out, want)
	}))
}

func wantPlugins(t *testing.T, podUID string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range want {
		content, err := os.ReadFile(filepath.Join(dataOf(t, podUID), "plugins", name))
		if err != nil {
			t.Error(err)
		}
		got[name] = string(content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
}

// dataOf is the data directory as the game of a pod sees it.
func dataOf(t *testing.T, podUID string) string {
	t.Helper()
	return filepath.Join("/proc", strconv.Itoa(processIn(t, podUID, "double")), "root", "data")
}

// digestOf reads the digest of the one image in an archive.
func digestOf(t *testing.T, archive string) string {
	t.Helper()
	file, err := os.Open(filepath.Join(filepath.Dir(*kubectl), "image", archive))
	must(t, err)
	defer func() { _ = file.Close() }()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		must(t, err)
		if header.Name != "index.json" {
			continue
		}
		var index struct{ Manifests []struct{ Digest string } }
		must(t, json.NewDecoder(reader).Decode(&index))
		if len(index.Manifests) != 1 {
			must(t, errors.New("not one image in "+archive))
		}
		return index.Manifests[0].Digest
	}
}
