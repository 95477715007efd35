// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	namespaceFolder = "/run/netns"
	linkFolder      = "/sys/class/net"
)

// command runs a program and puts what it said into the error.
func command(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, text)
	}
	return text, nil
}

// await asks until the answer is yes.
func await(ctx context.Context, limit time.Duration, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// survey looks at every network of the machine.
func survey(ctx context.Context) ([]facts, error) {
	routes, err := machineRoutes(ctx)
	if err != nil {
		return nil, err
	}
	seen := make([]facts, networks)
	for i := range seen {
		if seen[i], err = look(ctx, network(i), routes); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func look(ctx context.Context, n network, routes []netip.Prefix) (facts, error) {
	f := facts{network: n}
	var err error
	if f.record, err = readRecord(n); err != nil {
		return f, err
	}
	if f.record != nil {
		f.processes = f.record.alive()
	}
	namespaces, links := n.namespaces(), n.links()
	f.things = append(namespaces, links...)
	for _, ns := range namespaces {
		pids, err := processesIn(ctx, ns)
		if err != nil {
			return f, err
		}
		f.processes = append(f.processes, pids...)
	}
	for _, r := range routes {
		if n.overlaps(r) {
			f.routes = append(f.routes, r)
		}
	}
	return f, nil
}

// namespaces returns the network namespaces that a cluster made on n.
func (n network) namespaces() []string { return entries(namespaceFolder, n.isNode) }

// links returns the machine's ends of a cluster's cables, and its bridge.
func (n network) links() []string {
	return entries(linkFolder, func(name string) bool { return name == n.name() || n.isNode(name) })
}

// entries lists a folder that may not be there.
func entries(dir string, want func(string) bool) []string {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range found {
		if want(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// processesIn returns who lives in a namespace. This decides whether a cluster
// may be taken over, so it asks the kernel and believes no file.
func processesIn(ctx context.Context, namespace string) ([]int, error) {
	out, err := command(ctx, "ip", "netns", "pids", namespace)
	if err != nil {
		if _, gone := os.Stat(filepath.Join(namespaceFolder, namespace)); errors.Is(gone, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var pids []int
	for field := range strings.FieldsSeq(out) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("reading ip netns pids %s: %w", namespace, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// machineRoutes returns where the machine's routes lead, but for those of our
// bridges and the default route.
func machineRoutes(ctx context.Context) ([]netip.Prefix, error) {
	out, err := command(ctx, "ip", "-j", "-4", "route", "show")
	if err != nil {
		return nil, err
	}
	return parseRoutes(out)
}

func parseRoutes(text string) ([]netip.Prefix, error) {
	var routes []struct{ Dst, Dev string }
	if err := json.Unmarshal([]byte(text), &routes); err != nil {
		return nil, fmt.Errorf("reading the machine's routes: %w", err)
	}
	var found []netip.Prefix
	for _, r := range routes {
		if r.Dst == "default" || strings.HasPrefix(r.Dev, prefix) {
			continue
		}
		if !strings.Contains(r.Dst, "/") {
			r.Dst += "/32"
		}
		p, err := netip.ParsePrefix(r.Dst)
		if err != nil {
			return nil, fmt.Errorf("reading the machine's routes: %w", err)
		}
		found = append(found, p.Masked())
	}
	return found, nil
}

// lay makes the bridge and a namespace per node, and connects them. Nothing
// leads out of it, but the machine reaches nodes, pods and Services.
func (n network) lay(ctx context.Context, nodes int) error {
	steps := [][]string{
		{"link", "add", n.name(), "type", "bridge"},
		{"addr", "add", n.machine().String(), "dev", n.name()},
		{"link", "set", n.name(), "up"},
		{"route", "add", n.services().String(), "via", n.address(1).String()},
	}
	for number := range nodes {
		steps = append(steps, n.layNode(number+1, nodes)...)
	}
	for _, step := range steps {
		if _, err := command(ctx, "ip", step...); err != nil {
			return fmt.Errorf("laying the network: %w", err)
		}
	}
	return nil
}

func (n network) layNode(number, nodes int) [][]string {
	ns, address := n.node(number), n.address(number).String()
	steps := [][]string{
		{"netns", "add", ns},
		{"link", "add", ns, "type", "veth", "peer", "name", "eth0", "netns", ns},
		{"link", "set", ns, "master", n.name(), "up"},
		{"-n", ns, "link", "set", "lo", "up"},
		{"-n", ns, "addr", "add", fmt.Sprintf("%s/%d", address, n.machine().Bits()), "dev", "eth0"},
		{"-n", ns, "link", "set", "eth0", "up"},
		{"-n", ns, "route", "add", "unreachable", "default"},
		{"route", "add", n.podsOf(number).String(), "via", address},
	}
	for other := range nodes {
		if other+1 != number {
			steps = append(steps, []string{"-n", ns, "route", "add", n.podsOf(other + 1).String(), "via", n.address(other + 1).String()})
		}
	}
	return steps
}

// sweep removes what a cluster without processes left on the machine: the
// namespaces, the bridge with its routes, the cgroups and the record.
func (n network) sweep(ctx context.Context) error {
	for _, ns := range n.namespaces() {
		if _, err := command(ctx, "ip", "netns", "del", ns); err != nil {
			return fmt.Errorf("sweeping: %w", err)
		}
	}
	for _, link := range n.links() {
		// The kernel takes a cable away with its namespace, some time later.
		if _, err := command(ctx, "ip", "link", "del", link); err != nil && len(entries(linkFolder, func(l string) bool { return l == link })) > 0 {
			return fmt.Errorf("sweeping: %w", err)
		}
	}
	if err := removeCgroups(ctx, n.isNode); err != nil {
		return fmt.Errorf("sweeping: %w", err)
	}
	if err := os.Remove(recordFile(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sweeping: %w", err)
	}
	return nil
}
