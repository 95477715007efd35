// SPDX-License-Identifier: Apache-2.0

// Command double is the server double as a program, to stand in for a real
// Minecraft server in an image. It reads the files and the variables a real
// server reads, from its working directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spawnery/spawnery-operator/internal/mctest"
)

func main() {
	saveTakes := flag.Duration("save-takes", 0, "how long a save takes that has something to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	name, err := os.Hostname()
	if err == nil {
		err = mctest.Program{
			Directory: ".", Getenv: os.Getenv, Name: name, Console: os.Stdin, Log: os.Stdout, FlushDelay: *saveTakes,
		}.Run(ctx)
	}
	switch {
	case errors.Is(err, mctest.ErrEULA):
		fmt.Println(err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "Failed to start the minecraft server:", err)
		stop()
		os.Exit(1)
	}
}
