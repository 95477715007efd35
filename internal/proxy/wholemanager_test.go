// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agentauth"
	"github.com/spawnery/spawnery-operator/internal/agentserver"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// wholeManager is the manager's own end of the channel, in front of which the test
// says what the controllers would.
type wholeManager struct {
	n         *network
	store     *sessions.Store
	endpoint  string
	authority []byte
	stop      context.CancelFunc
}

// Authenticate implements agentserver.Authenticator: a token is a pod's name.
func (*wholeManager) Authenticate(_ context.Context, token string) (agentauth.Identity, error) {
	return agentauth.Identity{Role: agentauth.RoleProxy, Namespace: "minecraft", Pod: token, UID: types.UID(token)}, nil
}

// ResolveServer implements agentserver.PodResolver.
func (*wholeManager) ResolveServer(context.Context, agentauth.Identity) (sessions.ServerPod, error) {
	return sessions.ServerPod{}, context.Canceled
}

// ResolveProxy implements agentserver.PodResolver.
func (*wholeManager) ResolveProxy(_ context.Context, pod agentauth.Identity) (sessions.ProxyPod, error) {
	return sessions.ProxyPod{
		UID: pod.UID, Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Pod}, Group: "edge", Network: "production",
	}, nil
}

// managed has a manager lead the proxies that are started from now on.
func (n *network) managed() *wholeManager {
	n.t.Helper()
	n.silent = true
	borrowed := httptest.NewTLSServer(nil)
	n.t.Cleanup(borrowed.Close)
	m := &wholeManager{
		n: n, store: sessions.New(sessions.Config{Version: "test", Clock: clock.RealClock{}}),
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: borrowed.Certificate().Raw}),
	}
	server := agentserver.New(agentserver.Config{
		Authenticator: m, Pods: m, Store: m.store, Clock: clock.RealClock{},
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &borrowed.TLS.Certificates[0], nil },
	})
	listener := listen(n.t)
	m.endpoint = listener.Addr().String()
	ctx, stop := context.WithCancel(n.ctx)
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	m.stop = sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			n.t.Errorf("the manager's channel ended: %v", err)
		}
	})
	n.t.Cleanup(m.stop)
	return m
}

// front starts a proxy that is led by the manager, and waits for it.
func (m *wholeManager) front(name string) *Proxy {
	m.n.t.Helper()
	dir := m.n.t.TempDir()
	for file, content := range map[string][]byte{"endpoint": []byte(m.endpoint), "ca.crt": m.authority, "token": []byte(name)} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			m.n.t.Fatal(err)
		}
	}
	m.store.SetProxySettings(types.UID(name), m.n.settings)
	m.publish()
	p := m.n.front(func(c *Config) { c.Channel.Directory, c.Channel.TokenFile = dir, filepath.Join(dir, "token") })
	m.n.eventually(name+" is led", func() bool { return p.store.View().Complete() })
	return p
}

// publish says what the controller of the Network would.
func (m *wholeManager) publish() {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	directory := sessions.Directory{}
	groups := map[string]bool{}
	for _, s := range m.n.servers {
		entry := proto.CloneOf(s.entry)
		entry.Players = new(int32(len(s.Players())))
		directory.Servers = append(directory.Servers, entry)
		directory.Players += entry.GetPlayers()
		if !groups[entry.GetGroup()] {
			groups[entry.GetGroup()] = true
			directory.Groups = append(directory.Groups, &agentv1alpha1.DirectoryGroup{Name: entry.GetGroup()})
		}
	}
	m.store.SetDirectory(types.NamespacedName{Namespace: "minecraft", Name: "production"}, directory)
}

// places waits until the manager has heard that a player is on a server.
func (m *wholeManager) places(server string, players int) {
	m.n.t.Helper()
	m.n.eventually("the manager knows who is on "+server, func() bool {
		return m.store.Presence(types.NamespacedName{Namespace: "minecraft", Name: server}).On == players
	})
}
