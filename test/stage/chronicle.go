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
	done    chan struct{}

	mu    sync.Mutex
	lines []string
	last  map[string]string
	most  map[string]int
}

// Begin starts a chronicle. It ends with ctx, or with End.
func (c *Cluster) Begin(ctx context.Context) *Chronicle {
	ctx, stop := context.WithCancel(ctx)
	written := &Chronicle{
		cluster: c, began: time.Now(), stop: stop, done: make(chan struct{}),
		last: make(map[string]string), most: make(map[string]int),
	}
	go written.write(ctx)
	return written
}

// Began is when the chronicle was begun.
func (c *Chronicle) Began() time.Time { return c.began }

// End stops writing.
func (c *Chronicle) End() {
	c.stop()
	<-c.done
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

func (c *Chronicle) write(ctx context.Context) {
	defer close(c.done)
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		// What cannot be read now is read the next time.
		if servers, err := c.cluster.Servers(ctx, ""); err == nil {
			c.noteServers(servers)
		}
		var groups v1alpha1.ServerGroupList
		if err := c.cluster.List(ctx, &groups, client.InNamespace(Namespace)); err == nil {
			c.noteGroups(groups.Items)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Chronicle) noteServers(servers []v1alpha1.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byGroup := make(map[string][]v1alpha1.Server)
	for i := range servers {
		group := servers[i].Spec.GroupRef.Name
		byGroup[group] = append(byGroup[group], servers[i])
	}
	for group, all := range byGroup {
		c.most[group] = max(c.most[group], len(all))
	}
	for _, group := range slices.Sorted(maps.Keys(c.most)) {
		c.note(group, "servers", Describe(byGroup[group])+Explain(byGroup[group]))
	}
}

func (c *Chronicle) noteGroups(groups []v1alpha1.ServerGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range groups {
		status := &groups[i].Status
		c.note(groups[i].Name, "decides", fmt.Sprintf("%s (%d players, %d free seats)",
			status.LastDecision, ptr.Deref(status.OnlinePlayers, 0), ptr.Deref(status.FreeSlots, 0)))
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
