// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/controllers"
	"github.com/spawnery/spawnery-operator/internal/agentserver"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	managerNamespace = "spawnery-system"
	managerAccount   = "spawnery-manager"
	patience         = 20 * time.Second
	glance           = 50 * time.Millisecond
	nodeName         = "node1"
	// probe is a claim that is only ever asked for, to see a refusal.
	probe = "probe"
)

// world is one API server with a manager, a kubelet and agents.
type world struct {
	*testenv.Env
	*gomega.WithT
	t         *testing.T
	namespace string
	address   string
	kube      kubernetes.Interface
	// metrics are those of the manager that was started last.
	metrics *prometheus.Registry

	mu     sync.Mutex
	agents map[types.UID]*agent
	games  map[string]game
	// stuck keeps pods from running that do not run yet.
	stuck bool
	// dead keeps deleted pods from ending: nobody is left on their node.
	dead bool

	clock           *skewed
	startupDeadline time.Duration
}

// newWorld is a world in a namespace of its own.
func newWorld(t *testing.T) *world {
	return newWorldIn(t, (*testenv.Env).Namespace)
}

// newWorldIn starts the API server, installs what config/ ships, and a kubelet
// that runs every pod at once. The manager is started by startManager.
func newWorldIn(t *testing.T, namespace func(*testenv.Env, testing.TB) string) *world {
	env := testenv.Start(t)
	w := &world{
		Env: env, WithT: gomega.NewWithT(t), t: t,
		agents: map[types.UID]*agent{}, games: map[string]game{},
		clock: &skewed{}, startupDeadline: time.Minute,
	}
	w.SetDefaultEventuallyTimeout(patience)
	w.SetDefaultEventuallyPollingInterval(glance)
	for _, file := range []string{
		"config/manager/namespace.yaml", "config/rbac/service_account.yaml", "config/rbac/role.yaml", "config/rbac/role_binding.yaml",
		"config/admission/claims.yaml",
	} {
		for _, object := range testenv.ReadManifests(t, testenv.Path(t, file)) {
			w.Expect(w.Client.Create(t.Context(), object)).To(gomega.Succeed(), file)
		}
	}
	var err error
	w.kube, err = kubernetes.NewForConfig(env.Config)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.namespace = namespace(env, t)
	w.confined()
	w.startNode(nodeName, "203.0.113.7")
	w.address = freeAddress(w)
	w.every(glance, w.kubelet)
	return w
}

// confined waits until the policy on claims is in force.
func (w *world) confined() {
	manager, err := client.New(w.AsServiceAccount(managerNamespace, managerAccount), client.Options{Scheme: w.Scheme})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: probe}}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "any", UID: "any"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	w.Eventually(func() error { return manager.Create(w.t.Context(), claim.DeepCopy(), client.DryRunAll) }).
		Should(gomega.MatchError(gomega.ContainSubstring("'spawnery-claims'")))
}

func freeAddress(w *world) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// startManager runs a manager as the generated ServiceAccount and returns what
// stops it and waits until it has.
func (w *world) startManager() func() {
	as := w.AsServiceAccount(managerNamespace, managerAccount)
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(w.t.Context(), testr.New(w.t)))
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: w.Scheme, Cache: controllers.CacheOptions(), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Logger:     testr.New(w.t),
	})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.metrics = prometheus.NewRegistry()
	w.Expect(controllers.Setup(ctx, mgr, controllers.Options{
		Metrics: w.metrics,
		Version: "test", Namespace: managerNamespace, Image: "spawnery.test/operator:dev",
		StartupDeadline: w.startupDeadline, ChannelAddress: w.address, ChannelEndpoint: w.address,
		Kube: clientFor(w, as), Reviews: clientFor(w, as), Clock: w.clock,
	})).To(gomega.Succeed())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		w.Expect(<-stopped).To(gomega.Succeed())
	})
	w.t.Cleanup(stop)
	return stop
}

func clientFor(w *world, as *rest.Config) kubernetes.Interface {
	made, err := kubernetes.NewForConfig(as)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return made
}

// every calls a function again and again until the test ends.
func (w *world) every(interval time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			do(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(interval):
			}
		}
	})
	w.t.Cleanup(func() { cancel(); running.Wait() })
}

// startNode adds a node that is ready.
func (w *world) startNode(name, address string) {
	node := &corev1.Node{}
	node.Name = name
	w.Expect(w.Client.Create(w.t.Context(), node)).To(gomega.Succeed())
	// Admission says that it is not ready; nothing here takes that back.
	node.Spec.Taints = nil
	w.Expect(w.Client.Update(w.t.Context(), node)).To(gomega.Succeed())
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeExternalIP, Address: address},
	}
	w.Expect(w.Client.Status().Update(w.t.Context(), node)).To(gomega.Succeed())
}

