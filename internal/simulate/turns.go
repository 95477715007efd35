// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
)

// drawn makes one turn of a kind: what is drawn for it is drawn beforehand, so
// that what the manager decides changes nobody's luck.
type drawn func(chance *rand.Rand, groups, nodes int) func(*World)

// mishaps and wishes are what turns are drawn from, some more often than others.
var (
	mishaps = []drawn{
		simply((*World).Crash), simply((*World).Crash), simply((*World).Evict), simply((*World).Hang),
		lasting((*World).Silence, 10*time.Minute), lasting((*World).Silence, 40*time.Second), silenceGroup,
		lasting((*World).Stumble, time.Minute),
		lasting((*World).RestartManager, 40*time.Second), lasting((*World).RestartManager, 3*time.Minute),
		lasting((*World).SilenceAgents, 5*time.Minute),
		slowCache, killNode,
	}
	wishes = []drawn{boost, boost, pin, edit, edit, newImage, newImage, badImage}
)

// turns draws what happens between two instants, a few things a day.
func turns(chance *rand.Rand, from, to time.Time, groups, nodes int) []Turn {
	var all []Turn
	add := func(kinds []drawn, every time.Duration) {
		for at := from; ; {
			at = at.Add(time.Minute + time.Duration(chance.ExpFloat64()*float64(every)))
			if !at.Before(to) {
				return
			}
			all = append(all, Turn{at, kinds[chance.IntN(len(kinds))](chance, groups, nodes)})
		}
	}
	add(mishaps, time.Duration(1+chance.IntN(6))*time.Hour)
	add(wishes, time.Duration(4+chance.IntN(12))*time.Hour)
	add([]drawn{drainNode}, time.Duration(6+chance.IntN(18))*time.Hour)
	slices.SortStableFunc(all, func(a, b Turn) int { return a.At.Compare(b.At) })
	return all
}

func simply(do func(*World)) drawn {
	return func(*rand.Rand, int, int) func(*World) { return do }
}

func lasting(do func(*World, time.Duration), most time.Duration) drawn {
	return func(chance *rand.Rand, _, _ int) func(*World) {
		length := time.Second + time.Duration(chance.Int64N(int64(most))).Truncate(time.Second)
		return func(w *World) { do(w, length) }
	}
}

func slowCache(chance *rand.Rand, _, _ int) func(*World) {
	lag := Range{time.Second, time.Duration(2+chance.IntN(14)) * time.Second}
	length := time.Duration(1+chance.IntN(10)) * time.Minute
	return func(w *World) { w.SlowCache(lag, length) }
}

func silenceGroup(chance *rand.Rand, groups, _ int) func(*World) {
	group, length := chance.IntN(groups), time.Duration(10+chance.IntN(600))*time.Second
	return func(w *World) { w.SilenceGroup(group, length) }
}

func killNode(chance *rand.Rand, _, nodes int) func(*World) {
	index, length := chance.IntN(nodes), time.Duration(1+chance.IntN(30))*time.Minute
	return func(w *World) { w.KillNode(index, length) }
}

func drainNode(chance *rand.Rand, _, nodes int) func(*World) {
	index, length := chance.IntN(nodes), time.Duration(5+chance.IntN(90))*time.Minute
	return func(w *World) { w.DrainNode(index, length) }
}

func boost(chance *rand.Rand, groups, _ int) func(*World) {
	group, servers := chance.IntN(groups), 1+chance.IntN(4)
	length := time.Duration(5+chance.IntN(120)) * time.Minute
	return func(w *World) {
		w.Boost(group, boosts.Boost{Mode: v1alpha1.BoostAdd, Replicas: servers, ExpiresAt: w.now.Add(length).Truncate(time.Second)})
	}
}

func pin(chance *rand.Rand, groups, _ int) func(*World) {
	group, servers := chance.IntN(groups), chance.IntN(5)
	length := time.Duration(5+chance.IntN(60)) * time.Minute
	return func(w *World) {
		w.Boost(group, boosts.Boost{Mode: v1alpha1.BoostExact, Replicas: servers, ExpiresAt: w.now.Add(length).Truncate(time.Second)})
	}
}

// edit moves one of the numbers a group is sized by.
func edit(chance *rand.Rand, groups, _ int) func(*World) {
	group, by := chance.IntN(groups), chance.Int32N(5)-2
	what := chance.IntN(3)
	return func(w *World) {
		w.Edit(group, fmt.Sprintf("its owner changes a size by %d", by), func(spec *v1alpha1.ServerGroupSpec) {
			sizes := &spec.Scaling
			switch what {
			case 0:
				sizes.SpareSlots = new(max(0, *sizes.SpareSlots+by*spec.MaxPlayers/4))
			case 1:
				sizes.MaxReplicas = max(1, *sizes.MinReplicas, sizes.MaxReplicas+by)
			default:
				sizes.MinReplicas = new(min(max(0, *sizes.MinReplicas+by), sizes.MaxReplicas))
			}
		})
	}
}

// newImage has a group's owner roll out another image, which boots as the one
// before.
func newImage(chance *rand.Rand, groups, _ int) func(*World) {
	group := chance.IntN(groups)
	return func(w *World) {
		g := w.groups[group]
		if g.images["bad"].Fate != Starts {
			return
		}
		w.made++
		image := fmt.Sprint("v", w.made)
		w.Edit(group, "its owner rolls out image "+image, func(spec *v1alpha1.ServerGroupSpec) { spec.Image = image })
	}
}

// badImage has a group's owner try an image that does not start, and go back a
// while later.
func badImage(chance *rand.Rand, groups, _ int) func(*World) {
	group, fate := chance.IntN(groups), []Fate{Exits, Hangs, Refuses, Missing}[chance.IntN(4)]
	length := time.Duration(5+chance.IntN(400)) * time.Minute
	return func(w *World) {
		g := w.groups[group]
		good := g.written.Spec.Image
		if g.images["bad"].Fate != Starts {
			return
		}
		w.UseImage(group, "bad", Image{Boot: g.plan.Boot, Fate: fate})
		w.Edit(group, "its owner tries an image that does not start", func(spec *v1alpha1.ServerGroupSpec) { spec.Image = "bad" })
		w.in(length, func() {
			delete(g.images, "bad")
			w.Edit(group, "its owner goes back to the image before", func(spec *v1alpha1.ServerGroupSpec) { spec.Image = good })
		})
	}
}
