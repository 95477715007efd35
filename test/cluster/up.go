// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ephemeral is what of a cluster's folder belongs to one life of it. Logs stay
// after the cluster is stopped, until the next one.
var (
	ephemeral = []string{"kubeconfig", "pki", "etcd", "volumes", "node?/containerd", "node?/kubelet", "node?/volumes", "node?/run", "node?/node.json"}
	kept      = []string{"audit*.log", "node?"}
)

// progress prints what was reached, and when.
type progress struct{ begin time.Time }

func (p progress) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}

// up brings the cluster of o.folder into the state that o describes, whatever
// state it is in.
func up(ctx context.Context, o options) error {
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(o.folder, "lock"))
	if err != nil {
		return err
	}
	defer unlock()

	p := progress{begin: time.Now()}
	fingerprint, err := o.fingerprint()
	if err != nil {
		return err
	}
	if r := findRecord(o.folder); r != nil {
		err := healthy(ctx, o, r, fingerprint)
		if err == nil {
			p.say("the cluster of %s is up and healthy, network %d", o.folder, r.Network)
			return nil
		}
		p.say("starting anew: %s", err)
	}
	o.nodes = max(o.nodes, 1)
	r, err := begin(ctx, o, p, fingerprint)
	if err != nil {
		return err
	}
	if err := settle(ctx, o, p, r); err != nil {
		return fmt.Errorf("%w\nlogs: %s/node*/logs", err, o.folder)
	}
	p.say("ready: export KUBECONFIG=%s", o.kubeconfig())
	return nil
}

func (o options) kubeconfig() string { return filepath.Join(o.folder, "kubeconfig") }

// begin ends what is left of the folder's last cluster, takes a network and
// starts the nodes. Meanwhile no other clone can take the same network.
func begin(ctx context.Context, o options, p progress, fingerprint string) (*record, error) {
	if err := os.MkdirAll(recordFolder, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(recordFolder, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()

	if err := stopAll(ctx, o); err != nil {
		return nil, err
	}
	if err := removeFiles(o.folder, slices.Concat(ephemeral, kept)); err != nil {
		return nil, err
	}
	n, err := take(ctx, o, p)
	if err != nil {
		return nil, err
	}
	r := &record{Network: n, Folder: o.folder, Fingerprint: fingerprint, GraceSeconds: int(o.grace.Seconds()), Nodes: make([]process, o.nodes)}
	if err := r.write(); err != nil {
		return nil, err
	}
	if err := n.lay(ctx, o.nodes); err != nil {
		return nil, err
	}
	if err := writePKI(filepath.Join(o.folder, "pki"), n, o.nodes); err != nil {
		return nil, err
	}
	// A link: the file holds a key and keeps its mode.
	if err := os.Symlink(filepath.Join("pki", "admin.kubeconfig"), o.kubeconfig()); err != nil {
		return nil, err
	}
	for number := range o.nodes {
		if err := startNode(o, r, number+1); err != nil {
			return nil, fmt.Errorf("starting %s: %w", nodeName(number+1), err)
		}
	}
	p.say("network %d laid, %d node(s) started", n, o.nodes)
	return r, nil
}

// take finds a network and clears it of what a killed cluster left there.
func take(ctx context.Context, o options, p progress) (network, error) {
	seen, err := survey(ctx)
	if err != nil {
		return 0, err
	}
	chosen, passed, err := choose(o.network, seen)
	if err != nil {
		return 0, err
	}
	for _, reason := range passed {
		p.say("%s", reason)
	}
	if chosen.occupancy() == leftover {
		p.say("taking over network %d from the killed cluster of %s", chosen.network, chosen.owner())
	}
	// Cgroups may be left where nothing else is.
	return chosen.network, chosen.network.sweep(ctx)
}

// startNode starts a node's first process and writes down who it is before it
// does anything.
func startNode(o options, r *record, number int) error {
	n := node{Name: nodeName(number), Number: number, Network: r.Network, Cluster: o.folder, Bin: o.bin, GraceSeconds: r.GraceSeconds}
	folder := filepath.Join(o.folder, n.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := n.write(folder); err != nil {
		return err
	}
	if err := makeCgroups(r.Network.node(number)); err != nil {
		return err
	}
	return r.launch(number, folder)
}

// launch starts the process in new namespaces and tells it to begin once its
// number is written down.
func (r *record) launch(number int, folder string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(folder, "init.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	wait, begin, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = wait.Close() }()
	defer func() { _ = begin.Close() }()

	// No context: the node outlives this command.
	first := exec.Command("nsenter", "--net="+filepath.Join(namespaceFolder, r.Network.node(number)), "--", self, initCommand, folder)
	first.Stdout, first.Stderr, first.ExtraFiles = out, out, []*os.File{wait}
	first.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	if err := first.Start(); err != nil {
		return err
	}
	p, err := identify(first.Process.Pid)
	if err == nil {
		r.Nodes[number-1] = p
		err = r.write()
	}
	if err != nil {
		return errors.Join(err, first.Process.Kill())
	}
	if _, err := begin.Write([]byte{1}); err != nil {
		return err
	}
	return first.Process.Release()
}

// settle waits until the cluster is fit for use.
func settle(ctx context.Context, o options, p progress, r *record) error {
	a, err := newAPI(filepath.Join(o.folder, "pki"), r.Network.server())
	if err != nil {
		return err
	}
	err = await(ctx, 2*time.Minute, "the API server", func() bool { return a.ready(ctx) || len(r.alive()) < o.nodes })
	if err != nil {
		return err
	}
	if len(r.alive()) < o.nodes {
		return fmt.Errorf("a node ended while it started; see %s/node*/init.log", o.folder)
	}
	p.say("API server ready")
	content, err := manifests(r.Network)
	if err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, filepath.Join(o.bin, "kubectl"), "--kubeconfig", o.kubeconfig(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader(string(content))
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("applying the cluster's own manifests: %w: %s", err, out)
	}
	return settlePods(ctx, o, p)
}

func settlePods(ctx context.Context, o options, p progress) error {
	for number := range o.nodes {
		if err := waitForNode(ctx, o, number+1); err != nil {
			return err
		}
	}
	p.say("%d node(s) ready", o.nodes)
	// A pod is refused before its namespace has this account.
	if _, err := kubectl(ctx, o, "wait", "--for=create", "serviceaccount/default", "--timeout=60s"); err != nil {
		return err
	}
	for _, name := range []string{"coredns", "local-path-provisioner"} {
		if _, err := kubectl(ctx, o, "-n", "kube-system", "rollout", "status", "deployment/"+name, "--timeout=120s"); err != nil {
			return err
		}
	}
	p.say("DNS and storage ready")
	return nil
}

func waitForNode(ctx context.Context, o options, number int) error {
	for _, what := range []string{"create", "condition=Ready"} {
		if _, err := kubectl(ctx, o, "wait", "--for="+what, "node/"+nodeName(number), "--timeout=120s"); err != nil {
			return err
		}
	}
	return nil
}

func kubectl(ctx context.Context, o options, args ...string) (string, error) {
	return command(ctx, filepath.Join(o.bin, "kubectl"), append([]string{"--kubeconfig", o.kubeconfig()}, args...)...)
}

// lock waits for its turn. The lock goes with the process, however it ends.
func lock(ctx context.Context, file string) (func(), error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = await(ctx, 10*time.Minute, "another command to let go of "+file, func() bool {
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func removeFiles(folder string, patterns []string) error {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return err
		}
		for _, file := range found {
			if err := os.RemoveAll(file); err != nil {
				return err
			}
		}
	}
	return nil
}
