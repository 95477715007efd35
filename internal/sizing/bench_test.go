// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// BenchmarkDecide is a whole pass over a group in the middle of a changeover,
// without what is read and written.
func BenchmarkDecide(b *testing.B) {
	for _, servers := range []int{10, 30, 100, 1000} {
		b.Run(fmt.Sprint(servers, " servers"), func(b *testing.B) {
			in := of(ephemeral())
			in.Group.Spec.Scaling.MaxReplicas = int32(2 * servers)
			in.LeaderSince = now.Add(-time.Hour)
			for i := range servers {
				s := playing(fmt.Sprint("hub-", i), i%50)
				if i%3 == 0 {
					s.Spec = fleet.SpecOld
				}
				in.Servers = append(in.Servers, s)
			}
			b.ReportAllocs()
			for b.Loop() {
				_ = Decide(in)
			}
		})
	}
}
