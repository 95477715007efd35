// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

const (
	managerAccount = "spawnery-manager"
	// operatorSuffix is what the operator's namespace has after the network's.
	operatorSuffix = "-operator"
	// elastic lets its volumes grow, rigid does not.
	elastic = "elastic"
	rigid   = "rigid"
)

// stage is the API server that all trials share.
type stage struct {
	*testenv.Env
	kube   kubernetes.Interface
	people client.Client
	mapper apimeta.RESTMapper
	tally  *tally
}

// newStage starts the API server with the controllers that delete by
// themselves, and what every trial needs of the cluster.
func newStage(t *testing.T) *stage {
	env := testenv.StartAuditing(t, auditPolicy, testenv.Path(t, "config/crd/bases"))
	env.StartControllers(t, "garbage-collector-controller", "namespace-controller")
	unlimited := rest.CopyConfig(env.Config)
	unlimited.QPS = -1
	s := &stage{Env: env, tally: newTally()}
	made, err := client.New(unlimited, client.Options{Scheme: env.Scheme})
	must(t, "making a client", err)
	s.people = client.WithFieldOwner(made, person)
	s.kube, err = kubernetes.NewForConfig(unlimited)
	must(t, "making a client", err)
	httpClient, err := rest.HTTPClientFor(unlimited)
	must(t, "making a client", err)
	s.mapper, err = apiutil.NewDynamicRESTMapper(unlimited, httpClient)
	must(t, "reading the kinds", err)

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	must(t, "adding a node", s.people.Create(t.Context(), node))
	// Admission says that it is not ready; nothing here takes that back.
	node.Spec.Taints = nil
	must(t, "readying the node", s.people.Update(t.Context(), node))
	for name, grows := range map[string]bool{elastic: true, rigid: false} {
		must(t, "adding a storage class", s.people.Create(t.Context(), &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "played.spawnery.test", AllowVolumeExpansion: &grows,
		}))
	}
	for _, object := range testenv.ReadManifests(t, testenv.Path(t, "config/rbac/role.yaml")) {
		if object.GetKind() == "ClusterRole" {
			must(t, "adding the manager's role", s.people.Create(t.Context(), object))
		}
	}
	return s
}

func must(t testing.TB, doing string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", doing, err)
	}
}

// trial is one life of a network, in namespaces of its own.
type trial struct {
	*testing.T
	*stage
	seed   uint64
	random *rand.Rand
	began  time.Time
	clock  fastClock
	// namespace holds the network, operator the manager.
	namespace, operator string
	address, folder     string

	ledger *ledger
	logs   *logs
	node   *node
	// manager is nil while none runs; lives counts those there were.
	manager *process
	lives   int
	// gone is true while the operator is uninstalled.
	gone bool
	// kindless is true while the kinds are deleted.
	kindless bool
	// groups and copies count those that were made.
	groups, copies int
}

// newTrial prepares the namespaces, and watches from before anything happens.
func newTrial(t *testing.T, s *stage, number int, seed uint64) *trial {
	began := time.Now()
	one := &trial{
		T: t, stage: s, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), began: began, clock: fastClock{began: began},
		address: address(number), folder: t.TempDir(), ledger: newLedger(began, s.tally), logs: &logs{},
	}
	one.namespace = s.Namespace(t)
	one.operator = one.namespace + operatorSuffix
	one.node = newNode(one, rand.New(rand.NewPCG(seed, 1<<32)))
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		one.node.running.Wait()
	})
	one.watch(ctx, &watching)
	return one
}

// watch sees every event of the namespace's claims and pods, and hands it to
// the ledger before anybody else.
func (t *trial) watch(ctx context.Context, watching *sync.WaitGroup) {
	core := t.kube.CoreV1()
	claims, err := core.PersistentVolumeClaims(t.namespace).List(ctx, metav1.ListOptions{})
	must(t, "listing claims", err)
	follow := func(open func(context.Context, metav1.ListOptions) (watch.Interface, error), take func(watch.Event)) {
		events, err := watchtools.NewRetryWatcherWithContext(ctx, claims.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: open})
		must(t, "watching", err)
		watching.Go(func() {
			for event := range events.ResultChan() {
				take(event)
			}
			if ctx.Err() == nil {
				t.ledger.blind(time.Now())
			}
		})
	}
	follow(core.PersistentVolumeClaims(t.namespace).Watch, func(event watch.Event) {
		if claim, ok := known[*corev1.PersistentVolumeClaim](t, event); ok {
			t.ledger.claim(time.Now(), event.Type, claim)
			t.node.claim(ctx, claim)
		}
	})
	follow(core.Pods(t.namespace).Watch, func(event watch.Event) {
		if pod, ok := known[*corev1.Pod](t, event); ok {
			t.ledger.pod(time.Now(), event.Type, pod)
			t.node.pod(ctx, event.Type, pod)
		}
	})
}

func known[T runtime.Object](t *trial, event watch.Event) (T, bool) {
	object, ok := event.Object.(T)
	if !ok && event.Type != watch.Bookmark {
		t.ledger.blind(time.Now())
	}
	return object, ok && event.Type != watch.Bookmark
}

// install makes what `make deploy` does beside the kinds and the cluster role.
func (t *trial) install() {
	t.ledger.note(time.Now(), "people: install the operator")
	// The API server may still refuse what belongs to a namespace whose
	// predecessor has just gone.
	t.insist("making the operator's namespace", func() error {
		return t.people.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.operator}})
	})
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: t.operator, Name: managerAccount}}
	objects := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.operator, Name: managerAccount}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.operator, Name: managerAccount},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: roleName}, Subjects: subjects,
		},
		t.clusterBinding(subjects),
	}
	for _, object := range testenv.ReadManifests(t, testenv.Path(t, "config/rbac/role.yaml")) {
		if object.GetKind() == "Role" {
			object.SetNamespace(t.operator)
			objects = append(objects, object)
		}
	}
	for _, object := range objects {
		t.insist("installing the operator", func() error { return t.people.Create(t.Context(), object) })
	}
	t.gone = false
}

// roleName is that of both of the manager's roles.
const roleName = "spawnery-manager-role"

func (t *trial) clusterBinding(subjects []rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: t.operator},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName}, Subjects: subjects,
	}
}

// insist repeats what must succeed in the end.
func (t *trial) insist(doing string, do func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); wait(t.Context(), 50*time.Millisecond) {
		if err = do(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", doing, err)
}

// address is a loopback address that no other trial uses, so that a manager
// that starts again finds its port free.
func address(number int) string {
	return fmt.Sprintf("127.%d.%d.%d:9443", 1+processNumber%250, 1+number/250%250, 1+number%250)
}

// logs keep what the managers of a trial said last.
type logs struct {
	mu    sync.Mutex
	lines []string
}

const logsKept = 200

func (l *logs) add(at time.Duration, life int, line string) {
	if strings.Contains(line, `"msg"="Starting `) || strings.Contains(line, `"msg"="Stopping `) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%8.3f s  life %d  %s", at.Seconds(), life, line))
	if len(l.lines) > 2*logsKept {
		l.lines = l.lines[len(l.lines)-logsKept:]
	}
}

func (l *logs) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines[max(0, len(l.lines)-logsKept):], "\n")
}
