// SPDX-License-Identifier: Apache-2.0

// Package proxytest stands in for the manager in tests of a whole proxy: it
// serves the channel and says what the test wants the proxy to know.
package proxytest

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

type stream = grpc.BidiStreamingServer[agentv1alpha1.ProxyMessage, agentv1alpha1.ProxyOrder]

// Manager is the other end of a proxy's channel.
type Manager struct {
	agentv1alpha1.UnimplementedChannelServer
	server *grpc.Server

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at every change
	settings  *agentv1alpha1.ProxySettings
	directory *agentv1alpha1.Directory
	hello     *agentv1alpha1.Hello
	report    *agentv1alpha1.ProxyReport
	orders    []*agentv1alpha1.ProxyOrder
}

// StartManager serves, and writes to dir what a proxy needs to find it: the
// files endpoint, ca.crt and token.
func StartManager(dir string) (*Manager, error) {
	m := &Manager{changed: make(chan struct{})}
	var err error
	m.server, err = serve(dir, m)
	return m, err
}

func serve(dir string, channel agentv1alpha1.ChannelServer) (*grpc.Server, error) {
	// The certificate that standard tests use; it holds for 127.0.0.1.
	borrowed := httptest.NewTLSServer(nil)
	defer borrowed.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for proxies: %w", err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: borrowed.TLS.Certificates,
	})))
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: borrowed.Certificate().Raw})
	for name, content := range map[string][]byte{"endpoint": []byte(listener.Addr().String()), "ca.crt": bundle, "token": []byte("a token")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("leading proxies here: %w", err), listener.Close())
		}
	}
	agentv1alpha1.RegisterChannelServer(server, channel)
	go func() { _ = server.Serve(listener) }()
	return server, nil
}

// Stop ends every session and serves no more.
func (m *Manager) Stop() { m.server.Stop() }

// Tell is what proxies know from now on; nil leaves a part as it is.
func (m *Manager) Tell(settings *agentv1alpha1.ProxySettings, directory *agentv1alpha1.Directory) {
	m.change(func() {
		if settings != nil {
			m.settings = settings
		}
		if directory != nil {
			m.directory = directory
		}
	})
}

// Order has the proxy carry something out, once in each session.
func (m *Manager) Order(order *agentv1alpha1.ProxyOrder) {
	m.change(func() { m.orders = append(m.orders, order) })
}

func (m *Manager) change(edit func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	edit()
	close(m.changed)
	m.changed = make(chan struct{})
}

// Await waits until a report fits, the last one included, and returns it.
func (m *Manager) Await(ctx context.Context, fits func(*agentv1alpha1.ProxyReport) bool) (*agentv1alpha1.ProxyReport, error) {
	for {
		m.mu.Lock()
		report, changed := m.report, m.changed
		m.mu.Unlock()
		if report != nil && fits(report) {
			return report, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return report, fmt.Errorf("waiting for a report: %w", context.Cause(ctx))
		}
	}
}

// Hello is how the proxy introduced itself last; nil before.
func (m *Manager) Hello() *agentv1alpha1.Hello {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hello
}

// ProxySession implements the channel.
func (m *Manager) ProxySession(session stream) error {
	first, err := session.Recv()
	if err != nil || first.GetHello() == nil {
		return fmt.Errorf("no hello: %w", err)
	}
	m.change(func() { m.hello = first.GetHello() })
	go func() {
		for {
			message, err := session.Recv()
			if err != nil {
				return
			}
			if report := message.GetReport(); report != nil {
				m.change(func() { m.report = report })
			}
		}
	}()
	if err := session.Send(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Welcome{Welcome: &agentv1alpha1.Welcome{Version: "test"}}}); err != nil {
		return err
	}
	return m.lead(session)
}

// lead sends what the proxy does not know yet.
func (m *Manager) lead(session stream) error {
	var settings *agentv1alpha1.ProxySettings
	var directory *agentv1alpha1.Directory
	given := 0
	for {
		m.mu.Lock()
		nextSettings, nextDirectory, changed, orders := m.settings, m.directory, m.changed, m.orders[given:]
		m.mu.Unlock()
		if nextSettings != settings {
			settings = nextSettings
			if err := session.Send(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Settings{Settings: settings}}); err != nil {
				return err
			}
		}
		if nextDirectory != directory {
			directory = nextDirectory
			if err := session.Send(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Directory{Directory: directory}}); err != nil {
				return err
			}
		}
		given += len(orders)
		for _, order := range orders {
			if err := session.Send(order); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-session.Context().Done():
			return session.Context().Err()
		}
	}
}
