// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/encoding/protojson"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// manager is the other end of the channel: it hears one agent.
type manager struct {
	agentv1alpha1.UnimplementedChannelServer
	t *testing.T
	// hellos, reports and saved are what the agent said, in order.
	hellos  chan *agentv1alpha1.Hello
	reports chan *agentv1alpha1.ServerReport
	saved   chan *agentv1alpha1.SaveResult
	asks    chan *agentv1alpha1.Ask
	orders  chan *agentv1alpha1.ServerOrder
	// capabilities are what it announces.
	capabilities []string
	hangUps      chan struct{}
}

// startManager serves the channel and mounts its address into the pod.
func (p *pod) startManager() *manager {
	p.t.Helper()
	certificate, ca := selfSigned(p.t, p.ip)
	listener, err := net.Listen("tcp", net.JoinHostPort(p.ip, "9443"))
	if err != nil {
		p.t.Fatal(err)
	}
	m := &manager{
		t:      p.t,
		hellos: make(chan *agentv1alpha1.Hello, 100), reports: make(chan *agentv1alpha1.ServerReport, 10000),
		saved: make(chan *agentv1alpha1.SaveResult, 100), orders: make(chan *agentv1alpha1.ServerOrder),
		hangUps: make(chan struct{}), asks: make(chan *agentv1alpha1.Ask, 1000),
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	agentv1alpha1.RegisterChannelServer(server, m)
	go func() { _ = server.Serve(listener) }()
	p.t.Cleanup(server.Stop)
	dir := p.t.TempDir()
	for name, content := range map[string][]byte{"endpoint": []byte(listener.Addr().String()), "ca.crt": ca, "token": []byte("t")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	p.channel.Directory, p.channel.TokenFile = dir, filepath.Join(dir, "token")
	return m
}

// ServerSession implements the channel for one agent.
func (m *manager) ServerSession(stream agentv1alpha1.Channel_ServerSessionServer) error {
	ended := make(chan error, 1)
	go func() { ended <- m.hear(stream) }()
	select {
	case err := <-ended:
		return err
	case <-m.hangUps:
		return errors.New("hung up")
	}
}

// hangUp ends the session that stands.
func (m *manager) hangUp() { m.hangUps <- struct{}{} }

func (m *manager) hear(stream agentv1alpha1.Channel_ServerSessionServer) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		switch said := message.GetMessage().(type) {
		case *agentv1alpha1.ServerMessage_Hello:
			m.hellos <- said.Hello
			welcome := &agentv1alpha1.Welcome{Version: "1.2.3", Capabilities: m.capabilities}
			if err := stream.Send(&agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Welcome{Welcome: welcome}}); err != nil {
				return err
			}
			// The first order is the welcome: none may come before it.
			go m.sendOrders(stream)
		case *agentv1alpha1.ServerMessage_Report:
			m.reports <- said.Report
		case *agentv1alpha1.ServerMessage_Ask:
			m.asks <- said.Ask
		case *agentv1alpha1.ServerMessage_SaveResult:
			m.saved <- said.SaveResult
		}
	}
}

func (m *manager) sendOrders(stream agentv1alpha1.Channel_ServerSessionServer) {
	for {
		select {
		case order := <-m.orders:
			_ = stream.Send(order)
		case <-stream.Context().Done():
			return
		}
	}
}

// awaitReport waits for a report that says something.
func (m *manager) awaitReport(what string, says func(*agentv1alpha1.ServerReport) bool) *agentv1alpha1.ServerReport {
	m.t.Helper()
	var last *agentv1alpha1.ServerReport
	timeout := time.After(patience)
	for {
		select {
		case last = <-m.reports:
			if says(last) {
				return last
			}
		case <-timeout:
			m.t.Fatalf("waited in vain for a report in which %s; last: %s", what, protojson.Format(last))
		}
	}
}

func isReady(r *agentv1alpha1.ServerReport) bool {
	return r.GetGameState() == agentv1alpha1.GameState_GAME_STATE_READY
}

func (m *manager) awaitSave(id string) *agentv1alpha1.SaveResult {
	m.t.Helper()
	select {
	case got := <-m.saved:
		if got.GetId() != id {
			m.t.Errorf("save %q was answered, want %q", got.GetId(), id)
		}
		return got
	case <-time.After(patience):
		m.t.Fatalf("save %q was not answered", id)
		return nil
	}
}

func settings(s *agentv1alpha1.ServerSettings) *agentv1alpha1.ServerOrder {
	return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Settings{Settings: s}}
}

func save(id string) *agentv1alpha1.ServerOrder {
	return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Save{Save: &agentv1alpha1.SaveOrder{Id: id}}}
}

