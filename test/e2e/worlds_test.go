// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// worlds is a persistent group that a scene has for itself.
type worlds struct {
	name     string
	replicas int
	// class is of its claims, the cluster's default if empty.
	class string
	// tag of the double's image, dev if empty.
	tag string
	// grace is its terminationGracePeriodSeconds, 20 if 0.
	grace int
	env   map[string]string
	user  *v1alpha1.ServerUser
	// template is what is copied into them.
	template []v1alpha1.TemplateLayer
	// overlay is what is laid over their files.
	overlay []v1alpha1.ConfigOverlay
}

// Storage classes of the test cluster.
const (
	// boundToNode is the class whose volumes bind their pods to a node.
	boundToNode = "local"
	// seenByAll is the class whose volumes follow their pods.
	seenByAll = "shared"
	// expandable is boundToNode with leave to grow.
	expandable = "growing"
)

// lendWorlds makes groups and waits until they serve. At the end of the test
// they go, and a person deletes their worlds.
func lendWorlds(t *testing.T, groups ...worlds) {
	t.Helper()
	names := make([]string, 0, len(groups))
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	items := make([]any, 0, len(groups))
	for _, w := range groups {
		names, items = append(names, w.name), append(items, w.object())
	}
	list["items"] = items
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		theirs := fmt.Sprintf("%s in (%s)", podspec.LabelGroup, strings.Join(names, ","))
		for _, command := range [][]string{
			append([]string{"delete", "servergroup", "--ignore-not-found"}, names...),
			{"wait", "--for=delete", "pod", "-l", theirs, "--timeout=" + soon.String()},
			{"delete", "pvc", "-l", theirs},
		} {
			if _, err := cluster.Kubectl(ctx, "", append(command, "-n", stage.Namespace)...); err != nil {
				t.Error(err)
			}
		}
	})
	manifest, err := json.Marshal(list)
	must(t, err)
	_, err = cluster.Kubectl(t.Context(), string(manifest), "apply", "-f", "-")
	must(t, err)
	for _, w := range groups {
		_, err = cluster.AwaitSize(t.Context(), w.name, w.replicas, soon)
		must(t, err)
	}
}

// object is what its owner would write.
func (w worlds) object() map[string]any {
	storage := map[string]any{"size": "16Mi"}
	if w.class != "" {
		storage["storageClassName"] = w.class
	}
	spec := map[string]any{
		"networkRef": map[string]any{"name": "production"},
		"type":       v1alpha1.GroupPersistent,
		"image":      "spawnery.test/double:" + cmp.Or(w.tag, "dev"),
		"maxPlayers": seats,
		"replicas":   w.replicas,
		"storage":    storage,
		"drain":      map[string]any{"timeoutSeconds": 30},

		"terminationGracePeriodSeconds": cmp.Or(w.grace, 20),
		"failedRetentionSeconds":        10,
	}
	server := map[string]any{"acceptEula": true}
	if w.user != nil {
		server["user"] = w.user
	}
	if w.template != nil {
		server["template"] = w.template
	}
	spec["server"] = server
	if w.overlay != nil {
		spec["configOverlay"] = w.overlay
	}
	var env []any
	for name, value := range w.env {
		env = append(env, map[string]any{"name": name, "value": value})
	}
	if len(env) > 0 {
		spec["env"] = env
	}
	return map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ServerGroup",
		"metadata": map[string]any{"name": w.name, "namespace": stage.Namespace},
		"spec":     spec,
	}
}

func patchGroup(t *testing.T, group, patch string) {
	t.Helper()
	_, err := cluster.Kubectl(t.Context(), "", "patch", "servergroup", group, "-n", stage.Namespace, "--type=merge", "-p", patch)
	must(t, err)
}

// visitWorlds lets bots join a group until each of its worlds was visited by one
// of them: players who are there already need not be spread evenly.
func visitWorlds(t *testing.T, crowd *stage.Crowd, w worlds, name string) {
	t.Helper()
	visited := map[string]bool{}
	for i := 1; len(visited) < w.replicas; i++ {
		if i > w.replicas*seats/2 {
			t.Fatalf("%d players came to %s, and only to %v", i-1, w.name, visited)
		}
		visited[joinGroup(t, crowd, fmt.Sprintf("%s%d", name, i), w.name)] = true
	}
}

// noJoinForgotten looks at what a world told all who came to it: each of them was
// one more than the last. A world that has lost something counts twice.
func noJoinForgotten(t *testing.T, crowd *stage.Crowd, server string) {
	t.Helper()
	var told []int
	for _, name := range crowd.Names() {
		on := ""
		for _, line := range crowd.Bot(name).Lines() {
			joins := 0
			if where, welcome := strings.CutPrefix(line, mctest.WelcomePrefix); welcome {
				on = where
			} else if _, err := fmt.Sscanf(line, joinsLine, &joins); err == nil && on == server {
				told = append(told, joins)
			}
		}
	}
	slices.Sort(told)
	for i, joins := range told {
		if joins != told[0]+i {
			t.Errorf("%s told its visitors that its world had seen %v joins, want no number twice and none left out", server, told)
			break
		}
	}
	if len(told) < 2 {
		t.Errorf("%s was visited %d times, which shows nothing", server, len(told))
	}
}

