// SPDX-License-Identifier: Apache-2.0

// Package e2e tests a whole network on a real cluster: the demo's scenario with
// assertions. `make e2e` brings the cluster and runs it.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

var (
	kubeconfig = flag.String("kubeconfig", "", "the cluster's kubeconfig")
	kubectl    = flag.String("kubectl", "", "the kubectl to use")
	auditLog   = flag.String("audit-log", "", "the audit log of the cluster's API server")
	saveTakes  = flag.Duration("save", 50*time.Second, "how long the save takes that must not be cut short; its grace is 1.8 times that")
	selection  = flag.String("selection", "", "a theme, or a regular expression for names of tests")
)

// Names in the overlay of the demo, which these tests play on.
const (
	root     = "../.."
	edge     = "edge"
	hub      = "hub"
	npm      = "npm"
	survival = "survival"

	// lobbies is what hub has at rest, seats what each of them has.
	lobbies = 2
	seats   = 4

	// pass is how long the manager may take to answer a shortage.
	pass = 5 * time.Second
	// soon is more than anything takes here unless it is broken, on two cores
	// that have other work too.
	soon = 2 * time.Minute
	// counted is how long a number of players may take to be in a status: it is
	// written at once where it decides something, else every 15 seconds.
	counted = 30 * time.Second
)

// cluster is the one all tests play on.
var cluster *stage.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	if *kubeconfig == "" {
		fmt.Fprintln(os.Stderr, "e2e: there is no cluster; run `make e2e`")
		os.Exit(1)
	}
	if err := choose(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	code := 1
	if err := install(context.Background()); err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "e2e:", err)
	}
	if code != 0 {
		dump(context.Background())
	}
	os.Exit(code)
}

// choose makes the selection what go test runs.
func choose() error {
	run, err := pattern(*selection)
	if err != nil || run == "" {
		return err
	}
	return flag.Set("test.run", run)
}

// install brings the operator to the cluster and waits until it works.
func install(ctx context.Context) error {
	var err error
	if cluster, err = stage.Open(*kubeconfig, *kubectl); err != nil {
		return err
	}
	overlay := filepath.Join(root, "test/demo/operator")
	for _, command := range [][]string{
		{"apply", "-k", overlay},
		// A cluster that was kept may run another image of the same name.
		{"rollout", "restart", "-n", stage.SystemNamespace, "deployment/" + stage.Manager},
		{"rollout", "status", "-n", stage.SystemNamespace, "deployment/" + stage.Manager, "--timeout=90s"},
		{"apply", "-k", filepath.Join(root, "test/demo")},
	} {
		if _, err := cluster.Kubectl(ctx, "", command...); err != nil {
			return err
		}
	}
	_, err = cluster.AwaitDoor(ctx, edge, soon)
	return errors.Join(err, settle(ctx))
}

// settle brings the network to rest: as the overlay says, nobody there.
func settle(ctx context.Context) error {
	if err := settleAround(ctx); err != nil {
		return err
	}
	for group, size := range map[string]int{hub: lobbies, npm: 1, survival: 1} {
		if _, err := cluster.AwaitSize(ctx, group, size, soon); err != nil {
			return err
		}
	}
	if err := unroute(ctx); err != nil {
		return err
	}
	return cluster.Await(ctx, "one proxy, Ready, and nobody there", soon, func(ctx context.Context) (string, bool) {
		door, err := cluster.ProxyGroup(ctx, edge)
		if err != nil {
			return err.Error(), false
		}
		players, err := cluster.Players(ctx)
		if err != nil {
			return err.Error(), false
		}
		pods, err := cluster.Pods(ctx, podspec.RoleProxy)
		if err != nil {
			return err.Error(), false
		}
		ready := ptr.Deref(door.Status.ReadyReplicas, 0)
		// One that was replaced may still be on its way out.
		return fmt.Sprintf("%d of %d proxies ready, %d players", ready, len(pods), players), ready == 1 && len(pods) == 1 && players == 0
	})
}

