// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// step is one thing that is shown.
type step struct {
	title string
	// play does it, waits until it is seen, and says in a sentence what was.
	play func(ctx context.Context, d *demo) (string, error)
	// look are the kubectl commands that tell more when it is not seen.
	look []string
}

// Names in the overlay.
const (
	edge     = "edge"
	hub      = "hub"
	npm      = "npm"
	survival = "survival"

	worldServer = "survival-0"
)

var steps = []step{
	{
		title: "A real Kubernetes", play: startCluster,
		look: []string{"get nodes", "get pods -A"},
	},
	{
		title: "The images", play: loadImages,
		look: []string{"get nodes -o yaml"},
	},
	{
		title: "Spawnery is installed", play: install,
		look: []string{"describe pods -n spawnery-system"},
	},
	{
		title: "A network from its manifests", play: applyNetwork,
		look: []string{"describe servergroup,proxygroup,server -n minecraft", "describe pods -n minecraft"},
	},
	{
		title: "The first player", play: firstPlayer,
		look: []string{"logs -n minecraft -l spawnery.cloud/role=proxy"},
	},
	{
		title: "The lobby grows on free seats", play: grow,
		look: []string{"describe servergroup hub -n minecraft", "logs -n minecraft -l spawnery.cloud/role=proxy"},
	},
	{
		title: "A ScaleBoost raises the floor, and ends", play: boost,
		look: []string{"get boosts -n minecraft -o yaml", "describe servergroup hub -n minecraft"},
	},
	{
		title: "A server goes, its players stay", play: drain,
		look: []string{"describe server -n minecraft", "logs -n minecraft -l spawnery.cloud/role=proxy"},
	},
	{
		title: "/cloud list", play: cloudList,
		look: []string{"get network production -n minecraft -o yaml", "logs -n minecraft -l spawnery.cloud/role=proxy"},
	},
	{
		title: "The manager dies", play: killManager,
		look: []string{"get lease -n spawnery-system -o yaml", "describe pods -n spawnery-system"},
	},
	{
		title: "A server that nobody here wrote", play: npmServer,
		look: []string{"describe server -l spawnery.cloud/group=npm -n minecraft", "logs -n minecraft -l spawnery.cloud/group=npm -c agent"},
	},
	{
		title: "A world outlives its pod and its server", play: world,
		look: []string{"describe server survival-0 -n minecraft", "get pvc,pv -n minecraft", "logs -n minecraft survival-0 --all-containers"},
	},
	{
		title: "The network shrinks back", play: shrink,
		look: []string{"describe servergroup hub -n minecraft"},
	},
}
