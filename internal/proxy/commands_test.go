// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// types has a bot run a command, given without its slash.
func (n *network) types(b *mctest.Bot, line string) {
	n.t.Helper()
	if err := b.Command(line); err != nil {
		n.t.Fatal(err)
	}
}

func (n *network) mayRun(b *mctest.Bot, want ...string) {
	n.t.Helper()
	n.eventually(fmt.Sprintf("%s may run %v, and not %v", b.Name(), want, b.Commands()), func() bool {
		return slices.Equal(want, b.Commands())
	})
}

func TestPlayersMoveAboutByCommandsAtEveryProtocol(t *testing.T) {
	protocols, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	for _, number := range protocols.Numbers() {
		b := n.bot(p, fmt.Sprint("Ada", number), func(s *mctest.BotSettings) { s.Protocol = number })
		n.on(b, "lobby-a")
		n.mayRun(b, "help", "hub", "list", "lobby", "server")
		n.types(b, "server survival-0")
		n.on(b, "survival-0")
		n.types(b, "hub")
		n.on(b, "lobby-a")
		n.types(b, "server survival")
		n.on(b, "survival-0")
		n.types(b, "lobby")
		n.on(b, "lobby-a")
		n.types(b, "hub")
		n.hears(b, "You are already on lobby.")
		n.types(b, "server nowhere")
		n.hears(b, "There is no server or group nowhere.")
		n.types(b, "server")
		n.hears(b, "You are on lobby-a. You may go to:")
		n.hears(b, "survival: survival-0")
		answer, err := b.Suggest(n.ctx, "/server su")
		if want := []string{"survival", "survival-0"}; err != nil || !cmp.Equal(want, answer.Matches) {
			t.Errorf("protocol %d: completed as %v, %v", number, answer.Matches, err)
		}
		b.Leave()
	}
	n.unharmed()
}

func TestCommandsThatTheOwnerLeavesToTheServersAreTheirs(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	n.configure(func(s *agentv1alpha1.ProxySettings) {
		s.Commands = &agentv1alpha1.Commands{Names: []string{"hub"}}
	})
	b := n.joined(p, "Ada", "lobby-a")
	n.mayRun(b, "help", "hub", "list")
	n.types(b, "server survival-0")
	n.hears(b, "Unknown or incomplete command")
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.Commands = nil })
	n.types(b, "server survival-0")
	n.on(b, "survival-0")
	n.mayRun(b, "help", "hub", "list", "lobby", "server")
	n.unharmed()
}

// The signature of a swallowed one would be missing in the player's chain, and
// the server would throw them out at their next message.
func TestASignedCommandIsTheServers(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	if err := b.CommandSigned("server survival-0"); err != nil {
		t.Fatal(err)
	}
	n.hears(b, "Unknown or incomplete command")
	if b.Server() != "lobby-a" {
		t.Errorf("the player is on %q", b.Server())
	}
	n.unharmed()
}
