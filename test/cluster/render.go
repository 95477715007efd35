// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// files are the configuration of a node's components (config) and what is
// applied to a new cluster (manifests).
//
//go:embed config manifests
var files embed.FS

// values is what the embedded files may refer to.
type values struct {
	Node, Cgroup, DNS, NodePods, Pods string
	LeaseSeconds                      int
}

func (n node) values() values {
	v := values{
		Node:     n.Name,
		Cgroup:   n.Network.node(n.Number),
		DNS:      n.Network.dns().String(),
		NodePods: n.Network.podsOf(n.Number).String(),
		Pods:     n.Network.pods().String(),
		// Kubernetes' default.
		LeaseSeconds: 40,
	}
	if n.GraceSeconds > 0 {
		v.LeaseSeconds = n.GraceSeconds
	}
	return v
}

// render writes the configuration of the node's components.
func (n node) render() error {
	found, err := files.ReadDir("config")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(configFolder, "cni"), 0o755); err != nil {
		return err
	}
	for _, file := range found {
		content, err := fill(filepath.Join("config", file.Name()), n.values())
		if err != nil {
			return err
		}
		target := filepath.Join(configFolder, file.Name())
		if filepath.Ext(target) == ".conflist" {
			// The network plugins read a folder of its own.
			target = filepath.Join(configFolder, "cni", file.Name())
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manifests returns everything that is applied to a new cluster.
func manifests(n network) ([]byte, error) {
	found, err := files.ReadDir("manifests")
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, file := range found {
		content, err := fill(filepath.Join("manifests", file.Name()), values{DNS: n.dns().String()})
		if err != nil {
			return nil, err
		}
		all.Write(content)
		all.WriteString("\n---\n")
	}
	return all.Bytes(), nil
}

func fill(file string, v values) ([]byte, error) {
	t, err := template.ParseFS(files, file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var out bytes.Buffer
	if err := t.Option("missingkey=error").Execute(&out, v); err != nil {
		return nil, fmt.Errorf("filling in %s: %w", file, err)
	}
	return out.Bytes(), nil
}
