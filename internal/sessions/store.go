// SPDX-License-Identifier: Apache-2.0

// Package sessions knows who is connected to the manager, what each said last
// and how old that is, and hands every session the orders it still lacks.
package sessions

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// ReportInterval is how often agents and proxies report without a change.
	ReportInterval = 5 * time.Second
	// FreshFor is the age up to which a sample counts: two intervals.
	FreshFor = 2 * ReportInterval
	// RosterCounts is how long the last word of a proxy that fell silent places
	// its players. Whom it sent has arrived by then, and is counted there.
	RosterCounts = time.Minute
	// ResyncEvery is how often every order is restated as a whole.
	ResyncEvery = 30 * time.Second
	// SessionEnds is the age no session passes; peers renew theirs before.
	SessionEnds = 10 * time.Minute
	// SaveWithin is how long a game may take to save its world.
	SaveWithin = 30 * time.Second

	silentFor    = 30 * time.Second
	sendWithin   = 15 * time.Second
	forgetAfter  = 15 * time.Minute
	linksPerPod  = 2
	deltaSpacing = 50 * time.Millisecond
)

var (
	// ErrNotConnected means that no session of the pod stands.
	ErrNotConnected = errors.New("the agent is not connected")
	// ErrCut means that the manager ended the session.
	ErrCut = errors.New("the session was cut")

	errForgotten = errors.New("its pod is gone")
)

// ServerPod says which pod of which Server a session belongs to.
type ServerPod struct {
	UID     types.UID
	Server  types.NamespacedName
	Group   string
	Network string
}

// ProxyPod says which pod of which ProxyGroup a session belongs to.
type ProxyPod struct {
	UID     types.UID
	Pod     types.NamespacedName
	Group   string
	Network string
}

// Config is what a Store needs.
type Config struct {
	// Version of the manager, told in Welcome.
	Version string
	// Clock dates reports and drives resyncs.
	Clock clock.WithTicker
}

// Store is safe for concurrent use. It is memory only: whatever it lacks after
// a restart is unknown until the peers have told it again.
type Store struct {
	version string
	clock   clock.WithTicker
	wakes   wakes

	mu          sync.Mutex
	servers     map[types.UID]*server
	proxies     map[types.UID]*proxy
	directories map[types.NamespacedName]*directory
	// outlooks are the directories as servers may know them.
	outlooks  map[types.NamespacedName]*directory
	questions questions
}

// New returns an empty store.
func New(cfg Config) *Store {
	return &Store{
		version:     cfg.Version,
		clock:       cfg.Clock,
		wakes:       wakes{ring: make(chan struct{}, 1), pending: map[Wake]struct{}{}},
		servers:     map[types.UID]*server{},
		proxies:     map[types.UID]*proxy{},
		directories: map[types.NamespacedName]*directory{},
		outlooks:    map[types.NamespacedName]*directory{},
		questions:   questions{busy: map[types.NamespacedName]bool{}, ring: make(chan struct{}, 1)},
	}
}

// Forget drops everything about a pod that is gone, so that its last words
// count for nothing. A session of it that still stands is cut.
func (s *Store) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(uid)
}

func (s *Store) forget(uid types.UID) {
	if gone, ok := s.servers[uid]; ok {
		gone.cut()
		delete(s.servers, uid)
	}
	if gone, ok := s.proxies[uid]; ok {
		gone.cut()
		delete(s.proxies, uid)
		s.nobodyOn(gone, s.clock.Now())
		s.wakeAboutRoster(gone, gone.said, said{})
		s.wakeAboutProxy(gone.pod)
	}
}

func (s *Store) welcome() *agentv1alpha1.Welcome {
	return &agentv1alpha1.Welcome{
		Version: s.version,
		Capabilities: []string{
			agentv1alpha1.CapabilityNetwork, agentv1alpha1.CapabilityBoosts, agentv1alpha1.CapabilityRetire,
			agentv1alpha1.CapabilityConnect, agentv1alpha1.CapabilityNewcomers, agentv1alpha1.CapabilityErrands,
			agentv1alpha1.CapabilityCloud,
		},
		ReportIntervalSeconds: int32(ReportInterval / time.Second),
	}
}

// Freshness says what a peer's last word is worth.
type Freshness int

const (
	// Unknown means that nothing was told since this manager leads.
	Unknown Freshness = iota
	// Stale means that the last sample is older than FreshFor.
	Stale
	// Fresh means that the last sample counts.
	Fresh
)

func freshness(sampledAt, now time.Time) Freshness {
	if sampledAt.IsZero() {
		return Unknown
	}
	if now.Sub(sampledAt) > FreshFor {
		return Stale
	}
	return Fresh
}
