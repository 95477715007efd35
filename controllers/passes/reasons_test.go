// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"slices"
	"time"

	"github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// reasonPasses are about what an owner reads when something stands in the way.
func reasonPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a namespace that ends":                          namespaceEnds,
		"a permission that is missing":                   permissionMissing,
		"an account that is missing":                     accountMissing,
		"admission that refuses a proxy":                 proxyRefused,
		"a proxy group of a Network that lost":           frontOfALoser,
		"files that cannot be prepared":                  prepareFails,
		"an overlay without its ConfigMap":               overlayMissing,
		"memory that runs out":                           memoryRunsOut,
		"readiness that is lost and not found again":     notReadyAgain,
		"readiness that is lost three times":             flaps,
		"a game that answers nothing":                    answersNothing,
		"a server that is asked to retire":               retires,
		"a server that asks players to prove themselves": provesPlayers,
		"players for whom there is no seat":              noSeat,
	}
}

// frontAndOrdinal makes a Network with a proxy group and the Server survival-0.
func (w *world) frontAndOrdinal() {
	w.t.Helper()
	w.front(1, byAddress())
	w.create(survival(1))
	w.settle(aGroup, "survival")
}

// namespaceEnds deletes the namespace; nothing here takes away what is in it.
func namespaceEnds(w *world) {
	w.frontAndOrdinal()
	w.create(hub())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.remove(namespace)
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 2 })
	w.settle(aFront, "front")
	w.settle(aGroup, "hub")
	w.settle(aServer, "survival-0")
	for what, got := range map[string]string{
		"proxies": w.frontCondition("Accepted"),
		"servers": w.groupCondition("hub", "Accepted"),
		"a pod":   w.serverCondition("survival-0", "Accepted"),
	} {
		w.Expect(got).To(gomega.And(gomega.HavePrefix("False NamespaceTerminating: "), gomega.ContainSubstring(w.namespace)), what)
	}
	w.Expect(w.servers()).To(gomega.HaveLen(1), "nothing is made")
}

// confine takes the right to create anything from the reconcilers.
func (w *world) confine() {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "patch"}},
	}}
	w.Expect(w.Client.Create(w.t.Context(), role)).To(gomega.Succeed())
	// Nodes are read too, and are in no namespace.
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	binding.Subjects = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "confined", Namespace: w.namespace}}
	w.Expect(w.Client.Create(w.t.Context(), binding)).To(gomega.Succeed())
	confined, err := client.New(w.AsServiceAccount(w.namespace, "confined"), client.Options{Scheme: w.Scheme})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.cache.Client = confined
}

func permissionMissing(w *world) {
	w.frontAndOrdinal()
	w.create(hub())
	w.confine()
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 2 })
	// The API server may learn of a new role a moment later.
	w.Eventually(func() error {
		_, err := w.try(aGroup, "hub")
		return err
	}, 10*time.Second).Should(gomega.Succeed())
	w.settle(aFront, "front")
	w.settle(aServer, "survival-0")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.And(
		gomega.HavePrefix("False PermissionDenied"), gomega.ContainSubstring(`cannot create resource "servers"`)))
	w.Expect(w.frontCondition("Accepted")).To(gomega.And(
		gomega.HavePrefix("False PermissionDenied"), gomega.ContainSubstring(`cannot create resource "pods"`)))
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.And(
		gomega.HavePrefix("False PermissionDenied"), gomega.ContainSubstring(`cannot create resource "persistentvolumeclaims"`)))
}

// accountMissing looks into a namespace that the Network has not prepared yet.
func accountMissing(w *world) {
	w.frontAndOrdinal()
	for _, name := range []string{podspec.ServerServiceAccount, podspec.ProxyServiceAccount} {
		w.remove(get[corev1.ServiceAccount](w, name))
	}
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 2 })
	w.Eventually(func() string {
		w.pass(aServer, "survival-0")
		return w.serverCondition("survival-0", "Accepted")
	}, 10*time.Second).Should(gomega.HavePrefix("False NamespaceNotPrepared"))
	w.Eventually(func() string {
		w.pass(aFront, "front")
		return w.frontCondition("Accepted")
	}, 10*time.Second).Should(gomega.HavePrefix("False NamespaceNotPrepared"))
	w.settle(aNetwork, "production")
	w.Eventually(func() string {
		w.pass(aServer, "survival-0")
		w.pass(aFront, "front")
		return w.serverCondition("survival-0", "Accepted") + w.frontCondition("Accepted")
	}, 10*time.Second).Should(gomega.MatchRegexp("^True.*True"))
}

