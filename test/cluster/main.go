// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a real Kubernetes of one or more nodes on one Linux
// machine, without Docker and without touching the machine's own network
// settings, folders or processes. The developer's view is in the README beside
// this file.
//
// Each node is one process: PID 1 of its own PID, mount, UTS and IPC namespace
// in a named network namespace. It starts and watches containerd, the kubelet
// and kube-proxy, and on node1 the control plane. Killing that one process ends
// everything that the node ever started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const usage = `usage: cluster [flags] COMMAND

  up                           start a cluster, or keep the healthy one there is
  down                         stop it; nothing of it is left but its logs
  status                       say what runs
  load FILE...                 load image archives into every running node
  node stop|pause|start N      cut the power of a node, freeze it, bring it back
  component kill|restart NAME  kill a component and leave it dead, or start it anew

flags:
`

// options is what the command line says about the cluster. Where nodes and grace
// are zero, a cluster that runs is right as it is.
type options struct {
	folder  string
	bin     string
	nodes   int
	network int
	grace   time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// The first process of a node comes in here; it has no command line.
	if len(args) == 2 && args[0] == initCommand {
		return runNode(ctx, args[1])
	}
	o, words, err := parse(args)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("namespaces and mounts need root; run it with sudo")
	}
	return dispatch(ctx, o, words)
}

func parse(args []string) (options, []string, error) {
	var o options
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.StringVar(&o.folder, "folder", "bin/cluster", "where the cluster's kubeconfig, logs and data are; it also names the cluster")
	flags.StringVar(&o.bin, "bin", "bin", "where the binaries and images/*.tar are")
	flags.IntVar(&o.nodes, "nodes", 0, "number of nodes, 1 to 9 (default: as many as run, or 1)")
	flags.IntVar(&o.network, "network", anyNetwork, "number of the network, 0 to 9 (default: one that is free)")
	flags.DurationVar(&o.grace, "grace", 0, "declare a silent node not ready, and evict its pods, this much later (in whole seconds; default: Kubernetes' minutes)")
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, nil, err
	}
	if o.nodes < 0 || o.nodes > maxNodes {
		return o, nil, fmt.Errorf("-nodes is %d, want 1 to %d", o.nodes, maxNodes)
	}
	if o.network != anyNetwork && (o.network < 0 || o.network >= networks) {
		return o, nil, fmt.Errorf("-network is %d, want 0 to %d", o.network, networks-1)
	}
	for _, dir := range []*string{&o.folder, &o.bin} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return o, nil, err
		}
		*dir = abs
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return o, nil, errors.New("no command")
	}
	return o, flags.Args(), nil
}

// action is one thing the program can do.
type action struct {
	// most and least say how many arguments it takes.
	least, most int
	run         func(ctx context.Context, o options, args []string) error
}

const many = 1 << 16

var actions = map[string]action{
	"up":     {run: func(ctx context.Context, o options, _ []string) error { return up(ctx, o) }},
	"down":   {run: func(ctx context.Context, o options, _ []string) error { return down(ctx, o) }},
	"status": {run: func(ctx context.Context, o options, _ []string) error { return status(ctx, o) }},
	"load":   {1, many, load},
	"node":   {2, 2, changeNode},
	"component": {2, 2, func(ctx context.Context, o options, args []string) error {
		return changeComponent(ctx, o, args[0], args[1])
	}},
}

func dispatch(ctx context.Context, o options, words []string) error {
	a, ok := actions[words[0]]
	if n := len(words) - 1; !ok || n < a.least || n > a.most {
		return fmt.Errorf("unknown command %q", words)
	}
	return a.run(ctx, o, words[1:])
}
