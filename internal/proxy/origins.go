// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
)

const (
	// originSlots of originSlot each are how long a login is remembered.
	originSlots = 10
	originSlot  = time.Minute
)

// origins counts the logins of the last ten minutes by where they came from.
// Probes, health checks and server lists are no logins.
type origins struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	cidrs  []string // what ranges were read from
	ranges guard.Ranges
	slots  [originSlots]originCount
}

// originCount is one minute's logins.
type originCount struct {
	minute              int64 // since the epoch
	logins, fromCluster int32
}

func newOrigins(clk clock.PassiveClock) *origins { return &origins{clock: clk} }

// count takes in one login, once it is known what the cluster's addresses are.
func (o *origins) count(from netip.Addr, cluster []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(cluster) == 0 {
		return
	}
	if !slices.Equal(o.cidrs, cluster) {
		o.cidrs, o.ranges = cluster, guard.ParseRanges(cluster)
	}
	minute := o.minute()
	slot := &o.slots[minute%originSlots]
	if slot.minute != minute {
		*slot = originCount{minute: minute}
	}
	slot.logins++
	if o.ranges.Contain(from) {
		slot.fromCluster++
	}
}

// report sums up the last ten minutes.
func (o *origins) report() *agentv1alpha1.LoginOrigins {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := &agentv1alpha1.LoginOrigins{}
	for _, slot := range o.slots {
		if slot.minute > o.minute()-originSlots {
			sum.Logins += slot.logins
			sum.FromCluster += slot.fromCluster
		}
	}
	return sum
}

func (o *origins) minute() int64 { return o.clock.Now().Unix() / int64(originSlot/time.Second) }
