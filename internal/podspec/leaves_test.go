// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// A field is as easily lost on its way to a pod when it lies deep. So every
// single value of our own types that reaches a pod is changed by itself, its
// neighbours filled in. Types of Kubernetes are taken over whole.
func TestNoValueIsLostOnItsWayToThePod(t *testing.T) {
	network, choices := load[v1alpha1.Network](t, "network"), serverChoices()
	found := 0
	for path := range leaves(reflect.TypeFor[v1alpha1.ServerGroupSpec](), "") {
		if !strings.Contains(path, ".") || !choiceOf(choices, path).reaches {
			continue
		}
		found++
		group := load[v1alpha1.ServerGroup](t, "lobby")
		parent := parentOf(reflect.ValueOf(&group.Spec).Elem(), path)
		for _, neighbour := range parent.Fields() {
			if isLeaf(neighbour.Type()) {
				assign(neighbour, 0)
			}
		}
		before := podspec.Digest(podspec.ResolveServer(network, group))
		assign(fieldBy(parent, path[strings.LastIndex(path, ".")+1:]), 1)
		changed := before != podspec.Digest(podspec.ResolveServer(network, group))
		// Who may reach a port is the policy's alone.
		if wanted := path != "ports.from"; changed != wanted {
			t.Errorf("a change of %s changes the digest: %t, want %t", path, changed, wanted)
		}
	}
	if found < 20 {
		t.Errorf("%d values found below the top; the walk has lost its way", found)
	}
}

// choiceOf is the choice that a path belongs to: the longest one it begins with.
func choiceOf(choices map[string]choice, path string) choice {
	for end := len(path); end > 0; end = strings.LastIndex(path[:end], ".") {
		if found, ok := choices[path[:end]]; ok {
			return found
		}
	}
	return choice{}
}

// leaves are the values in a type of ours that one assignment changes.
func leaves(in reflect.Type, path string) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	for field := range in.Fields() {
		name, inner := path+jsonName(field), field.Type
		if isLeaf(inner) {
			found[name] = inner
			continue
		}
		if inner = element(inner); ours(inner) {
			maps.Copy(found, leaves(inner, name+"."))
		}
	}
	return found
}

func element(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	return of
}

func ours(kind reflect.Type) bool {
	return kind.Kind() == reflect.Struct && kind.PkgPath() == reflect.TypeFor[v1alpha1.ServerGroupSpec]().PkgPath()
}

func isLeaf(kind reflect.Type) bool {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return slices.Contains([]reflect.Kind{reflect.String, reflect.Bool, reflect.Int32, reflect.Int64}, kind.Kind()) ||
		kind == reflect.TypeFor[map[string]string]()
}

// parentOf goes to the struct that holds the last name of a path, and makes
// what is missing on the way: one item of each list.
func parentOf(in reflect.Value, path string) reflect.Value {
	name, below, deeper := strings.Cut(path, ".")
	if !deeper {
		return in
	}
	next := fieldBy(in, name)
	if next.Kind() == reflect.Slice {
		next.Set(reflect.MakeSlice(next.Type(), 1, 1))
		next = next.Index(0)
	}
	if next.Kind() == reflect.Pointer {
		next.Set(reflect.New(next.Type().Elem()))
		next = next.Elem()
	}
	return parentOf(next, below)
}

func fieldBy(in reflect.Value, name string) reflect.Value {
	for i := range in.NumField() {
		if jsonName(in.Type().Field(i)) == name {
			return in.Field(i)
		}
	}
	panic("no field " + name + " in " + in.Type().String())
}

// assign writes one of two values that every leaf can take.
func assign(leaf reflect.Value, which int) {
	if leaf.Kind() == reflect.Pointer {
		leaf.Set(reflect.New(leaf.Type().Elem()))
		leaf = leaf.Elem()
	}
	words := [2]string{"one", "two"}
	if leaf.Type() == reflect.TypeFor[v1alpha1.UserPolicy]() {
		words = [2]string{string(v1alpha1.UserFixed), string(v1alpha1.UserNamespace)}
	}
	switch {
	case leaf.Kind() == reflect.String:
		leaf.SetString(words[which])
	case leaf.Kind() == reflect.Bool:
		leaf.SetBool(which == 1)
	case leaf.CanInt():
		leaf.SetInt(int64(7 + which))
	default:
		leaf.Set(reflect.ValueOf(map[string]string{"name": words[which]}))
	}
}
