// SPDX-License-Identifier: Apache-2.0

package released

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Breaks are the ways in which a newer channel cannot be spoken with a program
// of the older one, sorted: what is gone and not reserved, or means something
// else. A name or number that is reserved once stays so.
func Breaks(older, newer protoreflect.FileDescriptor) []string {
	var f findings
	f.same(string(older.FullName()), "package", older.Package(), newer.Package())
	f.messages(older.Messages(), newer.Messages())
	f.enums(older.Enums(), newer.Enums())
	f.services(older.Services(), newer.Services())
	slices.Sort(f)
	return f
}

// findings collects breaks.
type findings []string

func (f *findings) add(at, format string, args ...any) {
	*f = append(*f, at+": "+fmt.Sprintf(format, args...))
}

func (f *findings) same(at, what string, was, is any) {
	if was != is {
		f.add(at, "%s was %v, is %v", what, was, is)
	}
}

func (f *findings) messages(older, newer protoreflect.MessageDescriptors) {
	for i := range older.Len() {
		was := older.Get(i)
		at := string(was.FullName())
		is := newer.ByName(was.Name())
		if is == nil {
			f.add(at, "the message is gone")
			continue
		}
		for i := range was.Fields().Len() {
			f.field(was.Fields().Get(i), is)
		}
		for i := range was.ReservedRanges().Len() {
			reserved := was.ReservedRanges().Get(i)
			for number := reserved[0]; number < reserved[1]; number++ {
				if !is.ReservedRanges().Has(number) {
					f.add(at, "%d is no longer reserved", number)
				}
			}
		}
		f.messages(was.Messages(), is.Messages())
		f.enums(was.Enums(), is.Enums())
	}
}

func (f *findings) field(was protoreflect.FieldDescriptor, in protoreflect.MessageDescriptor) {
	at := string(was.FullName())
	is := in.Fields().ByNumber(was.Number())
	if is == nil {
		if !in.ReservedRanges().Has(was.Number()) || !in.ReservedNames().Has(was.Name()) {
			f.add(at, "is gone; reserve its name and number %d", was.Number())
		}
		return
	}
	f.same(at, "the name of number "+fmt.Sprint(was.Number()), was.Name(), is.Name())
	f.same(at, "the kind", was.Kind(), is.Kind())
	f.same(at, "the cardinality", was.Cardinality(), is.Cardinality())
	f.same(at, "presence", was.HasPresence(), is.HasPresence())
	f.same(at, "the type", typeOf(was), typeOf(is))
	f.same(at, "the choice it is part of", choiceOf(was), choiceOf(is))
}

func typeOf(field protoreflect.FieldDescriptor) protoreflect.FullName {
	switch {
	case field.Message() != nil:
		return field.Message().FullName()
	case field.Enum() != nil:
		return field.Enum().FullName()
	}
	return ""
}

func choiceOf(field protoreflect.FieldDescriptor) protoreflect.Name {
	if choice := field.ContainingOneof(); choice != nil && !choice.IsSynthetic() {
		return choice.Name()
	}
	return ""
}

func (f *findings) enums(older, newer protoreflect.EnumDescriptors) {
	for i := range older.Len() {
		was := older.Get(i)
		is := newer.ByName(was.Name())
		if is == nil {
			f.add(string(was.FullName()), "the enum is gone")
			continue
		}
		for i := range was.Values().Len() {
			value := was.Values().Get(i)
			at := string(value.FullName())
			switch now := is.Values().ByNumber(value.Number()); {
			case now != nil:
				f.same(at, "the name of "+fmt.Sprint(value.Number()), value.Name(), now.Name())
			case !is.ReservedRanges().Has(value.Number()):
				f.add(at, "is gone; reserve its name and number %d", value.Number())
			}
		}
	}
}

func (f *findings) services(older, newer protoreflect.ServiceDescriptors) {
	for i := range older.Len() {
		was := older.Get(i)
		is := newer.ByName(was.Name())
		if is == nil {
			f.add(string(was.FullName()), "the service is gone")
			continue
		}
		for i := range was.Methods().Len() {
			method := was.Methods().Get(i)
			at := string(method.FullName())
			now := is.Methods().ByName(method.Name())
			if now == nil {
				f.add(at, "the method is gone")
				continue
			}
			f.same(at, "what it takes", method.Input().FullName(), now.Input().FullName())
			f.same(at, "what it answers", method.Output().FullName(), now.Output().FullName())
			f.same(at, "the stream in", method.IsStreamingClient(), now.IsStreamingClient())
			f.same(at, "the stream out", method.IsStreamingServer(), now.IsStreamingServer())
		}
	}
}
