// SPDX-License-Identifier: Apache-2.0

// Command double is the server double as a program, to stand in for a real
// Minecraft server in an image. It knows nothing of Spawnery: it reads the
// files and the variables a real server reads, from its working directory, and
// refuses to start where a real one refuses.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// startupDelay makes it visible that a server takes time to start.
const startupDelay = time.Second

func main() {
	switch err := run(); {
	case errors.Is(err, mctest.ErrEULA):
		fmt.Println(err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "Failed to start the minecraft server:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	settings, err := mctest.ReadSettings(".", os.Getenv)
	if err != nil {
		return err
	}
	if settings.Name, err = os.Hostname(); err != nil {
		return err
	}
	settings.StartupDelay, settings.Log = startupDelay, os.Stdout
	server, err := mctest.Start(ctx, settings)
	if err != nil {
		return err
	}
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			server.Console(lines.Text())
		}
	}()
	<-server.Done()
	return server.Err()
}
