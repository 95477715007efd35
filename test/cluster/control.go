// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"
)

// request is what is said to a node over its control socket.
type request struct {
	Verb      verb   `json:"verb"`
	Component string `json:"component,omitempty"`
}

type verb string

const (
	verbList    verb = "list"
	verbKill    verb = "kill"
	verbRestart verb = "restart"
)

// answer is what a node says back.
type answer struct {
	Error string `json:"error,omitempty"`
	// Ready says that the node has started everything that belongs to it.
	Ready      bool             `json:"ready"`
	Components []componentState `json:"components,omitempty"`
}

// componentState is a component as it is now; PID 0 is a dead one.
type componentState struct {
	Name   string `json:"name"`
	PID    int    `json:"pid"`
	Starts int    `json:"starts"`
}

// serve answers requests for as long as the node lives.
func (s *supervisor) serve(ready func() bool) error {
	listener, err := net.Listen("unix", nodeControl)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", nodeControl, err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.answer(conn, ready)
		}
	}()
	return nil
}

func (s *supervisor) answer(conn net.Conn, ready func() bool) {
	defer func() { _ = conn.Close() }()
	var r request
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		return
	}
	var err error
	switch r.Verb {
	case verbList:
	case verbKill:
		err = s.kill(r.Component)
	case verbRestart:
		err = s.restart(r.Component)
	}
	a := answer{Ready: ready(), Components: s.list()}
	if err != nil {
		a.Error = err.Error()
	}
	// Whoever asked may have gone; there is nobody else to tell.
	_ = json.NewEncoder(conn).Encode(a)
}

func (s *supervisor) list() []componentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var states []componentState
	for _, name := range slices.Sorted(maps.Keys(s.running)) {
		u := s.running[name]
		states = append(states, componentState{Name: name, PID: u.pid, Starts: u.starts})
	}
	return states
}

// ask says something to the node whose first process is p.
func (p process) ask(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", p.root(nodeControl))
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return answer{}, err
	}
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return answer{}, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}
