// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"
)

// network is a network namespace with a loopback of its own, in which the API
// server answers at the address it has outside. Programs that insist on one
// port, as OLM's operators do and two managers would, each have theirs.
type network struct {
	work   chan func()
	closed chan struct{}
	relay  net.Listener
}

// openNetwork makes one; only root may.
func openNetwork(apiServer *rest.Config) (*network, error) {
	n := &network{work: make(chan func()), closed: make(chan struct{})}
	ready := make(chan error)
	go n.run(ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("making a network namespace, which only root may: %w", err)
	}
	address, err := addressOf(apiServer)
	if err != nil {
		n.close()
		return nil, err
	}
	if failed := n.do(func() { n.relay, err = net.Listen("tcp", address) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		n.close()
		return nil, fmt.Errorf("listening inside of a network namespace: %w", err)
	}
	go relay(n.relay, address)
	return n, nil
}

// addressOf is the host and port of an API server.
func addressOf(apiServer *rest.Config) (string, error) {
	found, err := url.Parse(apiServer.Host)
	if err != nil {
		return "", fmt.Errorf("reading the API server's address: %w", err)
	}
	return found.Host, nil
}

// run works on one thread, which is in the namespace and ends with it: it is
// never unlocked.
func (n *network) run(ready chan<- error) {
	runtime.LockOSThread()
	err := syscall.Unshare(syscall.CLONE_NEWNET)
	if err == nil {
		var output []byte
		if output, err = exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, output)
		}
	}
	ready <- err
	for {
		select {
		case work := <-n.work:
			work()
		case <-n.closed:
			return
		}
	}
}

// close ends the namespace, and every process that was started in it.
func (n *network) close() {
	if n.relay != nil {
		_ = n.relay.Close()
	}
	close(n.closed)
}

// do calls a function in the namespace. Sockets and processes that it makes
// stay there.
func (n *network) do(work func()) error {
	done := make(chan struct{})
	select {
	case n.work <- func() { defer close(done); work() }:
		<-done
		return nil
	case <-n.closed:
		return net.ErrClosed
	}
}

// dial connects to an address inside.
func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	var connection net.Conn
	var err error
	failed := n.do(func() { connection, err = (&net.Dialer{}).DialContext(ctx, kind, address) })
	return connection, errors.Join(failed, err)
}

// relay hands every connection on to the same address outside.
func relay(listener net.Listener, address string) {
	for {
		inside, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = inside.Close() }()
			outside, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer func() { _ = outside.Close() }()
			var both sync.WaitGroup
			for to, from := range map[net.Conn]net.Conn{inside: outside, outside: inside} {
				both.Go(func() {
					_, _ = io.Copy(to, from)
					_ = to.(*net.TCPConn).CloseWrite()
				})
			}
			both.Wait()
		}()
	}
}