func selfSigned(t *testing.T, ip string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(ip)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestTheManagerLearnsOfAPlayerAtOnce(t *testing.T) {
	p := newPod(t)
	p.spec.Forwarding = serverspec.ForwardingNone
	manager := p.startManager()
	p.startGame(p.game())
	p.startAgent()
	if hello := <-manager.hellos; hello.GetVersion() != "1.2.3" {
		t.Errorf("hello %v, want version 1.2.3", hello)
	}
	manager.awaitReport("the game is ready", func(r *agentv1alpha1.ServerReport) bool {
		return isReady(r) && r.GetSlots() == 50 && r.GetSampledAt() != nil
	})
	p.join("Alice")
	joined := time.Now()
	report := manager.awaitReport("Alice is online", func(r *agentv1alpha1.ServerReport) bool { return r.GetOnline() == 1 })
	if took := time.Since(joined); took > 2*time.Second {
		t.Errorf("the report came %s after the join, want at once", took)
	}
	if name := report.GetPlayers()[0].GetName(); name != "Alice" || len(report.GetPlayers()[0].GetUuid()) != 16 {
		t.Errorf("reported %v, want Alice", report.GetPlayers())
	}
}

func TestReportsComeAlsoWithoutAChange(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	p.channel.Timing.ReportInterval = 50 * time.Millisecond
	p.startGame(p.game())
	p.startAgent()
	for range 3 {
		manager.awaitReport("the game is ready", isReady)
	}
}

func TestSettingsChangeLimitsWithoutARestart(t *testing.T) {
	p := newPod(t)
	p.spec.Forwarding, p.spec.MaxPlayers = serverspec.ForwardingNone, 4
	manager := p.startManager()
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	one := int32(1)
	manager.orders <- settings(&agentv1alpha1.ServerSettings{MaxPlayers: 3, PlayableSlots: &one})
	manager.awaitReport("the group has become smaller", func(r *agentv1alpha1.ServerReport) bool { return r.GetSlots() == 3 })
	client, address := p.proxy()
	if _, err := client.Ask(t.Context(), address, p.ask(person(9))); err != nil {
		t.Fatal(err)
	}
	p.wantRefused(client, address, seats.PlayableSeatsTaken)
	byName := p.ask(person(8))
	byName.Way = seats.ByName
	if _, err := client.Ask(t.Context(), address, byName); err != nil {
		t.Errorf("playable seats bind who asks for the server although they are not enforced: %v", err)
	}
	manager.orders <- settings(&agentv1alpha1.ServerSettings{MaxPlayers: 2, PlayableSlots: &one, EnforcePlayableSlots: true})
	manager.awaitReport("the group has become smaller still", func(r *agentv1alpha1.ServerReport) bool { return r.GetSlots() == 2 })
	manager.orders <- settings(&agentv1alpha1.ServerSettings{MaxPlayers: 3, PlayableSlots: &one, EnforcePlayableSlots: true})
	manager.awaitReport("a seat is free", func(r *agentv1alpha1.ServerReport) bool { return r.GetSlots() == 3 })
	byName.Player = person(7)
	var refused *seats.Refusal
	if _, err := client.Ask(t.Context(), address, byName); !errors.As(err, &refused) || refused.Reason != seats.PlayableSeatsTaken {
		t.Errorf("enforced playable seats answer %v to who asks for the server", err)
	}
	manager.orders <- settings(&agentv1alpha1.ServerSettings{MaxPlayers: 4})
	manager.awaitReport("the group is larger again", func(r *agentv1alpha1.ServerReport) bool { return r.GetSlots() == 4 })
	if _, err := client.Ask(t.Context(), address, p.ask(person(1))); err != nil {
		t.Error(err)
	}
}

func TestASaveIsOrderedOnceAndAnsweredAsOftenAsAsked(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	world := p.game()
	world.Directory = t.TempDir()
	p.startGame(world)
	p.startAgent()
	p.awaitReady()
	for range 2 {
		manager.orders <- save("first")
		if got := manager.awaitSave("first"); got.GetError() != "" {
			t.Errorf("the save failed: %s", got.GetError())
		}
	}
	// What a newer manager orders is nothing to fail about.
	manager.orders <- &agentv1alpha1.ServerOrder{}
	manager.orders <- save("second")
	manager.awaitSave("second")
}

func TestASaveThatCannotBeOrderedIsAnsweredWithTheCause(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	settings := p.game()
	settings.Management = nil
	p.startGame(settings)
	p.startAgent()
	p.awaitReady()
	manager.orders <- save("x")
	if got := manager.awaitSave("x"); got.GetError() == "" {
		t.Error("a game without management protocol was said to be saved")
	}
}
