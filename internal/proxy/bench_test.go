// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// BenchmarkSeat is the whole way to a seat: a server is chosen, its agent is
// asked over the network, decides, and answers; then the seat is given back. Both
// sides are in this process, and their processor time is what is told.
func BenchmarkSeat(b *testing.B) {
	for _, servers := range []int{1, 3, 10} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			n := newNetworkAlone(b)
			n.quiet = true
			for i := range servers {
				n.add(fmt.Sprint("lobby-", i), rig{playable: 500, whole: true})
			}
			p := n.front()
			used := usedCPU(b)
			b.ResetTimer()
			for b.Loop() {
				place, err := p.world.Finder.Find(n.ctx, placing.Request{
					Player: seats.Player{Name: "Ada", UUID: uuid.New()}, Claim: routing.ByChoice, Groups: []string{"lobby"},
				})
				if err != nil {
					b.Fatal(err)
				}
				place.Close()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/(usedCPU(b)-used).Seconds(), "seats/core-s")
		})
	}
}

// usedCPU is the processor time of this process.
func usedCPU(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
