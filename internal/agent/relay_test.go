// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net"
	"sync"
	"testing"
)

// relay stands between agent and game, so that the game can hang: it still
// takes connections, as a kernel does for a process that does not run.
type relay struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	frozen chan struct{} // nil while bytes flow, closed to let them flow again
	conns  []net.Conn
}

func newRelay(t *testing.T, address, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, target: target}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { r.serve(from) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		r.resume()
		r.mu.Lock()
		for _, conn := range r.conns {
			_ = conn.Close()
		}
		r.mu.Unlock()
		running.Wait()
	})
	return r
}

func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen == nil {
		r.frozen = make(chan struct{})
	}
}

func (r *relay) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen != nil {
		close(r.frozen)
		r.frozen = nil
	}
}

// cut drops every connection.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		_ = conn.Close()
	}
}

// thaw waits while bytes do not flow.
func (r *relay) thaw() {
	r.mu.Lock()
	frozen := r.frozen
	r.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

func (r *relay) serve(from net.Conn) {
	r.thaw()
	to, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = from.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, from, to)
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.copy(to, from) })
	both.Go(func() { r.copy(from, to) })
	both.Wait()
}

func (r *relay) copy(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		r.thaw()
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}
