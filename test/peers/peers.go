// SPDX-License-Identifier: Apache-2.0

// Package peers runs Minecraft clients and servers that are not ours, as Node
// programs from npm, and reads what they saw. They need the packages that
// `npm ci` installs here.
package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// Event is one thing a peer saw. Which fields are set depends on Kind; see the
// program.
type Event struct {
	Kind     string   `json:"event"`
	State    string   `json:"state"`
	Text     string   `json:"text"`
	Reason   string   `json:"reason"`
	Message  string   `json:"message"`
	Username string   `json:"username"`
	UUID     string   `json:"uuid"`
	Address  string   `json:"address"`
	Host     string   `json:"host"`
	Command  string   `json:"command"`
	ID       string   `json:"id"`
	Names    []string `json:"names"`
	Matches  []string `json:"matches"`
	Port     int      `json:"port"`
	Columns  int      `json:"columns"`
	Favicon  string   `json:"favicon"`
	Protocol int      `json:"protocol"`
	Max      int      `json:"max"`
}

// Peer is a running program.
type Peer struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	events  []Event
	noise   strings.Builder // what was no event, errors too
	ended   bool
}

// ClientSettings describe a client.
type ClientSettings struct {
	Host    string
	Port    string
	Version string // 1.21.4, 26.1
	Name    string
	Env     []string // added to the environment
}

// StartClient runs a client that joins. It is killed when ctx ends.
func StartClient(ctx context.Context, settings ClientSettings) (*Peer, error) {
	return start(ctx, settings.Env, "client.js", settings.Host, settings.Port, settings.Version, settings.Name)
}

// StartServer runs a server with the variables of server.js. It is killed when
// ctx ends.
func StartServer(ctx context.Context, env ...string) (*Peer, error) {
	return start(ctx, env, "server.js")
}

// StartPing asks the server for its entry in the list.
func StartPing(ctx context.Context, host, port, version string) (*Peer, error) {
	return start(ctx, nil, "ping.js", host, port, version)
}

// StartSquid runs a server of flying-squid with the variables of squid.js. It is
// killed when ctx ends.
func StartSquid(ctx context.Context, env ...string) (*Peer, error) {
	return start(ctx, env, "squid.js")
}

// StartMineflayer runs a player of mineflayer who joins. It is killed when ctx
// ends.
func StartMineflayer(ctx context.Context, settings ClientSettings) (*Peer, error) {
	return start(ctx, settings.Env, "mineflayer.js", settings.Host, settings.Port, settings.Version, settings.Name)
}

// StartManagement runs a client of the management protocol at host:port.
func StartManagement(ctx context.Context, address, secret string) (*Peer, error) {
	return start(ctx, nil, "management.mjs", address, secret)
}

// Directory is where the programs are.
func Directory() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if ok && filepath.IsAbs(file) {
		return filepath.Dir(file), nil
	}
	// Built with -trimpath: look for the module around the working directory.
	directory, err := os.Getwd()
	for ; err == nil; directory = filepath.Dir(directory) {
		candidate := filepath.Join(directory, "test", "peers")
		if _, err := os.Stat(filepath.Join(candidate, "package.json")); err == nil {
			return candidate, nil
		}
		if directory == filepath.Dir(directory) {
			return "", errors.New("test/peers is not above the working directory")
		}
	}
	return "", err
}

func start(ctx context.Context, env []string, script string, args ...string) (*Peer, error) {
	directory, err := Directory()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(directory, "node_modules")); err != nil {
		return nil, fmt.Errorf("the packages are not installed, run npm ci in %s: %w", directory, err)
	}
	p := &Peer{
		cmd:     exec.CommandContext(ctx, "node", append([]string{filepath.Join(directory, script)}, args...)...),
		done:    make(chan struct{}),
		changed: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = noise{p}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", script, err)
	}
	go p.read(out)
	return p, nil
}

// noise collects what is no event.
type noise struct{ p *Peer }

func (n noise) Write(b []byte) (int, error) {
	n.p.mu.Lock()
	defer n.p.mu.Unlock()
	return n.p.noise.Write(b)
}

func (p *Peer) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event Event
		err := json.Unmarshal(lines.Bytes(), &event)
		p.mu.Lock()
		if err == nil {
			p.events = append(p.events, event)
		} else {
			_, _ = fmt.Fprintln(&p.noise, lines.Text())
		}
		p.signal()
		p.mu.Unlock()
	}
	// How it ended shows in its events.
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.ended = true
	p.signal()
	p.mu.Unlock()
	close(p.done)
}

// signal wakes everybody who waits; p.mu is held.
func (p *Peer) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Wait waits for an event that fits, among those of the past too.
func (p *Peer) Wait(ctx context.Context, fits func(Event) bool) (Event, error) {
	return p.WaitNth(ctx, 1, fits)
}

// WaitNth waits for the nth event that fits, counted from the beginning.
func (p *Peer) WaitNth(ctx context.Context, n int, fits func(Event) bool) (Event, error) {
	for seen := 0; ; {
		p.mu.Lock()
		fresh, changed, ended := p.events[seen:], p.changed, p.ended
		p.mu.Unlock()
		for _, event := range fresh {
			if fits(event) {
				n--
			}
			if n == 0 {
				return event, nil
			}
		}
		seen += len(fresh)
		if ended {
			return Event{}, fmt.Errorf("the peer has ended; it saw %s", p.Story())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("%w; the peer saw %s", context.Cause(ctx), p.Story())
		}
	}
}

// WaitKind waits for an event of the kind whose text, reason, state or message
// contains what is given.
func (p *Peer) WaitKind(ctx context.Context, kind, contains string) (Event, error) {
	return p.Wait(ctx, func(e Event) bool {
		return e.Kind == kind && strings.Contains(strings.Join([]string{e.Text, e.Reason, e.State, e.Message, e.Command}, "\n"), contains)
	})
}

// Events are all events so far.
func (p *Peer) Events() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Event(nil), p.events...)
}

// Story is everything the peer has printed, for messages.
func (p *Peer) Story() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	story, err := json.Marshal(p.events)
	if err != nil {
		return err.Error()
	}
	return string(story) + p.noise.String()
}

// Send gives the peer one line of input.
func (p *Peer) Send(line string) error {
	_, err := io.WriteString(p.stdin, line+"\n")
	return err
}

// Stop ends the peer in order and waits for it.
func (p *Peer) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
}

// Signal sends the peer's process a signal.
func (p *Peer) Signal(signal syscall.Signal) error { return p.cmd.Process.Signal(signal) }

// Kill ends the peer as a crash does, and waits for it.
func (p *Peer) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Done is closed when the peer has ended.
func (p *Peer) Done() <-chan struct{} { return p.done }
