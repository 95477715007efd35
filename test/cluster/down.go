// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// down stops the folder's cluster. It is done when nothing is left of it but
// the logs, and a folder without a cluster is fine too.
func down(ctx context.Context, o options) error {
	if _, err := os.Stat(o.folder); os.IsNotExist(err) {
		return nil
	}
	unlock, err := lock(ctx, filepath.Join(o.folder, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.MkdirAll(recordFolder, 0o755); err != nil {
		return err
	}
	unlockRecords, err := lock(ctx, filepath.Join(recordFolder, "lock"))
	if err != nil {
		return err
	}
	defer unlockRecords()

	if err := stopAll(ctx, o); err != nil {
		return err
	}
	if err := removeFiles(o.folder, ephemeral); err != nil {
		return err
	}
	fmt.Printf("no cluster runs; its logs are in %s\n", o.folder)
	return nil
}

// stopAll stops and sweeps every network whose record names the folder; more
// than one is there only after a crash.
func stopAll(ctx context.Context, o options) error {
	seen, err := survey(ctx)
	if err != nil {
		return err
	}
	for _, f := range seen {
		if !f.belongsTo(o.folder) {
			continue
		}
		if err := f.record.stop(ctx); err != nil {
			return fmt.Errorf("stopping the cluster in network %d: %w", f.network, err)
		}
		if err := f.network.sweep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the recorded processes, and waits until nobody lives in the
// cluster's namespaces any more. It ends no process that is not recorded.
func (r *record) stop(ctx context.Context) error {
	for i, p := range r.Nodes {
		if err := stopNode(ctx, p, r.Network.node(i+1)); err != nil {
			return err
		}
	}
	var left []int
	err := await(ctx, 20*time.Second, "the end of the processes", func() bool {
		left = nil
		for _, ns := range r.Network.namespaces() {
			pids, err := processesIn(ctx, ns)
			if err != nil {
				return false
			}
			left = append(left, pids...)
		}
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("%w: processes %d live in its namespaces, but were not started by it", err, left)
	}
	return nil
}

// stopNode cuts a node's power.
func stopNode(ctx context.Context, p process, cgroup string) error {
	if !p.alive() {
		return nil
	}
	if err := p.kill(); err != nil {
		return err
	}
	// A frozen process dies only when it is thawed.
	if err := freezerOf(cgroup).set(ctx, thaw); err != nil {
		return err
	}
	return await(ctx, 20*time.Second, fmt.Sprintf("the end of process %d", p.PID), func() bool { return !p.alive() })
}
