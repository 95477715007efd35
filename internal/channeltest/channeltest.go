// SPDX-License-Identifier: Apache-2.0

// Package channeltest speaks the channel as a released version does, with that
// version's messages and no others: what has been added since is unknown to it.
// It stands in for older agents, proxies and managers in tests.
package channeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/spawnery/spawnery-operator/api/agent/v1alpha1/released"
)

// Sessions of the service.
const (
	ServerSession = "ServerSession"
	ProxySession  = "ProxySession"
)

// Speech is the channel of one version.
type Speech struct {
	version string
	service protoreflect.ServiceDescriptor
}

// Of returns the speech of a released version.
func Of(version string) (*Speech, error) {
	file, err := released.Channel(version)
	if err != nil {
		return nil, err
	}
	return &Speech{version: version, service: file.Services().ByName("Channel")}, nil
}

// Session is one end of a session.
type Session struct {
	version string
	stream  stream
	out, in protoreflect.MessageDescriptor
}

type stream interface {
	SendMsg(message any) error
	RecvMsg(message any) error
}

// Word is a message that was heard.
type Word struct {
	// Kind is the name of the one thing the message holds, as in "welcome";
	// empty for something that this version does not know.
	Kind string
	// Text is the message as JSON without spaces, and without what this version does not know.
	Text string
}

// Dial opens a session as an agent or proxy of the version.
func (s *Speech) Dial(ctx context.Context, conn *grpc.ClientConn, session string) (*Session, error) {
	method := s.service.Methods().ByName(protoreflect.Name(session))
	opened, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+string(s.service.FullName())+"/"+session)
	if err != nil {
		return nil, fmt.Errorf("opening a session of %s: %w", s.version, err)
	}
	return &Session{version: s.version, stream: opened, out: method.Input(), in: method.Output()}, nil
}

// Say sends a message written as JSON. What the version does not know is an
// error.
func (s *Session) Say(text string) error {
	message := dynamicpb.NewMessage(s.out)
	if err := protojson.Unmarshal([]byte(text), message); err != nil {
		return fmt.Errorf("saying it as %s: %w", s.version, err)
	}
	return s.stream.SendMsg(message)
}

// Hear waits for the next message.
func (s *Session) Hear() (Word, error) {
	message := dynamicpb.NewMessage(s.in)
	if err := s.stream.RecvMsg(message); err != nil {
		return Word{}, err
	}
	loose, err := protojson.Marshal(message)
	if err != nil {
		return Word{}, fmt.Errorf("reading it as %s: %w", s.version, err)
	}
	var text bytes.Buffer
	if err := json.Compact(&text, loose); err != nil {
		return Word{}, fmt.Errorf("reading it as %s: %w", s.version, err)
	}
	word := Word{Text: text.String()}
	if field := message.WhichOneof(s.in.Oneofs().Get(0)); field != nil {
		word.Kind = string(field.Name())
	}
	return word, nil
}
