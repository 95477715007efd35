// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// patience is how long a component that ended by itself stays dead.
const patience = time.Second

// component is one program of a node.
type component struct {
	name string
	args []string
}

// supervisor starts a node's components and starts them again when they end,
// unless they were killed on purpose. As the node's first process it also
// collects what the containers leave behind.
type supervisor struct {
	logs string

	mu      sync.Mutex
	running map[string]*unit
	// waiting has a place for the end of each process that somebody waits for.
	waiting map[int]chan syscall.WaitStatus
}

// unit is a component's state, guarded by the supervisor's lock.
type unit struct {
	component
	pid int
	// starts counts how often it was started.
	starts int
	// wake starts a component that is held dead.
	wake chan struct{}
	held bool
}

func newSupervisor(logs string) *supervisor {
	s := &supervisor{logs: logs, running: map[string]*unit{}, waiting: map[int]chan syscall.WaitStatus{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			s.reap()
		}
	}()
	return s
}

// reap collects every process that has ended: one signal can stand for many.
func (s *supervisor) reap() {
	for {
		// The lock keeps a process from being collected before start knows it.
		s.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if waiter, ok := s.waiting[pid]; ok {
			waiter <- status
			delete(s.waiting, pid)
		}
		s.mu.Unlock()
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// start starts a program that writes to the named log. Its end arrives on the
// channel.
func (s *supervisor) start(c component) (int, <-chan syscall.WaitStatus, error) {
	out, err := os.OpenFile(filepath.Join(s.logs, c.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = out.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = null.Close() }()

	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(filepath.Join(nodeBin, c.args[0]), c.args, &syscall.ProcAttr{
		Env:   []string{"PATH=" + nodeBin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"},
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	ended := make(chan syscall.WaitStatus, 1)
	s.waiting[pid] = ended
	return pid, ended, nil
}

// once runs a program to its end.
func (s *supervisor) once(c component) error {
	_, ended, err := s.start(c)
	if err != nil {
		return err
	}
	if status := <-ended; status != 0 {
		return fmt.Errorf("%s ended with %s", c.name, describe(status))
	}
	return nil
}

// keep keeps a component running from now on.
func (s *supervisor) keep(c component) {
	u := &unit{component: c, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.running[c.name] = u
	s.mu.Unlock()
	go func() {
		for {
			s.live(u)
		}
	}()
}

// live is one life of a component, and the time it stays dead after it.
func (s *supervisor) live(u *unit) {
	s.mu.Lock()
	held := u.held
	s.mu.Unlock()
	if held {
		<-u.wake
	}
	pid, ended, err := s.start(u.component)
	if err != nil {
		log.Print(err)
		time.Sleep(patience)
		return
	}
	s.mu.Lock()
	u.pid = pid
	u.starts++
	s.mu.Unlock()
	log.Printf("%s started as process %d", u.name, pid)

	status := <-ended
	s.mu.Lock()
	u.pid = 0
	s.mu.Unlock()
	log.Printf("%s ended with %s", u.name, describe(status))
	select {
	case <-u.wake:
	case <-time.After(patience):
	}
}

// kill ends a component as a crash would, and holds it dead.
func (s *supervisor) kill(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.find(name)
	if err != nil {
		return err
	}
	u.held = true
	select {
	case <-u.wake:
	default:
	}
	return u.end()
}

// restart ends a component if it runs, and starts it at once.
func (s *supervisor) restart(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.find(name)
	if err != nil {
		return err
	}
	u.held = false
	select {
	case u.wake <- struct{}{}:
	default:
	}
	return u.end()
}

// end needs the lock.
func (u *unit) end() error {
	if u.pid == 0 {
		return nil
	}
	return syscall.Kill(u.pid, syscall.SIGKILL)
}

// find needs the lock.
func (s *supervisor) find(name string) (*unit, error) {
	u, ok := s.running[name]
	if !ok {
		return nil, fmt.Errorf("no component %q on this node", name)
	}
	return u, nil
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
