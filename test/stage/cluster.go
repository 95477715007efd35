// SPDX-License-Identifier: Apache-2.0

// Package stage plays a Minecraft network on a real cluster: the people who run
// it, with kubectl, and the people who join it. The demo and the end-to-end
// tests stand on it.
package stage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Where the overlays of this project put things.
const (
	// Namespace of the network.
	Namespace = "minecraft"
	// SystemNamespace is the manager's.
	SystemNamespace = "spawnery-system"
	// Manager is the name of its Deployment and of its ServiceAccount.
	Manager = "spawnery-manager"
)

// Cluster is a Kubernetes to play on. It is read with the client; what people
// would do is done with kubectl.
type Cluster struct {
	Watcher
	client.Reader

	watcher    client.WithWatch
	kubectl    string
	kubeconfig string
}

// Open prepares to talk to the cluster of a kubeconfig with a kubectl.
func Open(kubeconfig, kubectl string) (*Cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	// Whoever looks four times a second must not be slowed down by himself.
	config.QPS, config.Burst = 100, 200
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &Cluster{Reader: patient{watcher}, watcher: watcher, kubectl: kubectl, kubeconfig: kubeconfig}, nil
}

// Kubectl runs kubectl with what it reads from its standard input, and returns
// what it prints.
//
// While the API server cannot be reached it is run again: nothing was done yet.
// How long it takes once it is reached is not bounded by that.
func (c *Cluster) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	out, err := "", error(nil)
	_ = wait.PollUntilContextTimeout(ctx, interval, patienceLasts, true, func(context.Context) (bool, error) {
		out, err = c.kubectlOnce(ctx, input, args...)
		return err == nil || !unreached.MatchString(err.Error()), nil
	})
	return out, err
}

// unreached is how kubectl says that it had nobody to ask.
var unreached = regexp.MustCompile(`Unable to connect to the server|connection to the server \S+ was refused|TLS handshake timeout`)

// command is a kubectl that talks to this cluster.
func (c *Cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, c.kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	return command
}

func (c *Cluster) kubectlOnce(ctx context.Context, input string, args ...string) (string, error) {
	command := c.command(ctx, args...)
	command.Stdin = strings.NewReader(input)
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}
