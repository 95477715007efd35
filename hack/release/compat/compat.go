// SPDX-License-Identifier: Apache-2.0

// Package compat compares two generations of a kind: what the older one
// accepted the newer one has to accept.
package compat

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Breaks are the ways in which a newer definition of a kind takes something
// away from what is stored or written for the older one, as far as schemas
// tell. Sorted by where they are.
func Breaks(older, newer *apiextensionsv1.CustomResourceDefinition) []string {
	var f findings
	f.changed(older.Name, "group", older.Spec.Group, newer.Spec.Group)
	f.changed(older.Name, "scope", string(older.Spec.Scope), string(newer.Spec.Scope))
	f.changed(older.Name, "kind", older.Spec.Names.Kind, newer.Spec.Names.Kind)
	f.changed(older.Name, "plural", older.Spec.Names.Plural, newer.Spec.Names.Plural)
	for _, was := range older.Spec.Versions {
		at := older.Name + " " + was.Name
		i := slices.IndexFunc(newer.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == was.Name })
		if i < 0 {
			f.add(at, "the version is gone")
			continue
		}
		f.version(at, was, newer.Spec.Versions[i])
	}
	slices.Sort(f)
	return f
}

// findings collects breaks.
type findings []string

func (f *findings) add(at, format string, args ...any) {
	*f = append(*f, at+": "+fmt.Sprintf(format, args...))
}

func (f *findings) changed(at, what, was, is string) {
	if was != is {
		f.add(at, "%s was %q, is %q", what, was, is)
	}
}

func (f *findings) version(at string, was, is apiextensionsv1.CustomResourceDefinitionVersion) {
	if was.Served && !is.Served {
		f.add(at, "the version is no longer served")
	}
	if before, after := subresources(was), subresources(is); !contain(after, before) {
		f.add(at, "subresources were %q, are %q", before, after)
	}
	if was.Schema == nil || is.Schema == nil {
		f.add(at, "a version without a schema")
		return
	}
	f.schema(at+" ", was.Schema.OpenAPIV3Schema, is.Schema.OpenAPIV3Schema)
}

func subresources(v apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var names []string
	if v.Subresources != nil && v.Subresources.Status != nil {
		names = append(names, "status")
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		names = append(names, "scale")
	}
	return names
}

// contain says whether every wanted one is there.
func contain(there, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(there, w) })
}
