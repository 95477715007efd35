// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
)

// serve answers plugins in the name of an invented server, and says what they
// did to it, until it is told to end. It returns the program's exit code.
func serve(args []string) int {
	flags := flag.NewFlagSet("agent serve", flag.ContinueOnError)
	here := flags.Bool("local", false, "invent a server; nothing else can be served")
	listen := flags.String("listen-local", local.Address(), "loopback address to answer plugins on")
	server := flags.String("server", "lobby-ab2c", "name of the invented Server")
	group := flags.String("group", "lobby", "name of its ServerGroup")
	slots := flags.Int("slots", 50, "how many players it lets in")
	playable := flags.Int("playable-slots", 0, "the group's playable slots; 0: all of them")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case !*here || flags.NArg() > 0 || *slots < 1 || *playable < 0:
		fmt.Fprintln(os.Stderr, "agent serve: needs --local, no other arguments, at least one slot and no negative playable slots")
		return 2
	}
	if !loopback(*listen) {
		fmt.Fprintf(os.Stderr, "agent serve: --listen-local is %q and has to be a port of a loopback address, such as %s\n", *listen, local.Address())
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	host := local.NewInvented(*server, *group, *slots, *playable, clock.RealClock{}, tellChange)
	if err := serveHost(ctx, aloud{host}, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "agent serve:", err)
		return 1
	}
	return 0
}

// loopback is true for an address that only this machine reaches.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip.IsLoopback())
}

// aloud says what plugins ask the manager for, and what becomes of it.
type aloud struct{ *local.Invented }

// Ask has the invented server answer, and says so unless nothing was to change.
func (a aloud) Ask(ctx context.Context, ask *agentv1alpha1.Ask) (*agentv1alpha1.Answer, error) {
	answer, err := a.Invented.Ask(ctx, ask)
	if what := wished(ask); what != "" && err == nil {
		became := "granted"
		if answer.GetVerdict() != agentv1alpha1.Verdict_VERDICT_DONE {
			became = "refused: " + answer.GetDetail()
		}
		fmt.Printf("a plugin asked for %s: %s\n", what, became)
	}
	return answer, err
}

// wished names what an ask would change; empty when that is nothing.
func wished(ask *agentv1alpha1.Ask) string {
	switch ask := ask.GetAsk().(type) {
	case *agentv1alpha1.Ask_AddBoost:
		return fmt.Sprintf("a boost of %d servers", ask.AddBoost.GetReplicas())
	case *agentv1alpha1.Ask_EndBoost:
		return fmt.Sprintf("the end of boost %q", ask.EndBoost.GetName())
	case *agentv1alpha1.Ask_Retire:
		return "the retirement of its server"
	case *agentv1alpha1.Ask_Connect:
		player := ask.Connect.GetPlayer().GetName()
		if id, err := uuid.FromBytes(ask.Connect.GetPlayer().GetUuid()); err == nil {
			player = id.String()
		}
		return fmt.Sprintf("the move of player %q to %q", player, ask.Connect.GetTo())
	}
	return ""
}

func tellChange(self local.Self) {
	// A Self has nothing in it that JSON cannot hold.
	line, _ := json.Marshal(self)
	fmt.Printf("a plugin asked for something; the server is now %s\n", line)
}

func serveHost(ctx context.Context, host local.Agent, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for plugins (does another one run?): %w", err)
	}
	web := local.NewServer(ctx, host, clock.RealClock{})
	ended := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer ended()
	fmt.Printf("answering plugins on http://%s; try: curl http://%s%s\n", listener.Addr(), listener.Addr(), local.SelfPath)
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer plugins: %w", err)
	}
	return nil
}