func proxyRefused(w *world) {
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "tiny"}}
	limits.Spec.Limits = []corev1.LimitRangeItem{{
		Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")},
	}}
	w.create(limits)
	w.front(1, byAddress())
	w.Eventually(func() string {
		for _, name := range w.proxyNames() {
			w.remove(get[corev1.Pod](w, name))
		}
		w.pass(aFront, "front")
		return w.frontCondition("Accepted")
	}, 10*time.Second).Should(gomega.And(gomega.HavePrefix("False PodRefused"), gomega.ContainSubstring("memory")))
}

func frontOfALoser(w *world) {
	w.front(1, byAddress())
	w.create(&v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "staging"}})
	w.settle(aNetwork, "staging")
	group := &v1alpha1.ProxyGroup{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: get[v1alpha1.ProxyGroup](w, "front").Spec}
	group.Spec.NetworkRef.Name = "staging"
	w.create(group)
	w.settle(aFront, "back")
	w.Expect(condition(get[v1alpha1.ProxyGroup](w, "back").Status.Conditions, "Accepted")).To(
		gomega.HavePrefix("False NetworkNotAccepted: Network staging is not accepted"))
	w.Expect(w.proxyNames()).To(gomega.HaveLen(1))
}

// ends shows a container of a pod that ended for good.
func (w *world) ends(name string, of func(*corev1.PodStatus) *[]corev1.ContainerStatus, container string, how corev1.ContainerStateTerminated) {
	w.t.Helper()
	w.podStatus(name, func(pod *corev1.Pod) {
		status := corev1.ContainerStatus{Name: container, RestartCount: 9}
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		status.LastTerminationState.Terminated = &how
		if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
			status = corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Terminated: &how}}
		}
		*of(&pod.Status) = []corev1.ContainerStatus{status}
		pod.Status.Conditions = nil
	})
	w.settle(aServer, name)
}

func prepareFails(w *world) {
	w.ordinal()
	w.settle(aServer, "survival-0")
	initial := func(status *corev1.PodStatus) *[]corev1.ContainerStatus { return &status.InitContainerStatuses }
	w.ends("survival-0", initial, podspec.ContainerPrepare, corev1.ContainerStateTerminated{
		ExitCode: 1, Message: "server.properties: enable-rcon is not yours to set",
	})
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.Equal(
		"False PrepareFailed: Preparing the game failed: server.properties: enable-rcon is not yours to set"))
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerFailed))
}

// overlayMissing is told by prepare, which runs because the volume is optional:
// for one that is not, the kubelet would wait in silence.
func overlayMissing(w *world) {
	w.network()
	group := survival(1)
	group.Name = "tuned"
	group.Spec.ConfigOverlay = []v1alpha1.ConfigOverlay{{
		ConfigMap: v1alpha1.LocalReference{Name: "tuning"},
		Items:     []v1alpha1.ConfigOverlayItem{{Key: "spigot.yml", Path: "spigot.yml"}},
	}}
	w.create(group)
	w.settle(aGroup, "tuned")
	w.settle(aServer, "tuned-0")
	volumes := get[corev1.Pod](w, "tuned-0").Spec.Volumes
	at := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == "tuning" })
	w.Expect(at).To(gomega.BeNumerically(">=", 0))
	w.Expect(volumes[at].ConfigMap.Optional).To(gomega.HaveValue(gomega.BeTrue()))
	initial := func(status *corev1.PodStatus) *[]corev1.ContainerStatus { return &status.InitContainerStatuses }
	const said = "the ConfigMap tuning does not exist or is empty, and spec.configOverlay takes spigot.yml from its key spigot.yml: create it"
	w.ends("tuned-0", initial, podspec.ContainerPrepare, corev1.ContainerStateTerminated{ExitCode: 1, Message: said})
	w.Expect(w.serverCondition("tuned-0", "Ready")).To(gomega.Equal("False PrepareFailed: Preparing the game failed: " + said))
}

