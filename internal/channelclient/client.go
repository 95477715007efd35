// SPDX-License-Identifier: Apache-2.0

// Package channelclient keeps one end of the channel connected to the leading
// manager for as long as its pod lives, and lets its user live without one.
package channelclient

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// Config says where the manager is and who calls.
type Config struct {
	// Directory holds the files "endpoint" (host:port) and "ca.crt" (PEM) of
	// the namespace's channel ConfigMap, and "serverName" where the manager's
	// certificate bears another name than the endpoint. They are read at every
	// dial.
	Directory string
	// TokenFile holds the projected ServiceAccount token, read at every dial.
	TokenFile string
	// Version of this program, told in Hello.
	Version string
	// Capabilities of this program, told in Hello.
	Capabilities []string
	// Clock drives every wait.
	Clock clock.WithTicker
	// Timing overrides the defaults where it is not zero.
	Timing Timing
}

// Timing holds the bounds of a session. The zero value of a field means its
// default.
type Timing struct {
	// ReportInterval is the time between two reports without a change, unless
	// the manager's Welcome asks for another. Default 5 s.
	ReportInterval time.Duration
	// ReportSpacing is the least time between two reports. Default 100 ms.
	ReportSpacing time.Duration
	// EstablishWithin bounds dial, handshake, Hello and Welcome. Default 10 s.
	EstablishWithin time.Duration
	// SendWithin bounds the sending of one message. Default 15 s.
	SendWithin time.Duration
	// SilentAfter ends a session in which no order arrived. The manager
	// restates its orders every 30 s. Default 90 s.
	SilentAfter time.Duration
	// RenewAfter is the age at which a session's successor is made while the
	// session still serves. Default 8 min.
	RenewAfter time.Duration
	// EndAfter is the age no session passes. Default 10 min.
	EndAfter time.Duration
	// RetryFirst and RetryMost bound the time between two attempts. Default
	// 0.5 s and 15 s.
	RetryFirst, RetryMost time.Duration
	// ResolveEvery is how often the manager's name is looked up while waiting
	// for the next attempt; another answer ends the wait. Default 5 s.
	ResolveEvery time.Duration
}

// Peer is this end of a session. Its functions are called from goroutines of
// Run, OnOrder never from two at once.
type Peer[Send, Receive any] struct {
	// Report returns the newest whole state, or nil when there is none yet. It
	// is called for each report that is about to be sent, so reports that the
	// manager is too slow for are never queued.
	Report func() *Send
	// Changed, when it yields, has a report sent without waiting for the
	// interval. Make it with room for one and send without blocking. Optional.
	Changed <-chan struct{}
	// OnOrder carries out one order, Welcome included. It must return quickly;
	// ctx is that of Run. What answer is given, then or later, is sent in the
	// session that stands by then.
	OnOrder func(ctx context.Context, order *Receive, answer func(*Send))
	// OnConnection is told when a session begins and when none is left.
	// Optional.
	OnConnection func(Connection)
}

// Connection tells whether a manager listens.
type Connection int

const (
	// Disconnected means that no session stands.
	Disconnected Connection = iota
	// Connected means that a manager answered the Hello of a session.
	Connected
)

// ServerPeer is the agent's end of a session.
type ServerPeer = Peer[agentv1alpha1.ServerMessage, agentv1alpha1.ServerOrder]

// ProxyPeer is a proxy's end of a session.
type ProxyPeer = Peer[agentv1alpha1.ProxyMessage, agentv1alpha1.ProxyOrder]

// RunServer keeps a server session until ctx ends, and returns the cause of
// that end. It stamps sent_at on every report. A logger is taken from ctx.
func RunServer(ctx context.Context, cfg Config, peer ServerPeer) error {
	return run(ctx, cfg, peer, dialect[agentv1alpha1.ServerMessage, agentv1alpha1.ServerOrder]{
		open: agentv1alpha1.ChannelClient.ServerSession, hello: serverHello, stamp: stampServer,
		welcome: (*agentv1alpha1.ServerOrder).GetWelcome,
	})
}

// RunProxy keeps a proxy session until ctx ends, and returns the cause of that
// end. It stamps sent_at on every report. A logger is taken from ctx.
func RunProxy(ctx context.Context, cfg Config, peer ProxyPeer) error {
	return run(ctx, cfg, peer, dialect[agentv1alpha1.ProxyMessage, agentv1alpha1.ProxyOrder]{
		open: agentv1alpha1.ChannelClient.ProxySession, hello: proxyHello, stamp: stampProxy,
		welcome: (*agentv1alpha1.ProxyOrder).GetWelcome,
	})
}

func serverHello(hello *agentv1alpha1.Hello) *agentv1alpha1.ServerMessage {
	return &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Hello{Hello: hello}}
}

func proxyHello(hello *agentv1alpha1.Hello) *agentv1alpha1.ProxyMessage {
	return &agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Hello{Hello: hello}}
}

func stampServer(message *agentv1alpha1.ServerMessage, now time.Time) {
	if report := message.GetReport(); report != nil {
		report.SentAt = timestamppb.New(now)
	}
}

func stampProxy(message *agentv1alpha1.ProxyMessage, now time.Time) {
	if report := message.GetReport(); report != nil {
		report.SentAt = timestamppb.New(now)
	}
}

type stream[Send, Receive any] = grpc.BidiStreamingClient[Send, Receive]

// dialect is what differs between the two kinds of session.
type dialect[Send, Receive any] struct {
	open    func(agentv1alpha1.ChannelClient, context.Context, ...grpc.CallOption) (stream[Send, Receive], error)
	hello   func(*agentv1alpha1.Hello) *Send
	stamp   func(*Send, time.Time)
	welcome func(*Receive) *agentv1alpha1.Welcome
}

func run[Send, Receive any](ctx context.Context, cfg Config, peer Peer[Send, Receive], dialect dialect[Send, Receive]) error {
	if cfg.Clock == nil || peer.Report == nil || peer.OnOrder == nil {
		return errors.New("running a channel session needs a clock, reports and somebody who takes orders")
	}
	cfg.Timing = cfg.Timing.withDefaults()
	k := &keeper[Send, Receive]{
		cfg: cfg, peer: peer, dialect: dialect,
		answers: make(chan *Send, answersKept),
		causes:  causes{},
	}
	return k.run(ctx)
}

// answersKept bounds the answers that wait for a session: a manager that does
// not come back in time has forgotten its questions. Hundreds of players who log
// in at once are told of in one moment.
const answersKept = 512
