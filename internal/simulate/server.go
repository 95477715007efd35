// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// server is a Server in the API server and in the manager's cache, with its pod.
type server struct {
	group *group
	name  string
	key   types.NamespacedName
	// written is nil once the API server has it no more, shown while the cache
	// does not show it.
	written, shown *v1alpha1.Server
	writes, shows  int
	pod            *pod
	pass           alarm

	// view is how decisions see it, while viewed.
	view   fleet.Server
	viewed bool

	// there is whom proxies put on it, as the manager knows, and lastThere when
	// that was last somebody.
	there     sessions.Presence
	lastThere time.Time
	newsDue   bool

	entry    entry
	entryDue bool
}

// put writes a whole Server; nil is the end of it.
func (s *server) put(object *v1alpha1.Server) {
	w := s.group.w
	s.written = object
	s.writes++
	s.group.stirred++
	version := s.writes
	w.show(func() {
		if version > s.shows {
			s.showAs(object, version)
		}
	})
}

// showAs is what the cache does when it hears of a Server.
func (s *server) showAs(object *v1alpha1.Server, version int) {
	w := s.group.w
	s.shown, s.shows, s.viewed = object, version, false
	if object == nil && s.written == nil {
		s.group.drop(s)
	}
	w.proxy.list(s)
	w.manager.hearNetwork()
	w.manager.wakeServer(s)
	w.manager.wakeGroup(s.group)
}

// write changes a Server.
func (s *server) write(change func(*v1alpha1.Server)) {
	changed := *s.written
	change(&changed)
	s.put(&changed)
}

// stale is true while the cache shows an older Server than there is: whoever
// writes by what it shows meets a conflict.
func (s *server) stale() bool { return s.shows != s.writes }

// current is true for a Server that is there and was not asked to go.
func (s *server) current() bool { return s.written != nil && s.written.DeletionTimestamp == nil }

// delete asks a Server to go; its finalizer keeps it.
func (s *server) delete() {
	if !s.current() {
		return
	}
	s.write(func(object *v1alpha1.Server) { object.DeletionTimestamp = new(metav1.NewTime(s.group.w.now)) })
}

// podState is what the manager finds when it looks for the pod: in its cache,
// and past it for what the cache does not show.
func (s *server) podState() (phase.Pod, time.Time) {
	made := s.shown.Status.PodUID != ""
	switch p := s.pod; {
	case p != nil && p.inCache && (!made || s.shown.Status.PodUID == string(p.uid)):
		return p.shown, p.shownGraceEnds
	case !made:
		return phase.PodNotMade, time.Time{}
	case p != nil && !p.gone:
		return phase.PodUnseen, time.Time{}
	}
	return phase.PodAbsent, time.Time{}
}

func (s *server) podView() fleet.PodView {
	switch {
	case s.shown.Status.PodUID == "":
		return fleet.PodNone
	case s.pod != nil && s.pod.inCache:
		return fleet.PodSeen
	}
	return fleet.PodUnseen
}

// look is the server in the words of the decisions about its group.
func (s *server) look(m *manager) fleet.Server {
	if !s.viewed {
		spec := &s.group.shown.Spec
		says := sighting.Group{PodHash: s.group.podHash, PlayableSlots: spec.PlayableSlots, MaxPlayers: spec.MaxPlayers}
		s.view = sighting.ServerOf(s.shown, says, s.podView(), sighting.PresenceOf(s.shown, m, m.proxies()))
		s.view.Counts = s.view.Counts.Seating(s.seated(m))
		s.view.Node = s.outlook()
		s.viewed = true
	}
	return s.view
}

// outlook is what the cache shows of the node: it departs while another one
// could take the server.
func (s *server) outlook() fleet.NodeOutlook {
	if s.pod == nil || s.pod.node == nil || !s.pod.node.leavingShown {
		return fleet.NodeStaying
	}
	if slices.ContainsFunc(s.group.w.nodes, func(n *node) bool { return !n.leavingShown }) {
		return fleet.NodeDeparting
	}
	return fleet.NodeStaying
}

// seated is how many seats are taken, as far as is known: proxies know where
// everybody is.
func (s *server) seated(m *manager) int {
	if !m.proxiesFrom.IsZero() || s.pod == nil {
		return s.there.On + s.there.Coming
	}
	return int(s.pod.agent.heard.GetOnline() + s.pod.agent.heard.GetSeatsPending())
}

// recorded is true when a status says what another does.
func recorded(was, now *v1alpha1.ServerStatus) bool { return reflect.DeepEqual(was, now) }