func memoryRunsOut(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	running := func(status *corev1.PodStatus) *[]corev1.ContainerStatus { return &status.ContainerStatuses }
	w.ends("survival-0", running, podspec.ContainerServer, corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"})
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.And(
		gomega.HavePrefix("False OutOfMemory"), gomega.ContainSubstring("resources.limits")))
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerFailed))
}

// lose has the game of survival-0 say that it takes nobody.
func (w *world) lose() {
	w.t.Helper()
	w.say("survival-0", &agentv1alpha1.ServerReport{GameState: agentv1alpha1.GameState_GAME_STATE_STARTING})
	w.settle(aServer, "survival-0")
}

func notReadyAgain(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	w.lose()
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix("False GameNotReady"))
	w.clock.Step(5*time.Minute - time.Second)
	w.lose()
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerStarting))
	w.clock.Step(time.Second)
	w.lose()
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix("False RecoveryTimeout"))
}

func flaps(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	for range 2 {
		w.lose()
		w.report("survival-0", 0)
		w.settle(aServer, "survival-0")
		w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerReady))
	}
	w.lose()
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix("False Flapping"))
}

func answersNothing(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	silent := func() {
		w.say("survival-0", &agentv1alpha1.ServerReport{GameState: agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING})
		w.settle(aServer, "survival-0")
	}
	silent()
	w.clock.Step(5*time.Minute - time.Second)
	silent()
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerReady), "it may come back")
	w.clock.Step(time.Second)
	silent()
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix("False Unresponsive"))
}

func retires(w *world) {
	w.ordinal()
	w.serve("survival-0", 1)
	edit(w, "survival-0", func(s *v1alpha1.Server) { s.Spec.RetireReason = v1alpha1.RetireRequested })
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix("False Retiring: It takes nobody new (Requested)"))
	w.Expect(w.serverStatus("survival-0").Registered).To(gomega.HaveValue(gomega.BeFalse()))
	edit(w, "survival-0", func(s *v1alpha1.Server) { s.Spec.RetireReason = v1alpha1.RetireNone })
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerReady), "the request was taken back")
}

func provesPlayers(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	w.say("survival-0", &agentv1alpha1.ServerReport{
		GameState: agentv1alpha1.GameState_GAME_STATE_READY, Slots: 50, JoinsOpen: true,
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE,
	})
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "ForwardingActive")).To(gomega.And(
		gomega.HavePrefix("False OnlineModeBackend"), gomega.ContainSubstring("online-mode in server.properties")))
}

func noSeat(w *world) {
	w.frontAndOrdinal()
	w.runProxies()
	w.serve("survival-0", 3)
	proxy := w.proxyNames()[0]
	w.hear(proxy, 0)
	w.remove(get[v1alpha1.Server](w, "survival-0"))
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "DrainProgressing")).To(gomega.HavePrefix("True PlayersMoving"))
	w.moves(proxy, &agentv1alpha1.MoveProgress{Server: "survival-0", Remaining: 3, WithoutSeat: 2})
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "DrainProgressing")).To(gomega.And(
		gomega.HavePrefix("False NoFallbackSeat: 2 of 3 players"), gomega.ContainSubstring("maxReplicas")))
	w.moves(proxy, &agentv1alpha1.MoveProgress{Server: "survival-0", Remaining: 1})
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "DrainProgressing")).To(gomega.HavePrefix("True PlayersMoving: 1 player"))
}

// moves has a proxy report how far moving players has come.
func (w *world) moves(proxy string, progress *agentv1alpha1.MoveProgress) {
	w.t.Helper()
	session := w.proxies[get[corev1.Pod](w, proxy).UID]
	w.Expect(session.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Report{
		Report: &agentv1alpha1.ProxyReport{SampledAt: timestamppb.New(w.clock.Now()), Moves: []*agentv1alpha1.MoveProgress{progress}},
	}})).To(gomega.Succeed())
}
