// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

// group is a ServerGroup in the API server and in the manager's cache.
type group struct {
	w     *World
	index int
	plan  *Group
	// written is what the API server has, shown what the cache shows.
	written, shown *v1alpha1.ServerGroup
	// podHash is that of the spec that the cache shows.
	podHash     string
	boosts      []boosts.Boost
	shownBoosts []boosts.Boost
	// servers in the order of their names, those the cache still shows included.
	servers []*server
	// images says how an image behaves that is not the plan's.
	images map[string]Image

	pass alarm
	made int
	// stirred counts what happened to the group or to a part of it.
	stirred int
	// waiting are the held players who want this group, and how many of them
	// the manager knows of.
	waiting, waitingKnown int
	lostWrites            int
	// spareable is what the manager remembers of the last plan.
	spareable scaling.Spareable
	// seen and views are room that passes use again.
	seen  []expect.Seen
	views []fleet.Server
}

// Image is how the pods of one image behave.
type Image struct {
	Boot Range
	// Fate is how a start ends; the zero value starts well.
	Fate Fate
}

// Fate is how the start of a pod ends.
type Fate uint8

const (
	// Starts well.
	Starts Fate = iota
	// Exits before the game is ready.
	Exits
	// Hangs: the game never gets ready.
	Hangs
	// Refuses: preparing the game fails.
	Refuses
	// Missing: there is no such image.
	Missing
)

func newGroup(w *World, index int) *group {
	plan := &w.scenario.Groups[index]
	object := &v1alpha1.ServerGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: plan.Name, UID: types.UID(plan.Name), Generation: 1,
			CreationTimestamp: metav1.NewTime(w.now),
		},
		Spec: *plan.Spec.DeepCopy(),
	}
	return &group{
		w: w, index: index, plan: plan, written: object, shown: object, podHash: hash(object), images: map[string]Image{},
	}
}

// hash stands for the digest of what reaches a pod.
func hash(of *v1alpha1.ServerGroup) string {
	return fmt.Sprintf("%s/%d", of.Spec.Image, of.Spec.MaxPlayers)
}

func (g *group) image(name string) Image {
	if image, ok := g.images[name]; ok {
		return image
	}
	return Image{Boot: g.plan.Boot}
}

// write changes the group in the API server; the cache follows.
func (g *group) write(change func(*v1alpha1.ServerGroup)) {
	changed := *g.written
	change(&changed)
	g.written = &changed
	g.stirred++
	g.w.show(func() {
		g.stirred++
		if g.shown == &changed {
			return
		}
		respec := g.shown.Generation != changed.Generation
		g.shown = &changed
		if respec {
			g.podHash = hash(g.shown)
			g.forgetViews()
			g.w.manager.wakeServers(g)
		}
		g.w.manager.wakeGroup(g)
	})
}

// forgetViews is for what changes how every server of the group looks.
func (g *group) forgetViews() {
	for _, s := range g.servers {
		s.viewed = false
	}
}

// Edit changes a group's spec, as its owner does.
func (w *World) Edit(index int, note string, change func(*v1alpha1.ServerGroupSpec)) {
	g := w.groups[index]
	g.write(func(object *v1alpha1.ServerGroup) {
		object.Spec = *object.Spec.DeepCopy()
		change(&object.Spec)
		object.Generation++
	})
	w.tell(&happening{what: turned, group: g, note: note})
}

// Boost makes a ScaleBoost; it counts until it expires or is deleted.
func (w *World) Boost(index int, boost boosts.Boost) {
	g := w.groups[index]
	w.made++
	boost.Name = fmt.Sprintf("boost-%d", w.made)
	boost.CreatedAt = w.now.Truncate(time.Second)
	g.writeBoosts(append(slices.Clone(g.boosts), boost))
	note := fmt.Sprintf("boosted by %d", boost.Replicas)
	if boost.Mode == v1alpha1.BoostExact {
		note = fmt.Sprintf("pinned to %d", boost.Replicas)
	}
	if !boost.ExpiresAt.IsZero() {
		note += " until " + boost.ExpiresAt.Format(time.TimeOnly)
	}
	w.tell(&happening{what: turned, group: g, note: note})
}

// EndBoosts deletes every boost of a group.
func (w *World) EndBoosts(index int) {
	g := w.groups[index]
	g.writeBoosts(nil)
	w.tell(&happening{what: turned, group: g, note: "its boosts are deleted"})
}

func (g *group) writeBoosts(changed []boosts.Boost) {
	g.boosts = changed
	g.stirred++
	g.w.show(func() {
		g.stirred++
		g.shownBoosts = changed
		g.w.manager.wakeGroup(g)
	})
}

// UseImage says how an image of a group behaves.
func (w *World) UseImage(index int, name string, image Image) {
	w.groups[index].images[name] = image
}

// add makes a Server, as the API server does.
func (g *group) add() *server {
	g.made++
	name := fmt.Sprintf("%s-%d", g.plan.Name, g.made)
	g.w.made++
	s := &server{group: g, name: name, key: types.NamespacedName{Namespace: namespace, Name: name}}
	object := &v1alpha1.Server{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(strconv.Itoa(g.w.made)),
			CreationTimestamp: metav1.NewTime(g.w.now.Truncate(time.Second)),
		},
		Spec: v1alpha1.ServerSpec{GroupRef: v1alpha1.GroupReference{Name: g.plan.Name}, PodHash: g.podHash},
	}
	at, _ := slices.BinarySearchFunc(g.servers, name, func(s *server, name string) int { return strings.Compare(s.name, name) })
	g.servers = slices.Insert(g.servers, at, s)
	g.w.servers = append(g.w.servers, s)
	g.w.named[name] = s
	s.put(object)
	return s
}

// drop forgets a Server that neither the API server nor the cache has.
func (g *group) drop(s *server) {
	is := func(other *server) bool { return other == s }
	g.servers = slices.DeleteFunc(g.servers, is)
	g.w.servers = slices.DeleteFunc(g.w.servers, is)
	delete(g.w.named, s.name)
}
