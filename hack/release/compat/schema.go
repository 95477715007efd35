// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type schema = apiextensionsv1.JSONSchemaProps

// schema compares one field, and what is below it.
func (f *findings) schema(at string, was, is *schema) {
	f.changed(at, "type", was.Type, is.Type)
	f.values(at, was, is)
	f.bounds(at, was, is)
	f.rules(at, was, is)
	f.fields(at, was, is)
	f.elements(at, was, is)
}

// values compares which values a field may have at all.
func (f *findings) values(at string, was, is *schema) {
	allowed := enum(is)
	for _, value := range enum(was) {
		if len(allowed) > 0 && !slices.Contains(allowed, value) {
			f.add(at, "the value %s is gone", value)
		}
	}
	if len(was.Enum) == 0 && len(is.Enum) > 0 {
		f.add(at, "only the values %s are left", strings.Join(allowed, ", "))
	}
	if was.Nullable && !is.Nullable {
		f.add(at, "null is refused")
	}
	if was.XIntOrString && !is.XIntOrString {
		f.add(at, "is no longer a number or a string")
	}
	if is.Pattern != "" {
		f.changed(at, "pattern", was.Pattern, is.Pattern)
	}
	if is.Format != "" {
		f.changed(at, "format", was.Format, is.Format)
	}
}

func enum(s *schema) []string {
	var values []string
	for _, value := range s.Enum {
		values = append(values, string(value.Raw))
	}
	return values
}

// bounds compares limits of numbers, lengths and sizes.
func (f *findings) bounds(at string, was, is *schema) {
	upper(f, at, "maximum", was.Maximum, is.Maximum)
	upper(f, at, "maxLength", was.MaxLength, is.MaxLength)
	upper(f, at, "maxItems", was.MaxItems, is.MaxItems)
	upper(f, at, "maxProperties", was.MaxProperties, is.MaxProperties)
	lower(f, at, "minimum", was.Minimum, is.Minimum)
	lower(f, at, "minLength", was.MinLength, is.MinLength)
	lower(f, at, "minItems", was.MinItems, is.MinItems)
	lower(f, at, "minProperties", was.MinProperties, is.MinProperties)
	if is.MultipleOf != nil && (was.MultipleOf == nil || *was.MultipleOf != *is.MultipleOf) {
		f.add(at, "must be a multiple of %v", *is.MultipleOf)
	}
	for what, pair := range map[string][2]bool{
		"exclusiveMaximum": {was.ExclusiveMaximum, is.ExclusiveMaximum},
		"exclusiveMinimum": {was.ExclusiveMinimum, is.ExclusiveMinimum},
		"uniqueItems":      {was.UniqueItems, is.UniqueItems},
	} {
		if !pair[0] && pair[1] {
			f.add(at, "%s is new", what)
		}
	}
}

// upper compares a limit from above, which may be absent.
func upper[T cmp.Ordered](f *findings, at, what string, was, is *T) {
	switch {
	case is == nil:
	case was == nil:
		f.add(at, "%s %v is new", what, *is)
	case *is < *was:
		f.add(at, "%s was %v, is %v", what, *was, *is)
	}
}

// lower compares a limit from below. For lengths and sizes no limit is 0.
func lower[T cmp.Ordered](f *findings, at, what string, was, is *T) {
	var zero T
	switch {
	case is == nil:
	case was == nil && (what == "minimum" || *is > zero):
		f.add(at, "%s %v is new", what, *is)
	case was != nil && *is > *was:
		f.add(at, "%s was %v, is %v", what, *was, *is)
	}
}

// rules compares what must hold between fields. Whether one rule implies
// another nobody can tell, so another rule is a break, but for one that names a
// field which is new below it: what has no such field may satisfy it. Those are
// left to whoever writes them.
func (f *findings) rules(at string, was, is *schema) {
	fresh := newFields(was, is)
	for _, rule := range is.XValidations {
		known := slices.ContainsFunc(was.XValidations, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == rule.Rule })
		names := slices.ContainsFunc(fresh, func(name string) bool { return word(name).MatchString(rule.Rule) })
		if !known && !names {
			f.add(at, "the rule %q is new", rule.Rule)
		}
	}
	for what, pair := range map[string][2]any{
		"allOf": {was.AllOf, is.AllOf},
		"anyOf": {was.AnyOf, is.AnyOf},
		"oneOf": {was.OneOf, is.OneOf},
		"not":   {was.Not, is.Not},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			f.add(at, "%s is another", what)
		}
	}
}

func word(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
}

// newFields are the names of fields at any depth that only is has.
func newFields(was, is *schema) []string {
	var names []string
	for name, field := range is.Properties {
		old, ok := was.Properties[name]
		if !ok {
			names = append(names, name)
			continue
		}
		names = append(names, newFields(&old, &field)...)
	}
	if is.Items != nil && is.Items.Schema != nil && was.Items != nil {
		names = append(names, newFields(was.Items.Schema, is.Items.Schema)...)
	}
	return names
}

// fields compares the fields of an object.
func (f *findings) fields(at string, was, is *schema) {
	for _, name := range slices.Sorted(maps.Keys(was.Properties)) {
		old := was.Properties[name]
		field, ok := is.Properties[name]
		if !ok {
			f.add(at, "the field %s is gone", name)
			continue
		}
		f.schema(at+"."+name, &old, &field)
	}
	for _, name := range is.Required {
		// A default comes before what is required.
		if !slices.Contains(was.Required, name) && is.Properties[name].Default == nil {
			f.add(at, "the field %s is required", name)
		}
	}
	f.keys(at, was, is)
}

// keys compares what else than its fields an object may hold.
func (f *findings) keys(at string, was, is *schema) {
	keeps := func(s *schema) bool { return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields }
	if keeps(was) && !keeps(is) {
		f.add(at, "unknown fields are no longer kept")
	}
	switch {
	case was.AdditionalProperties == nil || was.AdditionalProperties.Schema == nil:
	case is.AdditionalProperties == nil || is.AdditionalProperties.Schema == nil:
		f.add(at, "keys of one's own are refused")
	default:
		f.schema(at+".*", was.AdditionalProperties.Schema, is.AdditionalProperties.Schema)
	}
}

// elements compares the elements of a list.
func (f *findings) elements(at string, was, is *schema) {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	f.changed(at, "kind of list", text(was.XListType), text(is.XListType))
	f.changed(at, "kind of map", text(was.XMapType), text(is.XMapType))
	if !slices.Equal(was.XListMapKeys, is.XListMapKeys) {
		f.add(at, "keys were %q, are %q", was.XListMapKeys, is.XListMapKeys)
	}
	if was.Items != nil && was.Items.Schema != nil && is.Items != nil && is.Items.Schema != nil {
		f.schema(at+"[]", was.Items.Schema, is.Items.Schema)
	}
}