// joinsLine is the line in which the double says how many joins its world has
// seen.
const joinsLine = "This world has seen %d joins"

// joinsSeen is what the first world that a bot came to told it.
func joinsSeen(t *testing.T, crowd *stage.Crowd, bot string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	joins := 0
	_, err := crowd.Bot(bot).WaitLine(ctx, func(line string) bool {
		n, err := fmt.Sscanf(line, joinsLine, &joins)
		return err == nil && n == 1
	})
	must(t, err)
	return joins
}

func readClaim(t *testing.T, server string) corev1.PersistentVolumeClaim {
	t.Helper()
	var claim corev1.PersistentVolumeClaim
	must(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: stage.Namespace, Name: podspec.DataClaimName(server)}, &claim))
	return claim
}

func sameClaim(t *testing.T, was corev1.PersistentVolumeClaim) {
	t.Helper()
	var now corev1.PersistentVolumeClaim
	must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(&was), &now))
	if now.UID != was.UID || now.Spec.VolumeName != was.Spec.VolumeName || now.Status.Phase != corev1.ClaimBound || now.DeletionTimestamp != nil {
		t.Errorf("the claim %s is another one: %s on %s, %s; was %s on %s",
			was.Name, now.UID, now.Spec.VolumeName, now.Status.Phase, was.UID, was.Spec.VolumeName)
	}
	if len(now.OwnerReferences) > 0 {
		t.Errorf("somebody owns the claim: %v", now.OwnerReferences)
	}
}

// readServer reads a Server that is there.
func readServer(t *testing.T, name string) *v1alpha1.Server {
	t.Helper()
	server, err := cluster.Server(t.Context(), name)
	must(t, err)
	if server == nil {
		t.Fatalf("there is no %s", name)
	}
	return server
}

func podOf(t *testing.T, server string) string {
	t.Helper()
	return readServer(t, server).Status.PodUID
}

func awaitNewPod(t *testing.T, name, old string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), name+" Ready in another pod", soon, func(ctx context.Context) (string, bool) {
		server, err := cluster.Server(ctx, name)
		if err != nil || server == nil {
			return fmt.Sprintf("no server: %v", err), false
		}
		one := []v1alpha1.Server{*server}
		return stage.Describe(one), len(stage.Ready(one)) == 1 && server.Status.PodUID != old
	}))
}

func scaleWorlds(t *testing.T, group string, replicas int) {
	t.Helper()
	patchGroup(t, group, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	_, err := cluster.AwaitSize(t.Context(), group, replicas, soon)
	must(t, err)
}

// inGame runs a program of the image in the container of a game.
func inGame(t *testing.T, server string, command ...string) (string, error) {
	t.Helper()
	args := append([]string{"exec", server, "-n", stage.Namespace, "-c", podspec.ContainerServer, "--"}, command...)
	out, err := cluster.Kubectl(t.Context(), "", args...)
	return strings.TrimSpace(out), err
}

// nothingCounted fails a test after which the group has a failure on its
// account.
func nothingCounted(t *testing.T, group string) {
	t.Helper()
	found, err := cluster.Group(t.Context(), group)
	must(t, err)
	if failures := found.Status.ConsecutiveFailures; (failures != nil && *failures != 0) || found.Status.LastFailureAt != nil {
		t.Errorf("%s counts %v failures, the last at %v", group, *failures, found.Status.LastFailureAt)
	}
}

// awaitLeaving waits until the server is on its way out while all the others of
// its group are Ready.
func awaitLeaving(t *testing.T, group, server string) {
	t.Helper()
	_, err := cluster.AwaitServers(t.Context(), group, server+" on its way out, before all others", soon, func(ready []string, all []v1alpha1.Server) bool {
		return !slices.Contains(ready, server) && len(ready) == len(all)-1
	})
	must(t, err)
}

// awaitNodeDraining waits until the group says these words about nodes that
// leave.
func awaitNodeDraining(t *testing.T, group string, words ...string) {
	t.Helper()
	awaitSaid(t, group, v1alpha1.ConditionNodeDraining, v1alpha1.ReasonNodeDraining, words...)
}

// awaitSaid waits until a condition of a group has the reason, and a message with
// all of the words.
func awaitSaid(t *testing.T, group, condition, reason string, words ...string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), fmt.Sprintf("%s of %s with %q", condition, group, words), soon, func(ctx context.Context) (string, bool) {
		found, err := cluster.Group(ctx, group)
		if err != nil {
			return err.Error(), false
		}
		said := apimeta.FindStatusCondition(found.Status.Conditions, condition)
		if said == nil {
			return "no condition", false
		}
		missing := slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(said.Message, word) })
		return said.Reason + ": " + said.Message, said.Reason == reason && !missing
	}))
}
