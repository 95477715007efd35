// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// dropped are the networks whose directories were dropped.
type dropped struct {
	Sessions

	all []types.NamespacedName
}

func (d *dropped) DropDirectory(network types.NamespacedName) { d.all = append(d.all, network) }

func TestWhatTheChannelHoldsOfANetworkGoesWithIt(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	deleting := &v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{
		Namespace: "minecraft", Name: "deleting", Finalizers: []string{"spawnery.test/stay"}, DeletionTimestamp: new(metav1.Now()),
	}}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(deleting).Build()
	channel := &dropped{}
	byName := (&Reconciler{Client: reader, Sessions: channel}).ByName(reader)
	gone := types.NamespacedName{Namespace: "minecraft", Name: "gone"}
	pass := func(ctx context.Context, name types.NamespacedName) {
		if _, err := byName.Reconcile(ctx, reconcile.Request{NamespacedName: name}); err != nil {
			t.Fatal(err)
		}
	}
	pass(ctx, types.NamespacedName{Namespace: "minecraft", Name: "deleting"})
	pass(ctx, gone)
	if want := []types.NamespacedName{gone}; !slices.Equal(channel.all, want) {
		t.Errorf("dropped were %v, want %v", channel.all, want)
	}
}
