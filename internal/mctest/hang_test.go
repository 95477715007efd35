// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/msmp"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

func TestAServerThatHangsAnswersTheServerListAndNothingElse(t *testing.T) {
	secret := strings.Repeat("a1B2", 10)
	s := startServer(t, Settings{Management: &ManagementSettings{Secret: secret}, KeepAlive: 10 * time.Millisecond})
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "player"})
	onServer(t, b)
	client, err := msmp.Dial(testContext(t), s.ManagementAddress(), secret, func(msmp.Notification) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()

	t.Cleanup(s.Recover)
	s.Hang()
	if status, err := slp.Ping(testContext(t), s.Address(), defaultProtocol); err != nil || status.Online != 1 {
		t.Errorf("the server list: %+v, %v", status, err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	late := joinBot(t, BotSettings{Address: s.Address(), Name: "late"})
	b.ForgetLines()
	if err := b.Command("list"); err != nil {
		t.Fatal(err)
	}
	packets := b.Stats().Packets
	if status, err := client.Status(brief); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the management protocol: %+v, %v", status, err)
	}
	// One keep-alive may have been on its way.
	if now := b.Stats().Packets; now > packets+1 || late.State() != mcproto.StateLogin || len(b.Lines()) > 0 {
		t.Errorf("%d packets, the late one is in %s, the player reads %q", now-packets, late.State(), b.Lines())
	}

	s.Recover()
	onServer(t, late)
	if _, err := b.WaitLine(testContext(t), func(line string) bool { return strings.HasPrefix(line, "There are ") }); err != nil {
		t.Error(err)
	}
	if v := s.Violations(); len(v) > 0 || b.Err() != nil {
		t.Errorf("after it the player is gone: %v, %v", b.Err(), v)
	}
}

func TestAStopWaitsForAServerThatHangs(t *testing.T) {
	s := startServer(t, Settings{})
	<-s.Started()
	t.Cleanup(s.Recover)
	s.Console("hang")
	s.Stop()
	select {
	case <-s.Done():
		t.Error("the server stopped")
	case <-time.After(50 * time.Millisecond): // time in which nothing must happen
	}
	s.Recover()
	<-s.Done()
}
