// SPDX-License-Identifier: Apache-2.0

package mctest

import "sync"

// hang is a main thread that does nothing, for as long as it lasts.
type hang struct {
	mu  sync.Mutex
	end chan struct{} // closed at its end; nil while the thread works
}

// lasts reports whether the thread hangs.
func (h *hang) lasts() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end != nil
}

// over waits until the thread works.
func (h *hang) over() {
	h.mu.Lock()
	end := h.end
	h.mu.Unlock()
	if end != nil {
		<-end
	}
}

// Hang has the main thread do nothing from now on, as an endless loop in a plugin
// does. The threads of the network go on: the server list is answered and
// connections are taken, but nobody gets in, nothing that players or the
// management protocol say is answered, no keep-alive is sent, and a stop waits.
func (s *Server) Hang() {
	s.thread.Lock()
	s.hang.mu.Lock()
	s.hang.end = make(chan struct{})
	s.hang.mu.Unlock()
	s.logf("The main thread hangs")
}

// Recover ends a Hang. It does nothing to a server that works.
func (s *Server) Recover() {
	s.hang.mu.Lock()
	defer s.hang.mu.Unlock()
	if s.hang.end == nil {
		return
	}
	close(s.hang.end)
	s.hang.end = nil
	s.thread.Unlock()
}
