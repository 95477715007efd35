// SPDX-License-Identifier: Apache-2.0

package released_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/agent/v1alpha1/released"
)

var today = agentv1alpha1.File_api_agent_v1alpha1_channel_proto

func TestNothingThatWasReleasedIsTakenBack(t *testing.T) {
	versions, err := released.Versions()
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions are kept: %v", len(versions), err)
	}
	for _, version := range versions {
		channel, err := released.Channel(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range released.Breaks(channel, today) {
			t.Errorf("agents and proxies of %s would be misunderstood: %s", version, broken)
		}
	}
}

func TestWhatIsKeptIsWhatWasEncoded(t *testing.T) {
	versions, err := released.Versions()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		channel, err := released.Channel(version)
		if err != nil {
			t.Fatal(err)
		}
		again, err := released.Encode(channel)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(released.FileName(version))
		if err != nil || string(kept) != string(again) {
			t.Errorf("%s is not kept as it would be written: %v", version, err)
		}
	}
	if _, err := released.Channel("99.0.0"); err == nil {
		t.Error("a version that was never released has a channel")
	}
}

// edited is the channel of today after a change.
func edited(t *testing.T, edit func(*descriptorpb.FileDescriptorProto)) protoreflect.FileDescriptor {
	t.Helper()
	file := proto.CloneOf(protodesc.ToFileDescriptorProto(today))
	edit(file)
	made, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func message(file *descriptorpb.FileDescriptorProto, name string) *descriptorpb.DescriptorProto {
	for _, one := range file.GetMessageType() {
		if one.GetName() == name {
			return one
		}
	}
	return nil
}

func TestWhatBreaksTheChannelIsFound(t *testing.T) {
	const prefix = "spawnery.agent.v1alpha1."
	detail := func(file *descriptorpb.FileDescriptorProto) *descriptorpb.FieldDescriptorProto {
		return message(file, "ServerReport").GetField()[2]
	}
	withoutDetail := func(file *descriptorpb.FileDescriptorProto) *descriptorpb.DescriptorProto {
		report := message(file, "ServerReport")
		report.Field = append(report.Field[:2:2], report.Field[3:]...)
		return report
	}
	tests := map[string]struct {
		edit func(*descriptorpb.FileDescriptorProto)
		want []string
	}{
		"nothing":                 {func(*descriptorpb.FileDescriptorProto) {}, nil},
		"a field that is renamed": {func(f *descriptorpb.FileDescriptorProto) { detail(f).Name, detail(f).JsonName = new("words"), nil }, []string{prefix + "ServerReport.detail: the name of number 3 was detail, is words"}},
		"a field of another type": {func(f *descriptorpb.FileDescriptorProto) {
			detail(f).Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
		}, []string{prefix + "ServerReport.detail: the kind was string, is bytes"}},
		"a field that repeats": {func(f *descriptorpb.FileDescriptorProto) {
			detail(f).Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}, []string{prefix + "ServerReport.detail: the cardinality was optional, is repeated"}},
		"a field that is gone": {func(f *descriptorpb.FileDescriptorProto) { withoutDetail(f) }, []string{prefix + "ServerReport.detail: is gone; reserve its name and number 3"}},
		"a field that is gone and reserved": {func(f *descriptorpb.FileDescriptorProto) {
			report := withoutDetail(f)
			report.ReservedName = []string{"detail"}
			report.ReservedRange = []*descriptorpb.DescriptorProto_ReservedRange{{Start: new(int32(3)), End: new(int32(4))}}
		}, nil},
		"a new field": {func(f *descriptorpb.FileDescriptorProto) {
			hello := message(f, "Hello")
			added := proto.CloneOf(hello.GetField()[0])
			added.Name, added.JsonName, added.Number = new("mood"), new("mood"), new(int32(9))
			hello.Field = append(hello.Field, added)
		}, nil},
		"a message that is gone": {func(f *descriptorpb.FileDescriptorProto) {
			message(f, "ForwardingProblem").Name = new("Trouble")
			message(f, "ProxyReport").GetField()[4].TypeName = new("." + prefix + "Trouble")
		}, []string{
			prefix + "ForwardingProblem: the message is gone",
			prefix + "ProxyReport.forwarding_problems: the type was " + prefix + "ForwardingProblem, is " + prefix + "Trouble",
		}},
		"a value that is gone": {func(f *descriptorpb.FileDescriptorProto) {
			for _, one := range f.GetEnumType() {
				if one.GetName() == "GameState" {
					one.Value = one.Value[:4]
				}
			}
		}, []string{prefix + "GAME_STATE_STOPPING: is gone; reserve its name and number 4"}},
		"a method that is gone": {func(f *descriptorpb.FileDescriptorProto) {
			f.GetService()[0].Method = f.GetService()[0].Method[:1]
		}, []string{prefix + "Channel.ProxySession: the method is gone"}},
		"a stream that is none": {func(f *descriptorpb.FileDescriptorProto) {
			f.GetService()[0].GetMethod()[0].ServerStreaming = new(false)
		}, []string{prefix + "Channel.ServerSession: the stream out was true, is false"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, released.Breaks(today, edited(t, test.edit))); diff != "" {
				t.Errorf("breaks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatWasReservedStaysReserved(t *testing.T) {
	reserved := edited(t, func(f *descriptorpb.FileDescriptorProto) {
		message(f, "Hello").ReservedRange = []*descriptorpb.DescriptorProto_ReservedRange{{Start: new(int32(8)), End: new(int32(10))}}
	})
	want := []string{"spawnery.agent.v1alpha1.Hello: 8 is no longer reserved", "spawnery.agent.v1alpha1.Hello: 9 is no longer reserved"}
	if diff := cmp.Diff(want, released.Breaks(reserved, today)); diff != "" {
		t.Errorf("breaks (-want +got):\n%s", diff)
	}
}
