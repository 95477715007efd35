// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

const world = survival + "-0"

// Groups that the scenes of TestPersistent have for themselves. What is on a
// volume of the class local does not leave its node.
var (
	home  = worlds{name: "home", replicas: 1}
	isles = worlds{name: "isles", replicas: 2}
)

// TestPersistent plays scenes with worlds, and beside them what takes long: a
// save.
func TestPersistent(t *testing.T) {
	claimByHand(t, owned.name)
	lendWorlds(t, vast(), home, isles, narrow, wide, owned)
	var save longSave
	t.Run("a pod is deleted that has much to save", save.begin)
	t.Run("a world outlives a stop in the game", stoppedInGame)
	t.Run("worlds are taken down from the top and come back, with a manager that is killed", func(t *testing.T) {
		worldsComeAndGo(t, func() { killManager(t) })
	})
	t.Run("worlds get another image one by one, with a manager that is killed", func(t *testing.T) {
		worldsAreUpdated(t, func() { killManager(t) })
	})
	t.Run("a node is drained: one world follows, the other cannot", worldsOnADrainedNode)
	t.Run("a class without expansion refuses a claim's growth", growthRefused)
	t.Run("a class with expansion, and a stand-in for its resizer", growthAccepted)
	t.Run("a volume's files belong to the group of the server", filesBelongToTheGroup)
	t.Run("the save was not cut short", save.end)
}

func TestAWorldOutlivesItsPodAndItsServer(t *testing.T) {
	crowd := gather(t)
	joinGroup(t, crowd, "Wilma", survival)
	seen := joinsSeen(t, crowd, "Wilma")
	claim := readClaim(t, world)

	before := podOf(t, world)
	_, err := cluster.Kubectl(t.Context(), "", "delete", "pod", world, "-n", stage.Namespace, "--wait=false")
	must(t, err)
	awaitNewPod(t, world, before)
	must(t, crowd.AwaitPlaying(t.Context(), soon, "Wilma"))
	joinGroup(t, crowd, "Xaver", survival)
	if got := joinsSeen(t, crowd, "Xaver"); got != seen+1 {
		t.Errorf("the world has seen %d joins in its second pod, want %d", got, seen+1)
	}

	before = podOf(t, world)
	scaleWorlds(t, survival, 0)
	must(t, crowd.AwaitPlaying(t.Context(), soon, "Wilma", "Xaver"))
	sameClaim(t, claim)
	scaleWorlds(t, survival, 1)
	awaitNewPod(t, world, before)
	joinGroup(t, crowd, "Yvonne", survival)
	if got := joinsSeen(t, crowd, "Yvonne"); got != seen+2 {
		t.Errorf("the world has seen %d joins after its server was away, want %d", got, seen+2)
	}
	sameClaim(t, claim)
}

func TestAWorldOutlivesItsGroup(t *testing.T) {
	crowd := gather(t)
	joinGroup(t, crowd, "Wilma", survival)
	seen := joinsSeen(t, crowd, "Wilma")
	claim, before := readClaim(t, world), podOf(t, world)
	_, err := cluster.Kubectl(t.Context(), "", "delete", "servergroup", survival, "-n", stage.Namespace)
	must(t, err)
	_, err = cluster.AwaitSize(t.Context(), survival, 0, soon)
	must(t, err)
	must(t, crowd.AwaitPlaying(t.Context(), soon, "Wilma"))
	sameClaim(t, claim)
	must(t, settleAround(t.Context()))
	awaitNewPod(t, world, before)
	joinGroup(t, crowd, "Xaver", survival)
	if got := joinsSeen(t, crowd, "Xaver"); got != seen+1 {
		t.Errorf("the world of the new group has seen %d joins, want %d", got, seen+1)
	}
	sameClaim(t, claim)
}

