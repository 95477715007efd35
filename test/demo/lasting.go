// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func killManager(ctx context.Context, d *demo) (string, error) {
	before, err := d.cluster.Identities(ctx)
	if err != nil {
		return "", err
	}
	managers, err := d.cluster.Managers(ctx)
	if err != nil || len(managers) == 0 {
		return "", fmt.Errorf("finding the manager: %w", err)
	}
	old := managers[0].Name
	if err := d.do(ctx, "", "delete", "pod", old, "-n", stage.SystemNamespace, "--wait=false"); err != nil {
		return "", err
	}
	d.line("Meanwhile Late joins, another bot:")
	if err := d.crowd.JoinBots(ctx, limit, "Late"); err != nil {
		return "", err
	}
	d.noting("Late plays on " + d.crowd.Where("Late"))
	leader, err := d.cluster.AwaitLeader(ctx, old, limit)
	if err != nil {
		return "", err
	}
	if err := d.awaitCounted(ctx); err != nil {
		return "", err
	}
	after, err := d.cluster.Identities(ctx)
	if err != nil {
		return "", err
	}
	if changes := before.Missing(after); len(changes) > 0 {
		return "", fmt.Errorf("the new manager did not leave things alone: %s", strings.Join(changes, "; "))
	}
	return leader + " took over; no server, no pod and no player noticed, and one could join meanwhile", nil
}

// awaitCounted waits until the manager knows of everybody.
func (d *demo) awaitCounted(ctx context.Context) error {
	want := len(d.crowd.Names())
	return d.cluster.Await(ctx, fmt.Sprintf("all %d players in the status", want), limit, func(ctx context.Context) (string, bool) {
		players, err := d.cluster.Players(ctx)
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("the servers' status counts %d players", players), players == want
	})
}

func npmServer(ctx context.Context, d *demo) (string, error) {
	d.line("An edit of the routing takes effect at once and restarts nothing. Whoever joins now is sent to npm's server:")
	if err := d.do(ctx, "", stage.RouteCommand(edge, npm, hub)...); err != nil {
		return "", err
	}
	server, err := d.joinGroup(ctx, "Olga", npm)
	if err != nil {
		return "", err
	}
	err = d.cluster.Await(ctx, "Olga in the status of "+server, limit, func(ctx context.Context) (string, bool) {
		found, err := d.cluster.Server(ctx, server)
		if err != nil || found == nil || found.Status.Players == nil {
			return "no count", false
		}
		return fmt.Sprintf("%s: %d player(s)", server, *found.Status.Players), *found.Status.Players == 1
	})
	return fmt.Sprintf("Olga plays on %s; its agent counts her by Server List Ping", server), err
}

// joinGroup lets a bot join a group that joining players are sent to.
func (d *demo) joinGroup(ctx context.Context, name, group string) (string, error) {
	server, err := d.crowd.JoinUntilOn(ctx, limit, name, group)
	d.noting(fmt.Sprintf("%s plays on %s", name, server))
	return server, err
}

func world(ctx context.Context, d *demo) (string, error) {
	if err := d.do(ctx, "", stage.RouteCommand(edge, survival, hub)...); err != nil {
		return "", err
	}
	if err := d.visitWorld(ctx, "Wilma", 1); err != nil {
		return "", err
	}
	claim, err := d.claim(ctx)
	if err != nil {
		return "", err
	}
	for _, scene := range []func() error{
		func() error { return d.losePod(ctx) },
		func() error { return d.fallen(ctx, "Wilma") },
		func() error { return d.visitWorld(ctx, "Xaver", 2) },
		func() error { return d.scaleDown(ctx) },
		func() error { return d.fallen(ctx, "Xaver") },
	} {
		if err := scene(); err != nil {
			return "", err
		}
	}
	kept, err := d.claim(ctx)
	if err != nil {
		return "", err
	}
	if kept.UID != claim.UID || kept.Status.Phase != corev1.ClaimBound || !kept.DeletionTimestamp.IsZero() {
		return "", fmt.Errorf("the claim %s is not what it was: %s", kept.Name, kept.Status.Phase)
	}
	return fmt.Sprintf("the world counted on over a new pod; the claim %s is still there without its server", kept.Name), nil
}

// visitWorld lets a bot join the world and read the line with which the double
// shows what its world has seen.
func (d *demo) visitWorld(ctx context.Context, bot string, joins int) error {
	if _, err := d.joinGroup(ctx, bot, survival); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	want := fmt.Sprintf("This world has seen %d joins", joins)
	_, err := d.crowd.Bot(bot).WaitLine(ctx, func(line string) bool { return line == want })
	d.noting(bot + " reads: " + want)
	return err
}

func (d *demo) claim(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
	var claim corev1.PersistentVolumeClaim
	key := client.ObjectKey{Namespace: stage.Namespace, Name: podspec.DataClaimName(worldServer)}
	return &claim, d.cluster.Get(ctx, key, &claim)
}

// losePod deletes a server's pod under its player and waits for the next.
func (d *demo) losePod(ctx context.Context) error {
	before, err := d.cluster.Server(ctx, worldServer)
	if err != nil || before == nil {
		return fmt.Errorf("reading %s: %w", worldServer, err)
	}
	if err := d.do(ctx, "", "delete", "pod", worldServer, "-n", stage.Namespace, "--wait=false"); err != nil {
		return err
	}
	return d.cluster.Await(ctx, worldServer+" Ready again in another pod", limit, func(ctx context.Context) (string, bool) {
		now, err := d.cluster.Server(ctx, worldServer)
		if err != nil {
			return err.Error(), false
		}
		if now == nil {
			return worldServer + " is gone", false
		}
		names := stage.Ready([]v1alpha1.Server{*now})
		return stage.Describe([]v1alpha1.Server{*now}), len(names) == 1 && now.Status.PodUID != before.Status.PodUID
	})
}

// scaleDown takes the world's server away, with a player on it.
func (d *demo) scaleDown(ctx context.Context) error {
	err := d.do(ctx, "", "patch", "servergroup", survival, "-n", stage.Namespace, "--type=merge", "-p", `{"spec":{"replicas":0}}`)
	if err != nil {
		return err
	}
	if _, err := d.cluster.AwaitSize(ctx, survival, 0, limit); err != nil {
		return err
	}
	return d.do(ctx, "", "get", "pvc", "-n", stage.Namespace, "-L", podspec.LabelServer)
}

// fallen shows where somebody went whose server went.
func (d *demo) fallen(ctx context.Context, name string) error {
	err := d.crowd.AwaitPlaying(ctx, limit, name)
	d.noting(fmt.Sprintf("%s was on it and plays on %s now", name, d.crowd.Where(name)))
	return err
}

func (d *demo) whatNext() {
	d.line("")
	d.line("The cluster stays up. What to try next:")
	d.line("  export KUBECONFIG=" + d.kubeconfig)
	for _, hint := range [][2]string{
		{d.kubectl + " get minecraft -n minecraft -w", "everything, as it changes"},
		{d.kubectl + " delete server -n minecraft NAME", "a server that goes in good order"},
		{d.kubectl + " explain servergroup.spec.scaling", "every field says unit, default and effect"},
		{d.kubectl + " logs -n spawnery-system deployment/spawnery-manager -f", "what the manager does, and why"},
		{"a Minecraft client 1.20.5 or newer at " + d.crowd.Address, "from this machine; no such client was there to try it with"},
		{"make demo-down", "takes all of this away"},
	} {
		d.line(fmt.Sprintf("  %-60s # %s", hint[0], hint[1]))
	}
}
