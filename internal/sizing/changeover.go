// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"cmp"
	"slices"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/rollout"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

func (p *Plan) changeover(in Input) {
	sizes := sizesOf(&in.Group.Spec)
	p.Changeover = rollout.Decide(rollout.Input{
		Now:         in.Now,
		Update:      updateOf(in.Group.Spec.Update),
		Servers:     in.Servers,
		Ceiling:     sizes.Ceiling(pinOf(in.Boosts)),
		Keep:        sizes.Keep(in.Waiting),
		Ordered:     len(in.Pending),
		Gate:        backoff.MayCreate(p.Failures),
		Channel:     in.Channel,
		LeaderSince: in.LeaderSince,
	})
	for _, one := range p.Changeover.Withdrawals {
		p.Withdraw = append(p.Withdraw, Withdrawal{one.Name, one.Note})
	}
	for _, one := range p.Changeover.Retirements {
		p.Retire = append(p.Retire, Retirement{one.Name, v1alpha1.RetireChangeover, one.Note})
	}
	for _, one := range p.Changeover.Removals {
		p.Remove = append(p.Remove, Removal{one.Name, one.Note})
	}
}

// updateOf fills in what the API server fills in where a part of update is
// given: where none is, the defaults hold as well.
func updateOf(update v1alpha1.ServerUpdate) rollout.Update {
	return rollout.Update{
		Strategy:       update.Strategy,
		MaxUnavailable: int(cmp.Or(update.MaxUnavailable, 1)),
		MinAvailable:   int(update.MinAvailable),
	}
}

func pinOf(effect boosts.Effect) scaling.Pin {
	return scaling.Pin{Boost: effect.Pin.Name, Replicas: effect.Pin.Replicas}
}

// keepLastWord takes from the withdrawals who is told to go all the same: a
// server that a changeover takes back may be above a pin, and one that a pin
// gives back on a node that leaves.
func (p *Plan) keepLastWord() {
	p.Withdraw = slices.DeleteFunc(p.Withdraw, func(w Withdrawal) bool {
		return slices.ContainsFunc(p.Retire, func(r Retirement) bool { return r.Name == w.Name }) ||
			slices.ContainsFunc(p.Remove, func(r Removal) bool { return r.Name == w.Name })
	})
}