// settleAround makes everything as the overlay says, under those who play.
func settleAround(ctx context.Context) error {
	for _, command := range [][]string{
		{"delete", "boosts", "-n", stage.Namespace, "--all"},
		{"apply", "-k", filepath.Join(root, "test/demo")},
	} {
		if _, err := cluster.Kubectl(ctx, "", command...); err != nil {
			return err
		}
	}
	return nil
}

// gather brings the network to rest and returns a crowd that nobody may drop
// out of before the test ends.
func gather(t *testing.T) *stage.Crowd {
	t.Helper()
	chronicle(t)
	must(t, settle(t.Context()))
	address, err := cluster.AwaitDoor(t.Context(), edge, soon)
	must(t, err)
	crowd := &stage.Crowd{Address: address}
	t.Cleanup(func() {
		if err := crowd.Lost(); err != nil {
			t.Error(err)
		}
		crowd.Leave()
		complain(t)
	})
	return crowd
}

// chronicle has what becomes of the network told if the test fails.
func chronicle(t *testing.T) {
	t.Helper()
	story := cluster.Begin(t.Context())
	t.Cleanup(func() {
		story.End()
		if t.Failed() {
			tell(t, story)
		}
	})
}

// tell shows how the network came to what a test complains about.
func tell(t *testing.T, story *stage.Chronicle) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	t.Logf("this is what became of the groups:\n%s", tail(story.String()))
	events, err := story.Events(ctx)
	if err != nil {
		t.Error(err)
	}
	t.Logf("and these were the events:\n%s", tail(events))
	log, err := cluster.Kubectl(ctx, "", "logs", "-n", stage.SystemNamespace, "deployment/"+stage.Manager,
		"--since-time="+story.Began().UTC().Format(time.RFC3339))
	if err != nil {
		t.Error(err)
	}
	t.Logf("and this the manager's log:\n%s", tail(log))
}

// tail keeps a story short enough to be read.
func tail(text string) string {
	const enough = 100
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > enough {
		lines = append([]string{fmt.Sprintf("... %d lines before", len(lines)-enough)}, lines[len(lines)-enough:]...)
	}
	return strings.Join(lines, "\n")
}

// complain fails a test during which a server of ours met a proxy that broke a
// rule of the game: the double says so in its log.
func complain(t *testing.T) {
	t.Helper()
	selector := podspec.LabelRole + "=" + string(podspec.RoleServer)
	out, err := cluster.Kubectl(context.WithoutCancel(t.Context()), "", "logs", "-n", stage.Namespace, "-l", selector,
		"-c", podspec.ContainerServer, "--tail=-1", "--prefix", "--max-log-requests=20", "--ignore-errors")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "broke a rule") {
			t.Error(line)
		}
	}
}

// must ends a test that cannot go on.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bots are n names.
func bots(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("Bot%02d", i+1)
	}
	return names
}

// dump shows what a person would look at first.
func dump(ctx context.Context) {
	for _, command := range [][]string{
		{"get", "minecraft,pods", "-n", stage.Namespace, "-o", "wide"},
		{"describe", "servergroup,proxygroup,network", "-n", stage.Namespace},
		{"get", "events", "-n", stage.Namespace, "--sort-by=.lastTimestamp"},
		{"logs", "-n", stage.SystemNamespace, "deployment/" + stage.Manager, "--tail=200"},
		{"logs", "-n", stage.Namespace, "-l", "spawnery.cloud/role=proxy", "--tail=100", "--prefix"},
		{"logs", "-n", stage.Namespace, "-l", "spawnery.cloud/role=server", "--all-containers", "--tail=30", "--prefix"},
	} {
		out, err := cluster.Kubectl(ctx, "", command...)
		fmt.Fprintf(os.Stderr, "--- kubectl %v\n%s\n", command, out)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
