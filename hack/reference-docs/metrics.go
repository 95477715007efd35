// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spawnery/spawnery-operator/controllers/servergroup"
	"github.com/spawnery/spawnery-operator/internal/proxy"
)

const metricsHead = `<!-- Generated from controllers/servergroup/metrics.go and internal/proxy/metrics.go by make docs. -->
# Metrics

## Of the manager

They are served at ` + "`/metrics`" + ` of the address that the flag
` + "`--metrics-bind-address`" + ` names; without it nowhere. The component
` + "`config/prometheus`" + ` sets it: [how to turn it on](../how-to/answer-alerts.md).

All are gauges, read from the manager's caches at each scrape. A series ends
with the object it is about. Only the leader has them; a manager that stands by
serves none of these. Beside them are those of controller-runtime
(` + "`controller_runtime_…`, `workqueue_…`" + `) and of the Go runtime.

| metric | labels | meaning |
|---|---|---|
`

const metricsOfProxies = `
How many series that is at most: two for each ServerGroup, three more for each
Persistent one, and two for each group that is gone and has left claims. No
label names a server, a claim or a player, so neither players nor servers that
come and go add any.

## Of a proxy

They are served by each proxy pod at ` + "`/metrics`" + ` on port 8080, and
start at 0 with the pod. The labels have the values listed, and no others.

| metric | type | labels | meaning |
|---|---|---|---|
`

func metricsPage() (string, error) {
	var page strings.Builder
	page.WriteString(metricsHead)
	for _, metric := range servergroup.Metrics() {
		fmt.Fprintf(&page, "| `%s` | `%s` | %s |\n", metric.Name, strings.Join(metric.Labels, "`, `"), metric.Help)
	}
	page.WriteString(metricsOfProxies)
	every, err := proxy.EveryMetric()
	if err != nil {
		return "", fmt.Errorf("listing the metrics of a proxy: %w", err)
	}
	families, err := every.Gather()
	if err != nil {
		return "", fmt.Errorf("gathering the metrics of a proxy: %w", err)
	}
	for _, family := range families {
		var labels []string
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				labels = append(labels, fmt.Sprintf("`%s=%q`", label.GetName(), label.GetValue()))
			}
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", family.GetName(), strings.ToLower(family.GetType().String()),
			cmp.Or(strings.Join(labels, ", "), "none"), family.GetHelp())
	}
	return page.String(), nil
}
