// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/msmp"
)

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// running is a program and its end.
type running struct {
	log     *lockedLog
	console *io.PipeWriter
	ended   chan error
	stop    context.CancelFunc
}

func runProgram(t *testing.T, directory string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	r := &running{log: &lockedLog{}, console: writer, ended: make(chan error, 1), stop: cancel}
	t.Cleanup(func() {
		cancel()
		_ = writer.Close()
	})
	program := Program{Directory: directory, Getenv: noVariables, Name: "survival-0", Console: reader, Log: r.log}
	go func() { r.ended <- program.Run(ctx) }()
	return r
}

func TestProgramEndsWithWhatARealServerSays(t *testing.T) {
	if err := <-runProgram(t, t.TempDir()).ended; !errors.Is(err, ErrEULA) {
		t.Fatalf("without an EULA: %v", err)
	}
	directory := dataDirectory(t, map[string]string{eulaFile: "eula=true", propertiesFile: "management-server-enabled=true\nmanagement-server-secret=short"})
	if err := <-runProgram(t, directory).ended; err == nil {
		t.Fatal("it started with a secret of five characters")
	}
}

func TestProgramKeepsItsWorldHoweverItIsStopped(t *testing.T) {
	game, admin := freePort(t), freePort(t)
	directory := dataDirectory(t, map[string]string{eulaFile: "eula=true", propertiesFile: fmt.Sprintf(
		"server-ip=127.0.0.1\nserver-port=%d\nonline-mode=false\nmanagement-server-enabled=true\nmanagement-server-host=127.0.0.1\n"+
			"management-server-port=%d\nmanagement-server-tls-enabled=false\nmanagement-server-secret=%s\n", game, admin, testSecret)})
	stops := []func(*running) error{
		func(r *running) error { r.stop(); return nil },
		func(r *running) error { _, err := io.WriteString(r.console, "stop\n"); return err },
		func(*running) error {
			client, err := msmp.Dial(testContext(t), net.JoinHostPort("127.0.0.1", strconv.Itoa(admin)), testSecret, nil)
			if err != nil {
				return err
			}
			return errors.Join(client.Stop(testContext(t)), client.Close())
		},
	}
	for i, stop := range stops {
		r := runProgram(t, directory)
		eventually(t, "the start", func() bool { return strings.Contains(r.log.String(), "Done (") })
		b := joinBot(t, BotSettings{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(game)), Name: "player"})
		onServer(t, b, "survival-0")
		want := fmt.Sprintf("This world has seen %d joins", i+1)
		if _, err := b.WaitLine(testContext(t), func(line string) bool { return line == want }); err != nil {
			t.Fatal(err)
		}
		if err := stop(r); err != nil {
			t.Fatal(err)
		}
		if err := <-r.ended; err != nil {
			t.Fatal(err)
		}
	}
}
