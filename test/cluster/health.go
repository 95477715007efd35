// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// fingerprint stands for everything the cluster is made of: this program with
// the configuration in it, the binaries and the images.
func (o options) fingerprint() (string, error) {
	sum := sha256.New()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := addContent(sum, self); err != nil {
		return "", err
	}
	for _, name := range binaries {
		// A binary's file is named after what it was built from.
		file, err := filepath.EvalSymlinks(filepath.Join(o.bin, name))
		if err != nil {
			return "", fmt.Errorf("%w; run `make kube-binaries`", err)
		}
		sum.Write([]byte(file + "\n"))
	}
	images, err := filepath.Glob(filepath.Join(o.bin, "images", "*.tar"))
	if err != nil {
		return "", err
	}
	for _, image := range images {
		if err := addContent(sum, image); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// binaries is what the nodes run, without what is in the images.
var binaries = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	"containerd", "containerd-shim-runc-v2", "ctr", "ptp", "host-local", "portmap",
}

func addContent(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(w, f)
	return err
}

// findRecord returns the record of the folder's cluster, nil if it has none.
func findRecord(folder string) *record {
	for i := range network(networks) {
		if r, err := readRecord(i); err == nil && r != nil && r.Folder == folder {
			return r
		}
	}
	return nil
}

// healthy says what keeps the living cluster r from being the one that o wants.
func healthy(ctx context.Context, o options, r *record, fingerprint string) error {
	if alive := r.alive(); len(alive) < len(r.Nodes) {
		return fmt.Errorf("%d of %d nodes run", len(alive), len(r.Nodes))
	}
	if err := o.wants(r, fingerprint); err != nil {
		return err
	}
	for i, p := range r.Nodes {
		if err := healthyNode(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", nodeName(i+1), err)
		}
	}
	return healthyAPI(ctx, o, r)
}

// wants says in what r differs from what was asked for.
func (o options) wants(r *record, fingerprint string) error {
	switch {
	case r.Fingerprint != fingerprint:
		return errors.New("the running cluster is made of other binaries")
	case o.network != anyNetwork && int(r.Network) != o.network:
		return fmt.Errorf("the running cluster has network %d", r.Network)
	case o.nodes != 0 && o.nodes != len(r.Nodes):
		return fmt.Errorf("the running cluster has %d node(s)", len(r.Nodes))
	case o.grace != 0 && int(o.grace.Seconds()) != r.GraceSeconds:
		return fmt.Errorf("the running cluster has a grace of %ds", r.GraceSeconds)
	}
	return nil
}

func healthyNode(ctx context.Context, p process) error {
	a, err := p.ask(ctx, request{Verb: verbList})
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	if !a.Ready {
		return errors.New("it has not started everything")
	}
	for _, c := range a.Components {
		if c.PID == 0 {
			return fmt.Errorf("%s is dead", c.Name)
		}
	}
	return nil
}

func healthyAPI(ctx context.Context, o options, r *record) error {
	a, err := newAPI(filepath.Join(o.folder, "pki"), r.Network.server())
	if err != nil {
		return err
	}
	if !a.ready(ctx) {
		return errors.New("the API server is not ready")
	}
	const ready = `{range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {end}`
	states, err := kubectl(ctx, o, "get", "nodes", "-o", "jsonpath="+ready)
	if err != nil {
		return err
	}
	if got, want := strings.Fields(states), len(r.Nodes); len(got) != want || strings.Count(states, "True") != want {
		return fmt.Errorf("the nodes' readiness is %s", states)
	}
	if _, err := kubectl(ctx, o, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=10s"); err != nil {
		return err
	}
	return nil
}
