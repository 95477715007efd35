// SPDX-License-Identifier: Apache-2.0

// Package released keeps the channel as each released version speaks it, so
// that what runs beside players and is older, or newer, than its manager goes
// on being understood.
package released

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	// What a channel imports has to be known to read it.
	_ "google.golang.org/protobuf/types/known/timestamppb"
)

// stored holds one file for each version. None is ever edited.
//
//go:embed *.json
var stored embed.FS

const suffix = ".json"

// Versions are those that are kept, sorted as text.
func Versions() ([]string, error) {
	entries, err := stored.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("listing released channels: %w", err)
	}
	versions := make([]string, 0, len(entries))
	for _, entry := range entries {
		versions = append(versions, strings.TrimSuffix(entry.Name(), suffix))
	}
	slices.Sort(versions)
	return versions, nil
}

// Channel is channel.proto as a version was released with it.
func Channel(version string) (protoreflect.FileDescriptor, error) {
	content, err := stored.ReadFile(FileName(version))
	if err != nil {
		return nil, fmt.Errorf("reading the channel of %s: %w", version, err)
	}
	var file descriptorpb.FileDescriptorProto
	if err := protojson.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("reading the channel of %s: %w", version, err)
	}
	return protodesc.NewFile(&file, protoregistry.GlobalFiles)
}

// FileName is where the channel of a version is kept, in this folder.
func FileName(version string) string { return version + suffix }

// Encode is what is kept of a channel.
func Encode(file protoreflect.FileDescriptor) ([]byte, error) {
	loose, err := protojson.Marshal(protodesc.ToFileDescriptorProto(file))
	if err != nil {
		return nil, fmt.Errorf("writing a channel: %w", err)
	}
	// Its spaces differ from one program to the next.
	var even bytes.Buffer
	if err := json.Indent(&even, loose, "", " "); err != nil {
		return nil, fmt.Errorf("writing a channel: %w", err)
	}
	even.WriteByte('\n')
	return even.Bytes(), nil
}
