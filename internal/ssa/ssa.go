// SPDX-License-Identifier: Apache-2.0

// Package ssa writes by server-side apply: the status of an object, whole, and
// the fields of a child that we own. Each write names the object's UID, so
// that one made again under the same name is never written by mistake.
package ssa

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Status applies status, a pointer to the status struct of object, whole: a
// field that is not set is removed. It does nothing when status equals was, or
// the object is gone. A Conflict means that the object is newer than what the
// pass looked at: a status derived from an older one would take back what the
// newer one holds.
func Status[S any](ctx context.Context, c client.Client, owner client.FieldOwner, object client.Object, was, status *S) error {
	if equality.Semantic.DeepEqual(was, status) {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return fmt.Errorf("render the status of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	applied, err := identity(c, object)
	if err != nil {
		return err
	}
	applied.SetResourceVersion(object.GetResourceVersion())
	applied.Object["status"] = fields
	err = c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), owner, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// Child applies the labels, annotations, owners and spec of wanted to the
// object that exists as child. Fields that others own stay as they are.
func Child(ctx context.Context, c client.Client, owner client.FieldOwner, child, wanted client.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return fmt.Errorf("render %s: %w", client.ObjectKeyFromObject(wanted), err)
	}
	applied := &unstructured.Unstructured{Object: fields}
	kind, err := apiutil.GVKForObject(wanted, c.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", client.ObjectKeyFromObject(wanted), err)
	}
	applied.SetGroupVersionKind(kind)
	applied.SetUID(child.GetUID())
	unstructured.RemoveNestedField(applied.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(applied.Object, "status")
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), owner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s: %w", client.ObjectKeyFromObject(wanted), err)
	}
	return nil
}

func identity(c client.Client, object client.Object) (*unstructured.Unstructured, error) {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find the kind of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	applied.SetGroupVersionKind(kind)
	applied.SetNamespace(object.GetNamespace())
	applied.SetName(object.GetName())
	applied.SetUID(object.GetUID())
	return applied, nil
}
