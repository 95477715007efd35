// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/controllers/asks"
	"github.com/spawnery/spawnery-operator/controllers/network"
	"github.com/spawnery/spawnery-operator/controllers/proxygroup"
	"github.com/spawnery/spawnery-operator/controllers/server"
	"github.com/spawnery/spawnery-operator/controllers/servergroup"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// TestPasses has one API server for every suite of this package.
func TestPasses(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	env := testenv.Start(t)
	for name, address := range map[string]string{nodeName: "203.0.113.7", otherNode: "203.0.113.8"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		gomega.NewWithT(t).Expect(env.Client.Create(t.Context(), node)).To(gomega.Succeed())
		// Admission says that it is not ready; nothing here takes that back.
		node.Spec.Taints = nil
		gomega.NewWithT(t).Expect(env.Client.Update(t.Context(), node)).To(gomega.Succeed())
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: address}}
		gomega.NewWithT(t).Expect(env.Client.Status().Update(t.Context(), node)).To(gomega.Succeed())
	}
	seen := reached{}
	for kind, suite := range map[string]map[string]func(*world){
		"Network": networkPasses(), "ServerGroup": serverGroupPasses(), "Boosts": boostPasses(), "Rollout": rolloutPasses(), "Server": serverPasses(),
		"ProxyGroup": proxyGroupPasses(), "Reason": reasonPasses(), "Budget": budgetPasses(), "Sweep": sweepPasses(), "Hang": hangPasses(),
		"Node": nodePasses(), "Persistent": persistentPasses(), "Stall": stallPasses(), "Claim": claimPasses(), "Growth": growthPasses(),
		"Template": templatePasses(), "Policy": policyPasses(),
		"Count":    countPasses(),
		"Exchange": exchangePasses(), "Way in": wayInPasses(),
		"Ask": askPasses(), "Given": givenPasses(),
	} {
		for name, do := range suite {
			t.Run(kind+": "+name, func(t *testing.T) { do(newWorld(t, env, seen)) })
		}
	}
	t.Run("the suites reach the whole catalogue of conditions", seen.whole)
}

const (
	nodeName  = "node1"
	otherNode = "node2"
)

// world is a namespace of its own, and the reconcilers of one manager.
type world struct {
	*testenv.Env
	*gomega.WithT
	t         *testing.T
	namespace string
	cache     *cached
	clock     *clocktesting.FakeClock
	channel   podspec.Channel
	// kubernetes is the version that the API server gives as its own.
	kubernetes string
	seen       reached

	// What a manager has in memory, made anew by restart.
	began   time.Time
	store   *sessions.Store
	events  *events.FakeRecorder
	agents  map[types.UID]*sessions.ServerSession
	proxies map[types.UID]*sessions.ProxySession
	// origins are what proxies say of logins.
	origins     *agentv1alpha1.LoginOrigins
	reconcilers map[reflect.Type]reconcile.Reconciler
	office      *asks.Office
	drawn       int
	bound       int
}

func newWorld(t *testing.T, env *testenv.Env, seen reached) *world {
	w := &world{
		Env: env, WithT: gomega.NewWithT(t), t: t, namespace: env.Namespace(t), seen: seen,
		cache: &cached{Client: env.Client, indexes: map[reflect.Type]map[string]client.IndexerFunc{}},
		// The API server dates what it makes by its own clock.
		clock:      clocktesting.NewFakeClock(time.Now()),
		channel:    podspec.Channel{Endpoint: "spawnery-agent.spawnery-system.svc:9443", CA: []byte("certificates")},
		kubernetes: "v1.37.2",
	}
	w.Expect(index.Register(t.Context(), w.cache)).To(gomega.Succeed())
	w.restart()
	w.began = w.began.Add(-time.Hour)
	return w
}