// stoppedInGame lets a player stop the game who was made an operator of it at
// the console. It comes back by itself, in its pod, as after a restart that a
// panel asks for.
func stoppedInGame(t *testing.T) {
	const server = "home-0"
	crowd := gather(t)
	joinGroup(t, crowd, "Wilma", home.name)
	seen := joinsSeen(t, crowd, "Wilma")
	claim, before := readClaim(t, server), podOf(t, server)
	typeAtConsole(t, server, "op Wilma", "Made Wilma a server operator")

	stopped := time.Now()
	must(t, crowd.Bot("Wilma").Command("stop"))
	must(t, crowd.AwaitAway(t.Context(), soon, []string{"Wilma"}, server))
	must(t, cluster.Await(t.Context(), server+" Ready again in the same pod", time.Minute-time.Since(stopped), func(ctx context.Context) (string, bool) {
		found, err := cluster.Server(ctx, server)
		var pod corev1.Pod
		if err == nil {
			err = cluster.Get(ctx, client.ObjectKey{Namespace: stage.Namespace, Name: server}, &pod)
		}
		if err != nil || found == nil {
			return fmt.Sprintf("no server: %v", err), false
		}
		starts, losses := int32(0), ptr.Deref(found.Status.ReadinessLosses, 0)
		for _, container := range pod.Status.ContainerStatuses {
			if container.Name == podspec.ContainerServer {
				starts = container.RestartCount
			}
		}
		one := []v1alpha1.Server{*found}
		return fmt.Sprintf("%s, started again %d times, %d readiness losses", stage.Describe(one), starts, losses),
			len(stage.Ready(one)) == 1 && string(pod.UID) == before && starts == 1 && losses == 1
	}))
	t.Logf("%s was back %.1f s after /stop", server, time.Since(stopped).Seconds())
	nothingCounted(t, home.name)
	joinGroup(t, crowd, "Xaver", home.name)
	if got := joinsSeen(t, crowd, "Xaver"); got != seen+1 {
		t.Errorf("the world has seen %d joins after the stop, want %d", got, seen+1)
	}
	sameClaim(t, claim)
	nothingCounted(t, home.name)
}

// typeAtConsole types a line at the console of a game, until the game says what
// shows that it has understood.
func typeAtConsole(t *testing.T, server, line, want string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	detached := make(chan struct{})
	go func() {
		defer close(detached)
		// Whoever is attached stays until he leaves, and that is no failure.
		_, _ = cluster.Kubectl(ctx, line+"\n", "attach", server, "-n", stage.Namespace, "-c", podspec.ContainerServer, "-i", "-q")
	}()
	must(t, cluster.Await(ctx, "the console to say "+want, soon, func(ctx context.Context) (string, bool) {
		out, err := cluster.Kubectl(ctx, "", "logs", server, "-n", stage.Namespace, "-c", podspec.ContainerServer, "--tail=5")
		return fmt.Sprintf("%s %v", strings.TrimSpace(out), err), strings.Contains(out, want)
	}))
	cancel()
	<-detached
}

// worldsComeAndGo lowers the replicas of a group with a player in each world and
// raises them again. The critical moment is when the first is on its way out.
func worldsComeAndGo(t *testing.T, critical func()) {
	crowd := gather(t)
	visitWorlds(t, crowd, isles, "Early")
	claims := []corev1.PersistentVolumeClaim{readClaim(t, "isles-0"), readClaim(t, "isles-1")}
	patchGroup(t, isles.name, `{"spec":{"replicas":0}}`)
	awaitLeaving(t, isles.name, "isles-1")
	critical()
	_, err := cluster.AwaitSize(t.Context(), isles.name, 0, soon)
	must(t, err)
	must(t, crowd.AwaitPlaying(t.Context(), soon, crowd.Names()...))
	for _, name := range crowd.Names() {
		if where := crowd.Where(name); !strings.HasPrefix(where, hub+"-") {
			t.Errorf("%s was moved to %s, want a lobby", name, where)
		}
	}
	scaleWorlds(t, isles.name, isles.replicas)
	visitWorlds(t, crowd, isles, "Late")
	for ordinal, claim := range claims {
		noJoinForgotten(t, crowd, podspec.PersistentServerName(isles.name, int32(ordinal)))
		sameClaim(t, claim)
	}
	nothingCounted(t, isles.name)
}

