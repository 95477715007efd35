// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// wake is what travels from the channel to a controller's queue.
type wake = event.TypedGenericEvent[types.NamespacedName]

// wakes hands each controller the objects that the channel has news for.
type wakes struct {
	store *sessions.Store
	kinds map[sessions.Kind]chan wake
}

func newWakes(store *sessions.Store) *wakes {
	return &wakes{store: store, kinds: map[sessions.Kind]chan wake{
		sessions.Server:      make(chan wake),
		sessions.ServerGroup: make(chan wake),
		sessions.ProxyGroup:  make(chan wake),
		sessions.Network:     make(chan wake),
	}}
}

// of is the source of one kind's wakes.
func (w *wakes) of(kind sessions.Kind) source.Source {
	return source.Channel(w.kinds[kind], handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(_ context.Context, e wake, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			queue.Add(reconcile.Request{NamespacedName: e.Object})
		},
	})
}

// NeedLeaderElection says that only the leader has sessions to hear from.
func (*wakes) NeedLeaderElection() bool { return true }

// Start delivers until ctx ends.
func (w *wakes) Start(ctx context.Context) error {
	w.store.Deliver(ctx, func(news sessions.Wake) {
		select {
		case w.kinds[news.Kind] <- wake{Object: news.NamespacedName}:
		case <-ctx.Done():
		}
	})
	return nil
}
