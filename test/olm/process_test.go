// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that runs.
type process struct {
	command *exec.Cmd
	ended   chan struct{}

	stopping sync.Once
}

// launch starts a program in a network. It dies with that at the latest, and
// with the test: its parent is the network's thread.
func launch(command *exec.Cmd, inside *network, log string) (*process, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening a log: %w", err)
	}
	command.Stdout, command.Stderr = file, file
	failed := inside.do(func() { err = command.Start() })
	if failed != nil {
		err = failed
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	p := &process{command: command, ended: make(chan struct{})}
	go func() {
		_ = command.Wait()
		_ = file.Close()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the program, by force when it takes longer than the grace, and
// waits until it is gone.
func (p *process) stop(grace time.Duration) {
	p.stopping.Do(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.ended:
		case <-time.After(grace):
			_ = p.command.Process.Kill()
		}
	})
	<-p.ended
}

// running is true until the program has ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// daemon runs a program of bin/ until the test ends.
func (w *world) daemon(t testing.TB, inside *network, name string, environment []string, arguments ...string) {
	t.Helper()
	command := exec.Command(filepath.Join(w.bin, name), arguments...)
	command.Env = append(os.Environ(), environment...)
	p, err := launch(command, inside, filepath.Join(w.logs, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(stopGrace) })
}
