// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// running returns the folder's cluster if any of it lives.
func running(o options) (*record, error) {
	r := findRecord(o.folder)
	if r == nil || len(r.alive()) == 0 {
		return nil, fmt.Errorf("no cluster of %s runs; start one with `make cluster`", o.folder)
	}
	return r, nil
}

// status prints each node and component, and fails if the cluster is not whole.
func status(ctx context.Context, o options) error {
	r, err := running(o)
	if err != nil {
		return err
	}
	fmt.Printf("network %d, API server %s, kubeconfig %s\n", r.Network, r.Network.server(), o.kubeconfig())
	for i, p := range r.Nodes {
		fmt.Printf("%s %s: %s\n", nodeName(i+1), r.Network.address(i+1), r.state(i+1))
		a, err := p.ask(ctx, request{Verb: verbList})
		if err != nil {
			continue
		}
		for _, c := range a.Components {
			state := "running"
			if c.PID == 0 {
				state = "dead"
			}
			fmt.Printf("  %-24s %-8s started %d time(s)\n", c.Name, state, c.Starts)
		}
	}
	return healthy(ctx, o, r, r.Fingerprint)
}

func (r *record) state(number int) string {
	switch {
	case !r.Nodes[number-1].alive():
		return "stopped"
	case freezerOf(r.Network.node(number)).is(freeze):
		return "paused"
	}
	return "running"
}

// load imports image archives into every node that runs.
func load(ctx context.Context, o options, archives []string) error {
	r, err := running(o)
	if err != nil {
		return err
	}
	begin := time.Now()
	for i, p := range r.Nodes {
		if r.state(i+1) != "running" {
			fmt.Printf("%s does not run and gets no image\n", nodeName(i+1))
			continue
		}
		for _, archive := range archives {
			_, err := command(ctx, filepath.Join(o.bin, "ctr"), "--address", p.root(containerdSocket), "-n", "k8s.io", "images", "import", archive)
			if err != nil {
				return fmt.Errorf("loading into %s: %w", nodeName(i+1), err)
			}
		}
		if err := nameByDigest(ctx, o, p.root(containerdSocket)); err != nil {
			return fmt.Errorf("loading into %s: %w", nodeName(i+1), err)
		}
	}
	fmt.Printf("%d image(s) loaded into the nodes in %.1fs\n", len(archives), time.Since(begin).Seconds())
	return nil
}

// nameByDigest gives our images the names by digest that pulled ones have.
func nameByDigest(ctx context.Context, o options, socket string) error {
	ctr := func(args ...string) (string, error) {
		return command(ctx, filepath.Join(o.bin, "ctr"), append([]string{"--address", socket, "-n", "k8s.io", "images"}, args...)...)
	}
	list, err := ctr("ls")
	if err != nil {
		return err
	}
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) < 3 || !strings.HasPrefix(words[0], "spawnery.test/") || strings.Contains(words[0], "@") {
			continue
		}
		name, _, _ := strings.Cut(words[0], ":")
		if _, err := ctr("tag", "--force", words[0], name+"@"+words[2]); err != nil {
			return err
		}
	}
	return nil
}

// changeNode does to a node what happens to real ones: stop is a power cut,
// pause a machine that hangs, and start ends either.
func changeNode(ctx context.Context, o options, args []string) error {
	what, text := args[0], args[1]
	number, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("reading the node's number: %w", err)
	}
	r, err := running(o)
	if err != nil {
		return err
	}
	if number < 1 || number > len(r.Nodes) {
		return fmt.Errorf("there is no node %d; the cluster has %d", number, len(r.Nodes))
	}
	p, cgroup := r.Nodes[number-1], r.Network.node(number)
	switch what {
	case "stop":
		return stopNode(ctx, p, cgroup)
	case "pause":
		if !p.alive() {
			return errors.New("the node is stopped")
		}
		return freezerOf(cgroup).set(ctx, freeze)
	case "start":
		if p.alive() {
			return freezerOf(cgroup).set(ctx, thaw)
		}
		return bootNode(ctx, o, r, number)
	}
	return fmt.Errorf("a node can be stopped, paused or started; not %q", what)
}

// bootNode starts a node that was stopped. Its disk is as it was.
func bootNode(ctx context.Context, o options, r *record, number int) error {
	cgroup := r.Network.node(number)
	if err := removeCgroups(ctx, func(name string) bool { return name == cgroup }); err != nil {
		return err
	}
	var n node
	if err := n.read(filepath.Join(o.folder, nodeName(number))); err != nil {
		return err
	}
	o.bin = n.Bin
	if err := startNode(o, r, number); err != nil {
		return err
	}
	return await(ctx, 2*time.Minute, nodeName(number)+" to start everything", func() bool {
		return healthyNode(ctx, r.Nodes[number-1]) == nil
	})
}

// changeComponent kills or restarts a component on every node that has it.
func changeComponent(ctx context.Context, o options, what, name string) error {
	r, err := running(o)
	if err != nil {
		return err
	}
	if what != string(verbKill) && what != string(verbRestart) {
		return fmt.Errorf("a component can be killed or restarted; not %q", what)
	}
	found := false
	for i, p := range r.Nodes {
		a, err := p.ask(ctx, request{Verb: verbList})
		if err != nil {
			continue
		}
		for _, c := range a.Components {
			if c.Name != name {
				continue
			}
			found = true
			if _, err := p.ask(ctx, request{Verb: verb(what), Component: name}); err != nil {
				return fmt.Errorf("%s: %w", nodeName(i+1), err)
			}
		}
	}
	if !found {
		return fmt.Errorf("no node that answers has a component %q", name)
	}
	return nil
}