// kubelet runs every pod of the namespace, and lets every deleted one end.
func (w *world) kubelet(ctx context.Context) {
	var pods corev1.PodList
	if w.Client.List(ctx, &pods, client.InNamespace(w.namespace)) != nil {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.DeletionTimestamp != nil:
			w.endAgent(pod.UID)
			if w.isDead() {
				continue
			}
			_ = w.Client.Delete(ctx, pod, client.GracePeriodSeconds(0))
		case pod.Spec.NodeName == "":
			w.schedule(ctx, pod)
		case pod.Status.Phase == corev1.PodPending && w.areStuck():
		case pod.Status.Phase == corev1.PodPending:
			runPod(pod)
			_ = w.Client.Status().Update(ctx, pod)
		case pod.Labels[podspec.LabelRole] == string(podspec.RoleServer):
			w.startAgent(ctx, pod)
		}
	}
}

// schedule gives a pod a node that takes pods.
func (w *world) schedule(ctx context.Context, pod *corev1.Pod) {
	var nodes corev1.NodeList
	if w.Client.List(ctx, &nodes) != nil {
		return
	}
	for i := range nodes.Items {
		if !nodes.Items[i].Spec.Unschedulable {
			target := corev1.ObjectReference{Kind: "Node", Name: nodes.Items[i].Name}
			_ = w.Client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: target})
			return
		}
	}
}

// runPod shows a pod as the kubelet does once everything in it runs.
func runPod(pod *corev1.Pod) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP = "127.0.0.1"
	pod.Status.PodIPs = []corev1.PodIP{{IP: "127.0.0.1"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, State: running, Ready: true,
		})
	}
}

// hold keeps pods from running that do not run yet, or lets them.
func (w *world) hold(stuck bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stuck = stuck
}

func (w *world) areStuck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stuck
}

// strand keeps deleted pods from ending, or lets them.
func (w *world) strand(dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = dead
}

func (w *world) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// join sets how many players the agent of a server reports.
func (w *world) join(server string, players int32) {
	w.play(server, func(g *game) { g.players = players })
}

// play changes what the agent of a server sees of its game.
func (w *world) play(server string, change func(*game)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.games[server]
	change(&seen)
	w.games[server] = seen
	for _, one := range w.agents {
		if one.server == server {
			one.set(seen)
		}
	}
}

func (w *world) startAgent(ctx context.Context, pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.agents[pod.UID] != nil {
		return
	}
	directory, ok := w.channelFiles(ctx, pod)
	if !ok {
		return
	}
	var group v1alpha1.ServerGroup
	key := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[podspec.LabelGroup]}
	if w.Client.Get(ctx, key, &group) != nil {
		return
	}
	seen := w.games[pod.Name]
	seen.slots = group.Spec.MaxPlayers
	w.games[pod.Name] = seen
	w.agents[pod.UID] = newAgent(ctx, pod.Name, directory, seen)
}

// agentOf is the agent beside a server's game.
func (w *world) agentOf(server string) *agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.agents {
		if one.server == server {
			return one
		}
	}
	w.t.Fatalf("%s has no agent", server)
	return nil
}

func (w *world) endAgent(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.agents[uid]; one != nil {
		one.stop()
	}
}

// channelFiles writes what a kubelet mounts into a pod: the namespace's channel
// ConfigMap, and a token bound to the pod.
func (w *world) channelFiles(ctx context.Context, pod *corev1.Pod) (string, bool) {
	var config corev1.ConfigMap
	if w.Client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: podspec.ChannelConfigMap}, &config) != nil {
		return "", false
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:         []string{podspec.TokenAudience},
		ExpirationSeconds: new(int64(600)),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	token := &corev1.ServiceAccount{}
	token.Namespace, token.Name = pod.Namespace, pod.Spec.ServiceAccountName
	if w.Client.SubResource("token").Create(ctx, token, request) != nil {
		return "", false
	}
	directory := w.t.TempDir()
	files := map[string]string{
		podspec.ChannelEndpointKey: config.Data[podspec.ChannelEndpointKey],
		podspec.ChannelCAKey:       config.Data[podspec.ChannelCAKey],
		"serverName":               agentserver.ServiceName + "." + managerNamespace + ".svc",
		"token":                    request.Status.Token,
	}
	for name, content := range files {
		if os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600) != nil {
			return "", false
		}
	}
	return directory, true
}

// objects of the world

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		w.Expect(w.Client.Create(w.t.Context(), object)).To(gomega.Succeed())
	}
}

func (w *world) group(name string) *v1alpha1.ServerGroup {
	group := &v1alpha1.ServerGroup{}
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, group)).To(gomega.Succeed())
	return group
}

// edit changes a group as an owner does, whatever the manager writes meanwhile.
func (w *world) edit(name string, change func(*v1alpha1.ServerGroup)) {
	before := w.group(name)
	after := before.DeepCopy()
	change(after)
	w.Expect(w.Client.Patch(w.t.Context(), after, client.MergeFrom(before))).To(gomega.Succeed())
}

func (w *world) editFront(change func(*v1alpha1.ProxyGroup)) {
	before := w.proxyGroup()
	after := before.DeepCopy()
	change(after)
	w.Expect(w.Client.Patch(w.t.Context(), after, client.MergeFrom(before))).To(gomega.Succeed())
}

func (w *world) servers() []v1alpha1.Server {
	var list v1alpha1.ServerList
	w.Expect(w.Client.List(w.t.Context(), &list, client.InNamespace(w.namespace))).To(gomega.Succeed())
	return list.Items
}
