// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spawnery/spawnery-operator/internal/msmp"
)

func TestOnlyAnOperatorStopsTheServerAndStaysOne(t *testing.T) {
	directory := t.TempDir()
	settings := Settings{Directory: directory + "/world", Operators: directory + "/" + operatorsFile}
	s := startServer(t, settings)
	stranger := joinBot(t, BotSettings{Address: s.Address(), Name: "stranger"})
	onServer(t, stranger, s.settings.Name)
	ask(t, stranger, "stop", "Unknown or incomplete command")
	s.Console("op Stranger")
	ask(t, stranger, "help", "/help, /list, /stop")
	s.Stop()
	<-s.Done()

	s = startServer(t, settings)
	again := joinBot(t, BotSettings{Address: s.Address(), Name: "stranger"})
	onServer(t, again, s.settings.Name)
	other := joinBot(t, BotSettings{Address: s.Address(), Name: "other"})
	onServer(t, other, s.settings.Name)
	ask(t, other, "stop", "Unknown or incomplete command")
	ask(t, again, "stop", "Stopping the server")
	awaitDone(t, s, "an operator could not stop the server")
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

// ask runs a command and waits for the line that answers it.
func ask(t *testing.T, b *Bot, command, want string) {
	t.Helper()
	if err := b.Command(command); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WaitLine(testContext(t), func(line string) bool { return strings.HasPrefix(line, want) }); err != nil {
		t.Fatalf("/%s: no %q: %v", command, want, err)
	}
}

// saving is a server in the middle of a save of 100 s of its clock.
func saving(t *testing.T) (*Server, *clocktesting.FakeClock, <-chan error) {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Now())
	s := startServer(t, Settings{
		FlushDelay: 100 * time.Second, Clock: clk, Management: &ManagementSettings{Secret: strings.Repeat("a1B2", 10)},
	})
	<-s.Started()
	client, _ := dialManagement(t, s)
	saved := make(chan error, 1)
	go func() { saved <- client.Save(testContext(t), msmp.SaveFlush) }()
	eventually(t, "the save", clk.HasWaiters)
	return s, clk, saved
}

func TestNothingIsAnsweredDuringASave(t *testing.T) {
	s, clk, saved := saving(t)
	other, _ := dialManagement(t, s)
	answered := make(chan error, 1)
	go func() {
		_, err := other.Status(testContext(t))
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("the game answered while it saves: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	clk.Step(100 * time.Second)
	for what, end := range map[string]<-chan error{"the save": saved, "the status": answered} {
		if err := <-end; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.Stop()
	awaitDone(t, s, "the stop saved everything once more")
}

func TestAStopDuringASaveWaitsForItAndFindsNothingLeftToSave(t *testing.T) {
	s, clk, _ := saving(t)
	s.Stop()
	select {
	case <-s.Done():
		t.Fatal("the game went while it saves")
	case <-time.After(50 * time.Millisecond):
	}
	clk.Step(100 * time.Second)
	awaitDone(t, s, "the stop saved everything once more")
}

func awaitDone(t *testing.T, s *Server, otherwise string) {
	t.Helper()
	select {
	case <-s.Done():
	case <-testContext(t).Done():
		t.Fatal(otherwise)
	}
}

func TestAWorldThatNobodyCameToHasNothingToSave(t *testing.T) {
	settings := Settings{Directory: t.TempDir(), FlushDelay: time.Hour, Clock: clocktesting.NewFakeClock(time.Now())}
	kept, err := openWorld(settings.Directory)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.save(); err != nil {
		t.Fatal(err)
	}
	kept.close()
	s := startServer(t, settings)
	s.Stop()
	awaitDone(t, s, "an unchanged world was saved for long")
}
