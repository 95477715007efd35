// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/msmp"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

// asProgram makes the test binary run as the program it tests.
const asProgram = "RUN_AS_DOUBLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

type program struct {
	*exec.Cmd
	out bytes.Buffer
}

func start(t *testing.T, directory string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(os.Args[0])}
	p.Dir, p.Env = directory, append(os.Environ(), asProgram+"=1")
	p.Stdout, p.Stderr = &p.out, &p.out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		if t.Failed() {
			t.Logf("%s", p.out.String())
		}
	})
	return p
}

func write(t *testing.T, directory string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProgramAsksForTheEULAAndExitsWithZero(t *testing.T) {
	p := start(t, t.TempDir())
	if err := p.Wait(); err != nil || !strings.Contains(p.out.String(), "agree to the EULA") {
		t.Fatalf("%v: %s", err, p.out.String())
	}
}

func TestProgramExitsWithOneWhereARealServerDies(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, map[string]string{"eula.txt": "eula=true", "server.properties": "management-server-enabled=true\nmanagement-server-secret=short"})
	p := start(t, directory)
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, p.out.String())
	}
}

func TestProgramKeepsItsWorldOverStops(t *testing.T) {
	const secret = "0123456789abcdefghijABCDEFGHIJ9876543210"
	gamePort, adminPort := freePort(t), freePort(t)
	directory := t.TempDir()
	write(t, directory, map[string]string{"eula.txt": "eula=true", "server.properties": fmt.Sprintf(
		"server-ip=127.0.0.1\nserver-port=%d\nonline-mode=false\nmanagement-server-enabled=true\nmanagement-server-host=127.0.0.1\n"+
			"management-server-port=%d\nmanagement-server-tls-enabled=false\nmanagement-server-secret=%s\n", gamePort, adminPort, secret)})
	game, admin := fmt.Sprintf("127.0.0.1:%d", gamePort), fmt.Sprintf("127.0.0.1:%d", adminPort)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	p := start(t, directory)
	play(ctx, t, game, 1)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}

	p = start(t, directory)
	play(ctx, t, game, 2)
	client, err := msmp.Dial(ctx, admin, secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if err := client.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// play joins once the server answers, and wants the world to have seen so many
// joins.
func play(ctx context.Context, t *testing.T, address string, joins int) {
	t.Helper()
	for {
		if _, err := slp.Ping(ctx, address, 769); err == nil {
			break
		} else if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	bot, err := mctest.Join(ctx, mctest.BotSettings{Address: address, Name: "player"})
	if err != nil {
		t.Fatal(err)
	}
	defer bot.Leave()
	want := fmt.Sprintf("This world has seen %d joins", joins)
	if _, err := bot.WaitLine(ctx, func(line string) bool { return line == want }); err != nil {
		t.Fatal(err)
	}
}