// restart gives the world a manager that remembers nothing.
func (w *world) restart() {
	w.began = w.clock.Now()
	w.store = sessions.New(sessions.Config{Version: "test", Clock: w.clock})
	w.events = events.NewFakeRecorder(1000)
	w.agents, w.proxies = map[types.UID]*sessions.ServerSession{}, map[types.UID]*sessions.ProxySession{}
	w.reconcilers = map[reflect.Type]reconcile.Reconciler{}
	kube, err := kubernetes.NewForConfig(w.Config)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.office = &asks.Office{Client: w.cache, Live: w.Client, Sessions: w.store, Players: w.store, Events: w.events, Clock: w.clock}
	since := func() time.Time { return w.began }
	addTo(w, (&network.Reconciler{
		Client: w.cache, Kube: kube, Sessions: w.store, Channel: func() podspec.Channel { return w.channel },
		Events: w.events, Clock: w.clock, LeaderSince: since, Random: func(b []byte) (int, error) { return len(b), nil },
	}).ByName(w.cache), &v1alpha1.Network{})
	addTo(w, reconcile.AsReconciler(w.cache, &servergroup.Reconciler{
		Client: w.cache, Live: w.Client, Sessions: w.store, Events: w.events, Clock: w.clock, LeaderSince: since, Random: w.draw,
		Kubernetes: w.kubernetesVersion, Manager: podspec.ManagerAddress{Namespace: "spawnery-system", Ports: []int32{9443}},
	}), &v1alpha1.ServerGroup{})
	addTo(w, reconcile.AsReconciler(w.cache, &server.Reconciler{
		Client: w.cache, Live: w.Client, Sessions: w.store, Events: w.events, Clock: w.clock, LeaderSince: since,
		Image: "spawnery.test/operator:dev", StartupDeadline: 5 * time.Minute, HookValue: func() string { return "hook" },
	}), &v1alpha1.Server{})
	addTo(w, reconcile.AsReconciler(w.cache, &proxygroup.Reconciler{
		Client: w.cache, Live: w.Client, Sessions: w.store, Events: w.events, Clock: w.clock,
		Image: "spawnery.test/operator:dev", Random: w.draw,
	}), &v1alpha1.ProxyGroup{})
}

// kubernetesVersion fails while the world has none.
func (w *world) kubernetesVersion(context.Context) (string, error) {
	if w.kubernetes == "" {
		return "", errors.New("the API server does not say its version")
	}
	return w.kubernetes, nil
}

func addTo(w *world, r reconcile.Reconciler, kind client.Object) {
	w.reconcilers[reflect.TypeOf(kind)] = r
}

// draw walks the alphabet of names, so that each name drawn is another.
func (w *world) draw(n int) int {
	w.drawn++
	return (w.drawn / 4) % n
}

// try makes one pass over an object.
func (w *world) try(kind client.Object, name string) (ctrl.Result, error) {
	w.t.Helper()
	key := types.NamespacedName{Namespace: w.namespace, Name: name}
	result, err := w.reconcilers[reflect.TypeOf(kind)].Reconcile(w.t.Context(), ctrl.Request{NamespacedName: key})
	object := kind.DeepCopyObject().(client.Object)
	if w.Client.Get(w.t.Context(), key, object) == nil {
		w.seen.look(object)
	}
	return result, err
}

// pass makes one pass that must not fail.
func (w *world) pass(kind client.Object, name string) ctrl.Result {
	w.t.Helper()
	result, err := w.try(kind, name)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return result
}

// settle makes passes until one changes nothing, as the watches would.
func (w *world) settle(kind client.Object, name string) ctrl.Result {
	w.t.Helper()
	for range 10 {
		before := w.version(kind, name)
		result := w.pass(kind, name)
		if after := w.version(kind, name); after == before {
			return result
		}
	}
	w.t.Fatalf("%T %s is written at every pass", kind, name)
	return ctrl.Result{}
}

func (w *world) version(kind client.Object, name string) string {
	object := kind.DeepCopyObject().(client.Object)
	if w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, object) != nil {
		return ""
	}
	return object.GetResourceVersion()
}