// worldsOnADrainedNode drains a node with two worlds. The volume of one is seen
// by all nodes: its player is moved, and it follows. The volume of the other is
// on the node: nobody is moved, because nothing would be won.
func worldsOnADrainedNode(t *testing.T) {
	nodes := lendNodes(t)
	door := proxies(t)[0].Spec.NodeName
	leaving := nodes[slices.IndexFunc(nodes, func(name string) bool { return name != door })]
	_, err := cluster.Kubectl(t.Context(), "", "taint", "node", door, full)
	must(t, err)
	lendWorlds(t, worlds{name: "roaming", replicas: 1, class: seenByAll}, worlds{name: "rooted", replicas: 1, class: boundToNode})
	_, err = cluster.Kubectl(t.Context(), "", "taint", "node", door, full+"-")
	must(t, err)
	crowd := gather(t)
	// Who is sent to the second group may look in at the first.
	joinGroup(t, crowd, "Xaver", "rooted")
	joinGroup(t, crowd, "Wilma", "roaming")
	seen := joinsSeen(t, crowd, "Wilma")
	claim, before := readClaim(t, "roaming-0"), podOf(t, "roaming-0")
	rooted := readServer(t, "rooted-0")
	awaitProtected(t, "roaming", "roaming-0")
	awaitProtected(t, "rooted", "rooted-0")
	drain := func(group string, limit time.Duration) error {
		_, err := cluster.Kubectl(t.Context(), "", "drain", leaving, "--ignore-daemonsets", "--delete-emptydir-data",
			"--timeout="+limit.String(), "--pod-selector="+podspec.LabelGroup+"="+group)
		return err
	}

	must(t, drain("roaming", soon))
	must(t, crowd.AwaitAway(t.Context(), soon, []string{"Wilma"}, "roaming-0"))
	awaitNewPod(t, "roaming-0", before)
	var pod corev1.Pod
	must(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: stage.Namespace, Name: "roaming-0"}, &pod))
	if pod.Spec.NodeName != door {
		t.Errorf("roaming-0 is on %s, want %s", pod.Spec.NodeName, door)
	}
	joinGroup(t, crowd, "Zoe", "roaming")
	if got := joinsSeen(t, crowd, "Zoe"); got != seen+1 {
		t.Errorf("the world has seen %d joins on its second node, want %d", got, seen+1)
	}
	sameClaim(t, claim)

	drained := make(chan error, 1)
	go func() { drained <- drain("rooted", 2*pass) }()
	awaitNodeDraining(t, "rooted", "rooted-0", leaving, "nowhere else to go")
	must(t, hold(t.Context(), 2*pass, func(ctx context.Context) error {
		now, err := cluster.Server(ctx, "rooted-0")
		if err != nil {
			return err
		}
		if now == nil || now.Status.Phase != v1alpha1.ServerReady || now.Status.PodUID != rooted.Status.PodUID || crowd.Where("Xaver") != "rooted-0" {
			return fmt.Errorf("rooted-0 was left, or is no longer Ready: %+v, %s", now, crowd)
		}
		return crowd.Lost()
	}))
	joinGroup(t, crowd, "Yvonne", "rooted")
	if err := <-drained; err == nil || !strings.Contains(err.Error(), "rooted-0") || !strings.Contains(err.Error(), "disruption budget") {
		t.Errorf("kubectl drain does not say that rooted-0 keeps it: %v", err)
	}
}

// worldsAreUpdated gives a group with a player in each world another image. The
// critical moment is when the first world is on its way out.
func worldsAreUpdated(t *testing.T, critical func()) {
	crowd := gather(t)
	visitWorlds(t, crowd, isles, "Early")
	claims := []corev1.PersistentVolumeClaim{readClaim(t, "isles-0"), readClaim(t, "isles-1")}
	patchGroup(t, isles.name, `{"spec":{"image":"spawnery.test/double:next"}}`)
	awaitLeaving(t, isles.name, "isles-1")
	critical()
	awaitUpdatedOneByOne(t, isles.name, "spawnery.test/double:next")
	must(t, crowd.AwaitPlaying(t.Context(), soon, crowd.Names()...))
	// The last world to be updated is empty; its players came to the other one.
	joinGroup(t, crowd, "Late", isles.name)
	for ordinal, claim := range claims {
		noJoinForgotten(t, crowd, podspec.PersistentServerName(isles.name, int32(ordinal)))
		sameClaim(t, claim)
	}
	nothingCounted(t, isles.name)
}

// awaitUpdatedOneByOne waits until every pod of a group has the image and
// serves. Two may never be away at once.
func awaitUpdatedOneByOne(t *testing.T, group, image string) {
	t.Helper()
	var broken error
	must(t, cluster.Await(t.Context(), "every server of "+group+" with "+image, 2*soon, func(ctx context.Context) (string, bool) {
		servers, err := cluster.Servers(ctx, group)
		if err != nil {
			return err.Error(), false
		}
		pods, err := cluster.Pods(ctx, podspec.RoleServer)
		if err != nil {
			return err.Error(), false
		}
		updated := 0
		for i := range pods {
			if pods[i].Labels[podspec.LabelGroup] == group && pods[i].Spec.Containers[0].Image == image {
				updated++
			}
		}
		ready := len(stage.Ready(servers))
		if ready < isles.replicas-1 {
			broken = fmt.Errorf("two worlds are away at once: %s", stage.Describe(servers))
		}
		return fmt.Sprintf("%d updated; %s", updated, stage.Describe(servers)),
			broken != nil || updated == isles.replicas && ready == isles.replicas
	}))
	must(t, broken)
}
