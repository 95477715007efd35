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
	"slices"
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

// ownFiles are what an owner lays over the prepared files.
const ownFiles = `
apiVersion: v1
kind: ConfigMap
metadata: {name: own-files, namespace: minecraft}
data:
  properties: "motd=Here is ${SPAWNERY_SERVER}\nview-distance=7\n"
  shop: "table: shop_${SPAWNERY_GROUP}\n"
`

// noSuchFile is a group whose overlay is in a ConfigMap that nobody made.
const noSuchFile = `
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata: {name: unlaid, namespace: minecraft}
spec:
  networkRef: {name: production}
  type: Ephemeral
  image: spawnery.test/double:dev
  maxPlayers: 4
  scaling: {minReplicas: 1, maxReplicas: 1, spareSlots: 0}
  server: {acceptEula: true}
  configOverlay: [{configMap: {name: nobodys}, items: [{key: shop, path: plugins/shop.yml}]}]
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
// has neither a shell nor cp, from a claim, from an image that is mounted, and
// from a ConfigMap over all of them.
// The nodes are processes of this machine, and so what a game sees can be read.
func TestContentReachesTheDataDirectory(t *testing.T) {
	chronicle(t)
	must(t, settle(t.Context()))
	t.Cleanup(func() {
		for _, command := range []string{"delete servergroup astray unlaid", "delete pod fills-maps", "delete pvc maps", "delete configmap own-files"} {
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
	for _, manifest := range []string{noSuchPath, noSuchFile, ownFiles} {
		_, err = cluster.Kubectl(t.Context(), manifest, "apply", "-f", "-")
		must(t, err)
	}

	lendWorlds(t, worlds{name: "creative", replicas: 1, template: []v1alpha1.TemplateLayer{
		{FromGameImage: "/data"},
		{PersistentVolumeClaim: v1alpha1.LocalReference{Name: "maps"}, Path: "/creative"},
		{Image: "spawnery.test/content@" + digestOf(t, "content.tar"), Path: "/content", Mode: v1alpha1.TemplateAlways},
	}, overlay: []v1alpha1.ConfigOverlay{{
		ConfigMap: v1alpha1.LocalReference{Name: "own-files"},
		Items:     []v1alpha1.ConfigOverlayItem{{Key: "properties", Path: "server.properties"}, {Key: "shop", Path: "plugins/shop.yml"}},
	}}})
	const server = "creative-0"
	before := podOf(t, server)
	came := map[string]string{
		"baked.txt": "from the image of the game\n", "claim.txt": "from a claim\n", "image.txt": "from an image of its own\n",
	}
	wantPlugins(t, before, came)
	wantPlugins(t, before, map[string]string{"shop.yml": "table: shop_creative\n"})
	wantProperties(t, before, "motd=Here is creative-0", "view-distance=7", "max-players="+strconv.Itoa(seats))
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
	awaitUnprepared(t, "astray", "server.template, layer 1 (claim maps, path /nowhere): there is no such directory")
	awaitUnprepared(t, "unlaid", "the ConfigMap nobodys does not exist or is empty, and spec.configOverlay takes plugins/shop.yml from its key shop: create it")
}

// awaitUnprepared waits for the words of an agent that does not find its files.
func awaitUnprepared(t *testing.T, group, words string) {
	t.Helper()
	want := "PrepareFailed Preparing the game failed: " + words
	must(t, cluster.Await(t.Context(), want, soon, func(ctx context.Context) (string, bool) {
		out, err := cluster.Kubectl(ctx, "", "get", "servers", "-n", stage.Namespace, "-l", "spawnery.cloud/group="+group,
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

// wantProperties looks for lines of server.properties.
func wantProperties(t *testing.T, podUID string, lines ...string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dataOf(t, podUID), "server.properties"))
	must(t, err)
	for _, line := range lines {
		if !slices.Contains(strings.Split(string(content), "\n"), line) {
			t.Errorf("server.properties has no line %q:\n%s", line, content)
		}
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
