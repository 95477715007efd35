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

	"k8s.io/utils/clock"

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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	host := local.NewInvented(*server, *group, *slots, *playable, clock.RealClock{}, tellChange)
	if err := serveHost(ctx, host, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "agent serve:", err)
		return 1
	}
	return 0
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