func get[T any, P interface {
	*T
	client.Object
}](w *world, name string) P {
	w.t.Helper()
	found := P(new(T))
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, found)).To(gomega.Succeed())
	return found
}

// edit changes an object as an owner does.
func edit[T any, P interface {
	*T
	client.Object
}](w *world, name string, change func(P)) {
	w.t.Helper()
	before := get[T, P](w, name)
	after := before.DeepCopyObject().(P)
	change(after)
	w.Expect(w.Client.Patch(w.t.Context(), after, client.MergeFrom(before))).To(gomega.Succeed())
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		w.Expect(w.Client.Create(w.t.Context(), object)).To(gomega.Succeed())
	}
}

func (w *world) remove(object client.Object) {
	w.t.Helper()
	w.Expect(w.Client.Delete(w.t.Context(), object)).To(gomega.Succeed())
}

func (w *world) gone(kind client.Object, name string) bool {
	return w.version(kind, name) == ""
}

// told are the events since the last call.
func (w *world) told() string {
	var all []string
	for {
		select {
		case one := <-w.events.Events:
			all = append(all, one)
		default:
			return strings.Join(all, "\n")
		}
	}
}

// condition as "True Reason: message", empty when there is none.
func condition(list []metav1.Condition, kind string) string {
	found := apimeta.FindStatusCondition(list, kind)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
}

// objects of the world

func (w *world) network() {
	w.create(&v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "production"}})
	w.settle(aNetwork, "production")
}

func groupSpec() v1alpha1.ServerGroupSpec {
	return v1alpha1.ServerGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: "production"}, Image: "ghcr.io/spawnery/purpur:26.3-0.34.0", MaxPlayers: 50,
	}
}

func hub() *v1alpha1.ServerGroup {
	group := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Name: "hub"}, Spec: groupSpec()}
	group.Spec.Type = v1alpha1.GroupEphemeral
	group.Spec.Scaling = v1alpha1.Scaling{
		MinReplicas: new(int32(1)), MaxReplicas: 4, SpareSlots: new(int32(0)), ScaleDownStabilizationSeconds: new(int32(30)),
	}
	return group
}

func survival(replicas int32) *v1alpha1.ServerGroup {
	group := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Name: "survival"}, Spec: groupSpec()}
	group.Spec.Type, group.Spec.Replicas = v1alpha1.GroupPersistent, &replicas
	group.Spec.Storage = v1alpha1.Storage{Size: new(resource.MustParse("1Gi"))}
	return group
}

// ordinal makes a Network and the Server survival-0 of a persistent group.
func (w *world) ordinal() {
	w.network()
	w.create(survival(1))
	w.settle(aGroup, "survival")
}

func (w *world) serverStatus(name string) v1alpha1.ServerStatus {
	return get[v1alpha1.Server](w, name).Status
}

func (w *world) groupStatus(name string) v1alpha1.ServerGroupStatus {
	return get[v1alpha1.ServerGroup](w, name).Status
}

func (w *world) servers() []v1alpha1.Server {
	var list v1alpha1.ServerList
	w.Expect(w.Client.List(w.t.Context(), &list, client.InNamespace(w.namespace))).To(gomega.Succeed())
	return list.Items
}

func (w *world) pods(role podspec.Role) []corev1.Pod {
	var list corev1.PodList
	w.Expect(w.Client.List(w.t.Context(), &list, client.InNamespace(w.namespace),
		client.MatchingLabels{podspec.LabelRole: string(role)})).To(gomega.Succeed())
	return list.Items
}

// what a kubelet does

func (w *world) bind(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		w.bound++
		node := []string{otherNode, nodeName}[w.bound%2]
		w.Expect(w.Client.SubResource("binding").Create(w.t.Context(), pod,
			&corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})).To(gomega.Succeed())
	}
}

