// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Chronicle writes down what becomes of the network's groups, so that whoever
// finds one of the wrong size can read how it came to that.
type Chronicle struct {
	cluster *Cluster
	began   time.Time
	stop    context.CancelFunc
	writing sync.WaitGroup

	mu      sync.Mutex
	servers map[string]v1alpha1.Server
	lines   []string
	last    map[string]string
	most    map[string]int
}

// Begin starts a chronicle. It ends with ctx, or with End.
func (c *Cluster) Begin(ctx context.Context) *Chronicle {
	ctx, stop := context.WithCancel(ctx)
	story := &Chronicle{
		cluster: c, began: time.Now(), stop: stop,
		servers: make(map[string]v1alpha1.Server), last: make(map[string]string), most: make(map[string]int),
	}
	story.writing.Go(func() { story.follow(ctx, &v1alpha1.ServerList{}, story.noteServer) })
	story.writing.Go(func() { story.follow(ctx, &v1alpha1.ServerGroupList{}, story.noteGroup) })
	return story
}

// Began is when the chronicle was begun.
func (c *Chronicle) Began() time.Time { return c.began }

// End stops writing.
func (c *Chronicle) End() {
	c.stop()
	c.writing.Wait()
}

// Most is how many servers a group has had at the same time since the
// chronicle was begun.
func (c *Chronicle) Most(group string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most[group]
}

// String is a line for each change, with the seconds since the beginning.
func (c *Chronicle) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.lines, "\n")
}

// Events are those of the network since the beginning, in their order.
func (c *Chronicle) Events(ctx context.Context) (string, error) {
	var list eventsv1.EventList
	if err := c.cluster.List(ctx, &list, client.InNamespace(Namespace)); err != nil {
		return "", err
	}
	at := func(e eventsv1.Event) time.Time {
		switch {
		case e.Series != nil:
			return e.Series.LastObservedTime.Time
		case !e.EventTime.IsZero():
			return e.EventTime.Time
		}
		return e.DeprecatedLastTimestamp.Time
	}
	list.Items = slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return at(e).Before(c.began.Truncate(time.Second)) })
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return at(a).Compare(at(b)) })
	lines := make([]string, 0, len(list.Items))
	for i := range list.Items {
		e := &list.Items[i]
		lines = append(lines, fmt.Sprintf("%6.1f s  %s %s: %s: %s",
			at(*e).Sub(c.began).Seconds(), e.Regarding.Kind, e.Regarding.Name, e.Reason, e.Note))
	}
	return strings.Join(lines, "\n"), nil
}

// follow notes every change of every object of a kind. A watch begins with
// those that are there, after a note of nothing.
func (c *Chronicle) follow(ctx context.Context, list client.ObjectList, note func(watch.Event)) {
	for ctx.Err() == nil {
		changes, err := c.cluster.watcher.Watch(ctx, list, client.InNamespace(Namespace))
		if err != nil {
			select {
			case <-time.After(interval):
			case <-ctx.Done():
			}
			continue
		}
		c.locked(note, watch.Event{})
		for change := range changes.ResultChan() {
			c.locked(note, change)
		}
	}
}

func (c *Chronicle) locked(note func(watch.Event), change watch.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	note(change)
}

func (c *Chronicle) noteServer(change watch.Event) {
	server, ok := change.Object.(*v1alpha1.Server)
	if !ok {
		clear(c.servers)
		return
	}
	c.servers[server.Name] = *server
	if change.Type == watch.Deleted {
		delete(c.servers, server.Name)
	}
	group := server.Spec.GroupRef.Name
	var all []v1alpha1.Server
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		if c.servers[name].Spec.GroupRef.Name == group {
			all = append(all, c.servers[name])
		}
	}
	c.most[group] = max(c.most[group], len(all))
	c.note(group, "has", Describe(all)+Explain(all))
}

func (c *Chronicle) noteGroup(change watch.Event) {
	if group, ok := change.Object.(*v1alpha1.ServerGroup); ok {
		c.note(group.Name, "decides", fmt.Sprintf("%s (%d players, %d free seats)",
			group.Status.LastDecision, ptr.Deref(group.Status.OnlinePlayers, 0), ptr.Deref(group.Status.FreeSlots, 0)))
	}
}

// note adds what is new. The caller holds the lock.
func (c *Chronicle) note(group, what, now string) {
	key := group + " " + what
	if c.last[key] == now {
		return
	}
	c.last[key] = now
	c.lines = append(c.lines, fmt.Sprintf("%6.1f s  %s: %s", time.Since(c.began).Seconds(), key, now))
}
