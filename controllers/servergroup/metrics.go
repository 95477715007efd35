// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/inventory"
	"github.com/spawnery/spawnery-operator/internal/inventory/live"
)

// Metric describes one metric of the manager's; all are gauges.
type Metric struct {
	Name   string
	Help   string
	Labels []string
}

var (
	perGroup = []string{"namespace", "group"}
	perType  = []string{"namespace", "group", "type"}

	failures = Metric{
		"spawnery_servergroup_consecutive_failures",
		"Failed starts of the group since its last success, by its status.", perType,
	}
	degraded = Metric{
		"spawnery_servergroup_degraded",
		"1 while the group has given up starting servers and waits for a person, else 0.", perType,
	}
	waiting = Metric{
		"spawnery_waiting_ordinals",
		"Ordinals that a Persistent group requires and that have no Server.", perGroup,
	}
	orphans = Metric{
		"spawnery_orphaned_claims",
		"Claims of the operator's whose Server is gone and whose ordinal no group requires; group is read from the claim's name, and may be gone.",
		perGroup,
	}
	orphanBytes = Metric{
		"spawnery_orphaned_claims_capacity_bytes",
		"Capacity of the orphaned claims together; one that is not bound has none.", perGroup,
	}
)

// Metrics are what a Collector collects.
func Metrics() []Metric { return []Metric{failures, degraded, waiting, orphans, orphanBytes} }

func (m Metric) desc() *prometheus.Desc { return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil) }

func (m Metric) at(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(m.desc(), prometheus.GaugeValue, value, labels...)
}

// scrapeWithin bounds reading the caches, which takes long only while they
// fill.
const scrapeWithin = 5 * time.Second

// Collector reads the caches at every scrape, so that a series ends with its
// object. Only the leader tells anything: with two that do, sums would double.
// A scrape that cannot be answered fails, and does not look like one in which
// nothing waits.
type Collector struct {
	// Context ends with the manager.
	Context context.Context
	// Reader reads the caches.
	Reader client.Reader
	// Elected is closed once this manager leads.
	Elected <-chan struct{}
}

// Describe tells what there may be.
func (*Collector) Describe(to chan<- *prometheus.Desc) {
	for _, metric := range Metrics() {
		to <- metric.desc()
	}
}

// Collect tells what there is.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	select {
	case <-c.Elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(c.Context, scrapeWithin)
	defer cancel()
	// What the cache returns is shared, and is not written to.
	in, err := live.Read(ctx, c.Reader, "", client.UnsafeDisableDeepCopy)
	if err != nil {
		to <- prometheus.NewInvalidMetric(failures.desc(), err)
		return
	}
	for _, metric := range measure(in) {
		to <- metric
	}
}

type groupName struct{ namespace, group string }

// left is what a group has that no server uses.
type left struct {
	orphans int
	bytes   int64
}

// measure is pure. Every Persistent group has a series of each metric, also
// where it is 0; a group that is gone has those of its orphans as long as it
// has some.
func measure(in inventory.Input) []prometheus.Metric {
	var told []prometheus.Metric
	required, of := map[groupName]int{}, map[groupName]left{}
	for i := range in.Groups {
		group := &in.Groups[i]
		labels := []string{group.Namespace, group.Name, string(group.Spec.Type)}
		gaveUp := 0.0
		if apimeta.IsStatusConditionTrue(group.Status.Conditions, v1alpha1.ConditionDegraded) {
			gaveUp = 1
		}
		told = append(told, degraded.at(gaveUp, labels...),
			failures.at(float64(ptr.Deref(group.Status.ConsecutiveFailures, 0)), labels...))
		if !group.IsEphemeral() {
			name := groupName{group.Namespace, group.Name}
			required[name], of[name] = 0, left{}
		}
	}
	taken := inventory.Take(in)
	for _, wait := range taken.Waits {
		required[groupName{wait.Namespace, wait.Group}]++
	}
	for _, claim := range taken.Of(inventory.Orphaned) {
		name := groupName{claim.Namespace, claim.Group}
		of[name] = left{of[name].orphans + 1, of[name].bytes + claim.Capacity.Value()}
	}
	for name, ordinals := range required {
		told = append(told, waiting.at(float64(ordinals), name.namespace, name.group))
	}
	for name, found := range of {
		told = append(told, orphans.at(float64(found.orphans), name.namespace, name.group),
			orphanBytes.at(float64(found.bytes), name.namespace, name.group))
	}
	return told
}
