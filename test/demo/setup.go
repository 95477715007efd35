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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/test/stage"
)

// made is the label of what the demo made, with its value.
const made, madeValue = "spawnery.test/made-by", "demo"

func (d *demo) banner() {
	d.line("Spawnery, shown on a real Kubernetes. No step is simulated; the game servers are stand-ins:")
	d.line("no Mojang server or client is distributed with this project. It says which is which.")
	ambient := os.Getenv("KUBECONFIG")
	switch {
	case d.given:
		d.line("the cluster is the one of " + d.kubeconfig)
	case ambient != "" && ambient != d.kubeconfig:
		d.line("KUBECONFIG=" + ambient + " of your environment is left alone;")
		d.line("`make demo KUBECONFIG=...` would use that cluster")
	}
}

// run runs a program that a person would, and shows what it prints.
func (d *demo) run(ctx context.Context, words ...string) error {
	d.command(slices.Clone(words)...)
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
	d.block(string(out))
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// kubectl runs kubectl as a person would, and shows what it prints.
func (d *demo) do(ctx context.Context, input string, words ...string) error {
	d.command(append([]string{"kubectl"}, words...)...)
	out, err := d.cluster.Kubectl(ctx, input, words...)
	d.block(out)
	return err
}

func startCluster(ctx context.Context, d *demo) (string, error) {
	if !d.given {
		if err := d.run(ctx, "make", "--no-print-directory", "cluster"); err != nil {
			return "", err
		}
	}
	var err error
	if d.cluster, err = stage.Open(d.kubeconfig, d.kubectl); err != nil {
		return "", err
	}
	d.cluster.Changed = d.noting
	if err := d.do(ctx, "", "get", "nodes", "-o", "wide"); err != nil {
		return "", err
	}
	var nodes corev1.NodeList
	if err := d.cluster.List(ctx, &nodes); err != nil {
		return "", err
	}
	if len(nodes.Items) == 0 {
		return "", errors.New("the cluster has no nodes")
	}
	info := nodes.Items[0].Status.NodeInfo
	return fmt.Sprintf("Kubernetes %s on %d node(s), %s", info.KubeletVersion, len(nodes.Items), info.ContainerRuntimeVersion), d.clear(ctx)
}

// clear takes away what an earlier showing left, and refuses to touch what
// somebody else has there.
func (d *demo) clear(ctx context.Context) error {
	for _, name := range []string{stage.Namespace, stage.SystemNamespace} {
		var namespace corev1.Namespace
		err := d.cluster.Get(ctx, client.ObjectKey{Name: name}, &namespace)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		case namespace.Labels[made] != madeValue:
			return fmt.Errorf("there is a namespace %s that the demo did not make; it wants to have its own", name)
		}
		if name == stage.Namespace {
			d.line("an earlier demo left its network; it goes first")
			return d.do(ctx, "", "delete", "namespace", stage.Namespace)
		}
	}
	return nil
}

// images says what the images are.
var images = [][2]string{
	{"spawnery.test/operator:dev", "Spawnery itself: manager, agent and proxy"},
	{"spawnery.test/double:dev", "our stand-in for Paper: as strict, reads the files Paper reads, has no world to walk in"},
	{"spawnery.test/npm-server:dev", "a server of the npm package minecraft-protocol, not written here"},
}

func loadImages(ctx context.Context, d *demo) (string, error) {
	for _, image := range images {
		d.line(fmt.Sprintf("%-30s %s", image[0], image[1]))
	}
	archives, err := filepath.Glob(filepath.Join(d.images, "*.tar"))
	if err != nil {
		return "", err
	}
	switch {
	case !d.given:
		err = d.run(ctx, "make", "--no-print-directory", "load")
	case d.loader == "":
		d.line("the nodes must know them; LOAD='kind load image-archive' brings them there, for example")
		return "taken for granted", nil
	default:
		for _, archive := range archives {
			err = errors.Join(err, d.run(ctx, append(strings.Fields(d.loader), archive)...))
		}
	}
	return "loaded into every node, from files; there is no registry", err
}

func install(ctx context.Context, d *demo) (string, error) {
	if err := d.do(ctx, "", "apply", "-k", "test/demo/operator"); err != nil {
		return "", err
	}
	deployment := "deployment/" + stage.Manager
	if d.given || d.installedBefore(ctx) {
		// The image may be another one under the same name.
		if err := d.do(ctx, "", "rollout", "restart", "-n", stage.SystemNamespace, deployment); err != nil {
			return "", err
		}
	}
	if err := d.do(ctx, "", "rollout", "status", "-n", stage.SystemNamespace, deployment, "--timeout=90s"); err != nil {
		return "", err
	}
	return "the manager is Ready, under the ServiceAccount " + stage.Manager + " and the generated role", nil
}

// installedBefore is true when the manager's pods are older than this showing.
func (d *demo) installedBefore(ctx context.Context) bool {
	pods, err := d.cluster.Managers(ctx)
	return err == nil && slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.CreationTimestamp.Time.Before(d.start) })
}

func applyNetwork(ctx context.Context, d *demo) (string, error) {
	if err := d.do(ctx, "", "apply", "-k", "test/demo"); err != nil {
		return "", err
	}
	const limit = 90 * time.Second
	for group, size := range map[string]int{hub: 2, npm: 1, survival: 1} {
		if _, err := d.cluster.AwaitSize(ctx, group, size, limit); err != nil {
			return "", err
		}
	}
	address, err := d.cluster.AwaitDoor(ctx, edge, limit)
	if err != nil {
		return "", err
	}
	d.crowd.Address = address
	if err := d.do(ctx, "", "get", "minecraft", "-n", stage.Namespace); err != nil {
		return "", err
	}
	return "1 proxy, 2 lobbies, 1 world and 1 server from npm are Ready; players type " + address, nil
}

// takeAway leaves a given cluster as the demo found it.
func (d *demo) takeAway(ctx context.Context) error {
	var err error
	if d.cluster, err = stage.Open(d.kubeconfig, d.kubectl); err != nil {
		return err
	}
	if err := d.clear(ctx); err != nil {
		return err
	}
	return d.do(ctx, "", "delete", "-k", "test/demo/operator", "--ignore-not-found")
}
