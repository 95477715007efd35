// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/proxytest"
	"github.com/spawnery/spawnery-operator/internal/seats/seatstest"
)

// TestMain makes the test's own binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_PROXY") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the proxy in a directory of its own, with a manager and a lobby.
type program struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	players string
	http    string
	manager *proxytest.Manager
	cmd     *exec.Cmd
}

func newProgram(t *testing.T) *program {
	t.Helper()
	const secret = "a forwarding secret"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &program{t: t, ctx: ctx, dir: t.TempDir(), players: free(t), http: free(t)}
	p.must(os.WriteFile(filepath.Join(p.dir, "secret"), []byte(secret), 0o600))
	game, err := mctest.Start(ctx, mctest.Settings{Name: "lobby-a", MaxPlayers: 20, ForwardingSecret: secret})
	p.must(err)
	agent, err := seatstest.Start(seatstest.Config{Server: "lobby-a", Playable: 20, Slots: 20, Secret: []byte(secret)})
	p.must(err)
	p.manager, err = proxytest.StartManager(p.dir)
	p.must(err)
	t.Cleanup(func() { p.manager.Stop(); agent.Close(); game.Stop(); <-game.Done() })
	p.manager.Tell(&agentv1alpha1.ProxySettings{Network: "production", FallbackGroups: []string{"lobby"}, HoldSeconds: 30}, &agentv1alpha1.Directory{
		Revision: 1, Full: true, Groups: []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}},
		Servers: []*agentv1alpha1.DirectoryServer{{
			Name: "lobby-a", Group: "lobby", Address: game.Address(), SeatAddress: agent.Address(), Forwarding: true, Phase: "Ready",
			Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, Players: new(int32(0)), Slots: 20, PlayableSlots: 20,
		}},
	})
	return p
}

func (p *program) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs the program; the same place again after it has ended.
func (p *program) start() {
	p.t.Helper()
	p.cmd = exec.CommandContext(p.ctx, os.Args[0], "--listen="+p.players, "--http="+p.http, "--channel-dir="+p.dir,
		"--token-file="+filepath.Join(p.dir, "token"), "--secret-file="+filepath.Join(p.dir, "secret"),
		"--state-dir="+filepath.Join(p.dir, "state"), "--session-server=http://127.0.0.1:1", "--linger=0s")
	p.cmd.Env = append(os.Environ(), "BE_THE_PROXY=1")
	p.must(p.cmd.Start())
	running := p.cmd
	p.t.Cleanup(func() {
		_ = running.Process.Kill()
		_ = running.Wait()
	})
}

// eventually waits for a condition, told by what it is not.
func (p *program) eventually(what string, holds func() (string, bool)) {
	p.t.Helper()
	for {
		told, ok := holds()
		if ok {
			return
		}
		select {
		case <-p.ctx.Done():
			p.t.Fatalf("it did not come to pass: %s, but %s", what, told)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// readiness waits for an answer of the probe.
func (p *program) readiness(status int, words string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("/readyz answers %d %q", status, words), func() (string, bool) {
		answer, err := http.Get("http://" + p.http + "/readyz")
		if err != nil {
			return err.Error(), false
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return fmt.Sprintf("%d %s, %v", answer.StatusCode, body, err), answer.StatusCode == status && strings.Contains(string(body), words)
	})
}

func (p *program) joined(name string) *mctest.Bot {
	p.t.Helper()
	bot, err := mctest.Join(p.ctx, mctest.BotSettings{Address: p.players, Name: name})
	p.must(err)
	p.t.Cleanup(bot.Leave)
	if _, err := bot.WaitServer(p.ctx, "lobby-a"); err != nil {
		p.t.Fatal(err)
	}
	return bot
}

func TestItServesFromItsLastDirectoryWhileNoManagerAnswers(t *testing.T) {
	p := newProgram(t)
	p.must(os.Mkdir(filepath.Join(p.dir, "state"), 0o700))
	p.start()
	p.readiness(http.StatusOK, "")
	p.joined("Ada")
	p.eventually("the directory is kept", func() (string, bool) {
		content, err := os.ReadFile(filepath.Join(p.dir, "state", "network.pb"))
		return fmt.Sprintf("%q, %v", content, err), strings.Contains(string(content), "lobby-a")
	})
	p.manager.Stop()
	p.must(p.cmd.Process.Kill())
	_ = p.cmd.Wait()

	p.start()
	p.readiness(http.StatusOK, "")
	p.joined("Ben")
}

func TestItIsNotReadyWithoutAServerList(t *testing.T) {
	p := newProgram(t)
	p.manager.Stop()
	p.start()
	p.readiness(http.StatusServiceUnavailable, "the server list has not been received yet")
}

func TestOnSIGTERMItServesUntilEverybodyHasLeft(t *testing.T) {
	p := newProgram(t)
	p.start()
	p.readiness(http.StatusOK, "")
	older := p.joined("Ada")
	p.must(p.cmd.Process.Signal(syscall.SIGTERM))
	p.readiness(http.StatusServiceUnavailable, "withdrawn")
	newer := p.joined("Ben")
	for _, bot := range []*mctest.Bot{older, newer} {
		if bot.Err() != nil {
			t.Errorf("%s: %v", bot.Name(), bot.Err())
		}
		bot.Leave()
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
