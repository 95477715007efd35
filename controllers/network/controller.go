// SPDX-License-Identifier: Apache-2.0

// Package network accepts one Network per namespace, prepares the namespace
// for its pods, and keeps the proxies' list of servers true.
package network

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/pace"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// fieldOwner is the name this controller's writes carry.
const fieldOwner = client.FieldOwner("spawnery-network")

// Sessions is what this controller needs of the channel.
type Sessions interface {
	// Server returns what the agent of a pod said last.
	Server(uid types.UID) sessions.ServerState
	// Presence counts who is on a server by the proxies' word.
	Presence(server types.NamespacedName) sessions.Presence
	// SetDirectory replaces the list every proxy of a network is given.
	SetDirectory(network types.NamespacedName, directory sessions.Directory)
	// DropDirectory drops that of a network that is gone.
	DropDirectory(network types.NamespacedName)
	// NetworkPlayers counts who is on any proxy of a network.
	NetworkPlayers(network types.NamespacedName) int
}

// Reconciler reconciles Networks.
type Reconciler struct {
	Client client.Client
	// Kube is not cached: for kinds that are only written, or read by name.
	Kube     kubernetes.Interface
	Sessions Sessions
	// Channel is where pods find the manager, as of now.
	Channel func() podspec.Channel
	Events  recorder.EventRecorder
	Clock   clock.PassiveClock
	// LeaderSince is when this process began to lead.
	LeaderSince func() time.Time
	// Random fills forwarding secrets; it must be fit for that.
	Random func([]byte) (int, error)

	secrets attempts
	pacer   pace.Pacer
}

// +kubebuilder:rbac:groups=spawnery.cloud,resources=networks,verbs=get;list;watch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=networks/status,verbs=get;patch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=proxygroups;servergroups,verbs=get;list;watch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims;pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=create
// +kubebuilder:rbac:groups="",resources=serviceaccounts,resourceNames=spawnery-server;spawnery-proxy,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=spawnery-channel,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io;"",resources=events,verbs=create;patch

// Reconcile brings one Network up to date: it observes, decides, acts and
// reports, and reports also when acting failed.
func (r *Reconciler) Reconcile(ctx context.Context, network *v1alpha1.Network) (ctrl.Result, error) {
	if network.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, network)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := decide(network, seen)
	done := r.act(ctx, network, seen, plan)
	due, err := r.report(ctx, network, seen, plan, done)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: outcome.Soonest(due, outcome.Soonest(done.recheck, outcome.Until(seen.recheck, seen.now)))}, nil
}

// ByName reconciles Networks by their names, which outlive them: what the
// channel holds of one that is gone is dropped.
func (r *Reconciler) ByName(reader client.Client) reconcile.Reconciler {
	standing := reconcile.AsReconciler(reader, r)
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		var network v1alpha1.Network
		if err := reader.Get(ctx, request.NamespacedName, &network); apierrors.IsNotFound(err) {
			r.Sessions.DropDirectory(request.NamespacedName)
			return reconcile.Result{}, nil
		}
		return standing.Reconcile(ctx, request)
	})
}

// attempts remembers in memory when the forwarding secret of a Network was
// last seen to: the operator may create Secrets, never read them, so a new
// process tries once and finds it there.
type attempts struct {
	mu   sync.Mutex
	last map[types.UID]time.Time
}

func (a *attempts) since(uid types.UID) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.last[uid]
	return at, ok
}

func (a *attempts) note(uid types.UID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[types.UID]time.Time{}
	}
	a.last[uid] = now
}
