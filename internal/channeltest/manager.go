// SPDX-License-Identifier: Apache-2.0

package channeltest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// earshot is how many words are kept until somebody waits for one.
const earshot = 1000

// Manager is one of a released version: it answers every Hello with the same
// orders, written as JSON, and hears what it is told.
type Manager struct {
	speech *Speech
	orders []string
	heard  chan Word
}

// NewManager makes one that is not served yet.
func (s *Speech) NewManager(orders ...string) *Manager {
	return &Manager{speech: s, orders: orders, heard: make(chan Word, earshot)}
}

// Option has a gRPC server answer as the manager.
func (m *Manager) Option() grpc.ServerOption {
	return grpc.UnknownServiceHandler(func(_ any, opened grpc.ServerStream) error {
		full, _ := grpc.MethodFromServerStream(opened)
		name, ok := strings.CutPrefix(full, "/"+string(m.speech.service.FullName())+"/")
		method := m.speech.service.Methods().ByName(protoreflect.Name(name))
		if !ok || method == nil {
			return fmt.Errorf("%s has no session %s", m.speech.version, full)
		}
		return m.serve(&Session{version: m.speech.version, stream: opened, out: method.Output(), in: method.Input()})
	})
}

func (m *Manager) serve(session *Session) error {
	for {
		word, err := session.Hear()
		if err != nil {
			return err
		}
		m.heard <- word
		if word.Kind != "hello" {
			continue
		}
		for _, order := range m.orders {
			if err := session.Say(order); err != nil {
				return err
			}
		}
	}
}

// Await takes what was told until a message of a kind fits the words. One that
// the version does not know is an error.
func (m *Manager) Await(ctx context.Context, kind string, words ...string) error {
	var last Word
	for {
		select {
		case last = <-m.heard:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s with %q, last heard %q: %w", kind, words, last.Text, context.Cause(ctx))
		}
		if last.Kind == "" {
			return fmt.Errorf("%s does not know what was said beside %s", m.speech.version, last.Text)
		}
		if last.Fits(kind, words...) {
			return nil
		}
	}
}

// Fits is true for a message of the kind in which all the words are, and none
// of those that begin with an exclamation mark.
func (w Word) Fits(kind string, words ...string) bool {
	return w.Kind == kind && !slices.ContainsFunc(words, func(one string) bool {
		without, absent := strings.CutPrefix(one, "!")
		return strings.Contains(w.Text, without) == absent
	})
}
