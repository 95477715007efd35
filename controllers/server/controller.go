// SPDX-License-Identifier: Apache-2.0

// Package server carries one Server through its life: its claim, its pod, its
// registration with the proxies, its drain and its end.
package server

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/pace"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// fieldOwner is the name this controller's writes carry.
const fieldOwner = client.FieldOwner("spawnery-server")

// Sessions is what this controller needs of the channel.
type Sessions interface {
	sighting.Channel
	moves
	orders
}

// moves is what proxies say about a server's players.
type moves interface {
	// Moving sums up how moving players off a server goes.
	Moving(server types.NamespacedName) (sessions.Move, bool)
	// ForwardingProblem is why proxies refuse to join players to a server.
	ForwardingProblem(server types.NamespacedName) agentv1alpha1.ForwardingState
	// Tally compares the game's count with that of these proxies, which are all.
	Tally(pod types.UID, proxies []types.UID) sessions.Tally
}

// orders is what an agent is told.
type orders interface {
	// SetServerSettings states what the agent of a pod is to know.
	SetServerSettings(pod types.UID, settings *agentv1alpha1.ServerSettings)
	// AskToSave orders the world to be written, once, and says how far it is.
	AskToSave(pod types.UID) (sessions.Saved, error)
	// Forget drops what is known of a pod that is gone.
	Forget(pod types.UID)
}

// Reconciler reconciles Servers.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache: for names that a cache may not show.
	Live     client.Reader
	Sessions Sessions
	Events   recorder.EventRecorder
	Clock    clock.PassiveClock
	// Image is the operator's own, which holds the agent.
	Image string
	// StartupDeadline holds for groups that set none.
	StartupDeadline time.Duration
	// LeaderSince is when this process began to lead.
	LeaderSince func() time.Time
	// DrainTaints are keys of taints that say, beside the known ones, that a node
	// leaves.
	DrainTaints []string
	// HookValue draws the secret of a pod's stop hook.
	HookValue func() string

	pacer pace.Pacer
	// whims bounds writes that plugins cause.
	whims pace.Budget
	// growth spaces attempts to grow claims that were refused.
	growth pace.Pacer
}

// +kubebuilder:rbac:groups=spawnery.cloud,resources=servers,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servers/status,verbs=get;patch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servergroups;networks,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=create;get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// Reconcile brings one Server up to date: it observes, decides, acts and
// reports, and reports also when acting failed.
func (r *Reconciler) Reconcile(ctx context.Context, server *v1alpha1.Server) (ctrl.Result, error) {
	seen, err := r.observe(ctx, server)
	if err != nil {
		return ctrl.Result{}, err
	}
	life := r.life(seen)
	decision := phase.Decide(life.Of(server))
	pass := &pass{server: server, seen: seen, life: life, decision: decision}
	ended := outcome.Run(ctx, pass, r.steps())
	if pass.released {
		r.pacer.Forget(server.UID)
		r.whims.Forget(server.UID)
		return ended.Result(0), ended.Err
	}
	due, err := r.report(ctx, pass, ended)
	if err != nil {
		return ctrl.Result{}, err
	}
	due = outcome.Soonest(due, pass.recheck)
	return ended.Result(outcome.Soonest(due, outcome.Until(decision.Recheck, seen.now))), nil
}

// pass is one pass over one Server; its steps add what they did.
type pass struct {
	server   *v1alpha1.Server
	seen     observation
	life     *sighting.Life
	decision phase.Decision

	// pod is what the Server's pod is called from now on.
	podName string
	podUID  types.UID
	// resizeError is what the API server said when the claim was to grow.
	resizeError string
	// resizePending is true while the grown claim waits for a restart.
	resizePending bool
	// recheck is when something that stops no step is to be tried again.
	recheck time.Duration
	// released is true once the Server object is on its way out.
	released bool
}

// recheckIn asks for another pass, at the latest after this time.
func (p *pass) recheckIn(wait time.Duration) {
	p.recheck = outcome.Soonest(p.recheck, wait)
}
