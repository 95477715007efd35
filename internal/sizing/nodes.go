// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/nodedrain"
)

// stayAfterAll takes back the retirements for nodes that stay after all, and
// returns the servers as they are then: the group counts on them again.
func (p *Plan) stayAfterAll(servers []fleet.Server) []fleet.Server {
	orders, after := nodedrain.TakeBack(servers)
	for _, one := range orders {
		p.Withdraw = append(p.Withdraw, Withdrawal{one.Name, one.Note})
	}
	return after
}

// drainNodes clears servers off nodes that leave. The size does not count them
// any more, and has ordered what is to take their places.
func (p *Plan) drainNodes(in Input) {
	drained := nodedrain.Decide(nodedrain.Input{
		Now: in.Now, Servers: p.Changeover.After(in.Servers), Floor: p.Floor, Channel: in.Channel, LeaderSince: in.LeaderSince,
	})
	for _, one := range drained.Removals {
		p.Remove = append(p.Remove, Removal{one.Name, one.Note})
	}
	for _, one := range drained.Retirements {
		p.Retire = append(p.Retire, Retirement{one.Name, v1alpha1.RetireNodeDraining, one.Note})
	}
	p.NodeWait = drained.Missing
	p.Recheck = fleet.Earliest(p.Recheck, drained.Recheck)
}
