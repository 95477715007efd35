// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// cached reads as the manager's cache does, only without ever lagging: it lists
// by the manager's indexes and hides what the operator did not make.
type cached struct {
	client.Client
	indexes map[reflect.Type]map[string]client.IndexerFunc
	// hideServers and hidePods stand for a cache that shows none yet.
	hideServers, hidePods bool
	frozen                map[reflect.Type]map[client.ObjectKey]client.Object
	// afterWrite is called after every change of an object that exists.
	afterWrite func()
}

func (c *cached) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	defer c.wrote()
	return c.Client.Patch(ctx, object, patch, options...)
}

func (c *cached) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	defer c.wrote()
	return c.Client.Apply(ctx, object, options...)
}

func (c *cached) wrote() {
	if c.afterWrite != nil {
		c.afterWrite()
	}
}

// IndexField makes cached the indexer that the manager's indexes are added to.
func (c *cached) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	kind := reflect.TypeOf(object)
	if c.indexes[kind] == nil {
		c.indexes[kind] = map[string]client.IndexerFunc{}
	}
	c.indexes[kind][field] = extract
	return nil
}

func (c *cached) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if still, ok := c.frozen[reflect.TypeOf(object)]; ok {
		if still[key] == nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "frozen"}, key.Name)
		}
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(still[key].DeepCopyObject()).Elem())
		return nil
	}
	if err := c.Client.Get(ctx, key, object, options...); err != nil || !hidden(object) {
		return err
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "hidden"}, key.Name)
}

func hidden(object client.Object) bool {
	switch object.(type) {
	case *corev1.Pod, *corev1.PersistentVolumeClaim, *corev1.Service, *policyv1.PodDisruptionBudget:
		return object.GetLabels()[podspec.LabelManagedBy] != podspec.ManagedBy
	}
	return false
}

func (c *cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	fields := asked.FieldSelector
	asked.FieldSelector = nil
	if err := c.Client.List(ctx, list, asked); err != nil {
		return err
	}
	all, err := apimeta.ExtractList(list)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(one runtime.Object) bool {
		object, ok := one.(client.Object)
		if !ok || hidden(object) || c.late(object) || !c.showsAsFrozen(object) {
			return true
		}
		if fields == nil {
			return false
		}
		for _, wanted := range fields.Requirements() {
			if !c.matches(object, wanted.Field, wanted.Value) {
				return true
			}
		}
		return false
	})
	// A cache keeps no order.
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return apimeta.SetList(list, all)
}

// showsAsFrozen gives an object of a list the state its kind was frozen in, and
// is false for one that did not exist then.
func (c *cached) showsAsFrozen(object client.Object) bool {
	still, ok := c.frozen[reflect.TypeOf(object)]
	if !ok {
		return true
	}
	was := still[client.ObjectKeyFromObject(object)]
	if was != nil {
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(was.DeepCopyObject()).Elem())
	}
	return was != nil
}

func (c *cached) late(object client.Object) bool {
	switch object.(type) {
	case *v1alpha1.Server:
		return c.hideServers
	case *corev1.Pod:
		return c.hidePods
	}
	return false
}

func (c *cached) matches(object client.Object, field, value string) bool {
	extract := c.indexes[reflect.TypeOf(object)][field]
	if extract == nil {
		panic(fmt.Sprintf("no index of %T by %s", object, field))
	}
	return slices.Contains(extract(object), value)
}

// freeze keeps showing these kinds as they are now, as a cache that lags does.
func (c *cached) freeze(w *world, kinds ...client.Object) {
	c.frozen = map[reflect.Type]map[client.ObjectKey]client.Object{}
	for _, kind := range kinds {
		c.frozen[reflect.TypeOf(kind)] = map[client.ObjectKey]client.Object{}
		var all []runtime.Object
		switch kind.(type) {
		case *v1alpha1.Server:
			servers := w.servers()
			for i := range servers {
				all = append(all, &servers[i])
			}
		case *corev1.Pod:
			pods := w.pods(podspec.RoleServer)
			for i := range pods {
				all = append(all, &pods[i])
			}
		case *policyv1.PodDisruptionBudget:
			var budgets policyv1.PodDisruptionBudgetList
			w.Expect(w.Client.List(w.t.Context(), &budgets, client.InNamespace(w.namespace))).To(gomega.Succeed())
			for i := range budgets.Items {
				all = append(all, &budgets.Items[i])
			}
		default:
			w.t.Fatalf("cannot freeze a %T", kind)
		}
		for _, one := range all {
			object := one.(client.Object)
			c.frozen[reflect.TypeOf(kind)][client.ObjectKeyFromObject(object)] = object
		}
	}
}

func (c *cached) thaw() { c.frozen = nil }