// podStatus writes a status as a kubelet does.
func (w *world) podStatus(name string, change func(*corev1.Pod)) {
	w.t.Helper()
	pod := get[corev1.Pod](w, name)
	w.bind(pod)
	pod = get[corev1.Pod](w, name)
	change(pod)
	w.Expect(w.Client.Status().Update(w.t.Context(), pod)).To(gomega.Succeed())
}

func (w *world) run(name string) {
	w.t.Helper()
	w.podStatus(name, func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.0.0.9", []corev1.PodIP{{IP: "10.0.0.9"}}
		if pod.Status.StartTime == nil {
			pod.Status.StartTime = new(metav1.NewTime(w.clock.Now()))
		}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue},
		}
		pod.Status.ContainerStatuses = nil
		for _, container := range pod.Spec.Containers {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: container.Name, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			})
		}
	})
}

// exit ends the game of a server's pod for good: where the kubelet restarts it,
// in vain and too often.
func (w *world) exit(name string, code int32) {
	w.t.Helper()
	w.podStatus(name, func(pod *corev1.Pod) {
		ended := &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.clock.Now())}
		game := corev1.ContainerStatus{Name: podspec.ContainerServer, State: corev1.ContainerState{Terminated: ended}}
		if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			game.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			game.LastTerminationState, game.RestartCount = corev1.ContainerState{Terminated: ended}, 9
		}
		pod.Status.Phase, pod.Status.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{game}
		pod.Status.Conditions = nil
	})
}

// end takes a pod away, as a kubelet does once everything in it has stopped.
func (w *world) end(name string) {
	w.t.Helper()
	w.Expect(w.Client.Delete(w.t.Context(), get[corev1.Pod](w, name), client.GracePeriodSeconds(0))).To(gomega.Succeed())
}

// what agents and proxies do

// report has the agent of a server say that its game is ready.
func (w *world) report(name string, players int32) {
	w.t.Helper()
	w.say(name, &agentv1alpha1.ServerReport{
		GameState:  agentv1alpha1.GameState_GAME_STATE_READY,
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE, Online: players, Slots: 50, JoinsOpen: true,
	})
}

func (w *world) say(name string, report *agentv1alpha1.ServerReport) {
	w.t.Helper()
	w.sayOf(name, report, w.clock.Now())
}

// sayOf has the agent of a server report what its game said at an instant.
func (w *world) sayOf(name string, report *agentv1alpha1.ServerReport, sampled time.Time) {
	w.t.Helper()
	server := get[v1alpha1.Server](w, name)
	uid := types.UID(server.Status.PodUID)
	if w.agents[uid] == nil {
		w.agents[uid] = w.store.OpenServer(sessions.ServerPod{
			UID: uid, Server: client.ObjectKeyFromObject(server), Group: server.Spec.GroupRef.Name, Network: "production",
		}, &agentv1alpha1.Hello{Version: "test"})
	}
	report.SampledAt = timestamppb.New(sampled)
	w.Expect(w.agents[uid].Receive(&agentv1alpha1.ServerMessage{
		Message: &agentv1alpha1.ServerMessage_Report{Report: report},
	})).To(gomega.Succeed())
}

// saved answers an order to save the world.
func (w *world) saved(name string) {
	w.t.Helper()
	session := w.agents[types.UID(w.serverStatus(name).PodUID)]
	for {
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
		order, err := session.Next(ctx)
		cancel()
		w.Expect(err).NotTo(gomega.HaveOccurred(), "no order to save came")
		if save := order.GetSave(); save != nil {
			w.Expect(session.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{
				SaveResult: &agentv1alpha1.SaveResult{Id: save.GetId()},
			}})).To(gomega.Succeed())
			return
		}
	}
}

// serve brings a server of a Network to Ready with players on it.
func (w *world) serve(name string, players int32) {
	w.t.Helper()
	w.settle(&v1alpha1.Server{}, name)
	w.run(name)
	w.settle(&v1alpha1.Server{}, name)
	w.report(name, players)
	w.settle(&v1alpha1.Server{}, name)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerReady))
}
