// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
	"github.com/spawnery/spawnery-operator/internal/proxy/configmaps"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// metrics are what Prometheus reads. Every label has values that are known
// beforehand; none comes from a peer.
type metrics struct {
	registry *prometheus.Registry
	logins   *prometheus.CounterVec
	refusals *prometheus.CounterVec
	sentAway *prometheus.CounterVec
	status   prometheus.Counter
	switches *prometheus.HistogramVec
	seats    *prometheus.HistogramVec
	plugins  *prometheus.CounterVec
}

// The outcomes of a login.
const (
	outcomeIn              = "in"
	outcomeUnauthenticated = "unauthenticated"
	outcomeQueue           = "session_server_queue"
	outcomeLimited         = "session_server_limited"
	outcomeUnreachable     = "session_server_unreachable"
	outcomeSlow            = "session_server_slow"
	outcomeNonsense        = "session_server_nonsense"
	outcomeRateLimited     = "rate_limited"
	outcomeVersion         = "version"
	outcomeStarting        = "starting"
	outcomeReplaced        = "replaced"
	outcomeDuplicate       = "duplicate"
	outcomeFull            = "full"
	outcomeRejected        = "rejected"
	outcomeBroken          = "broken"
)

// Why somebody is not let in who proved to be who they are, or did not have to.
var (
	errStarting  = errors.New("the server list has not been received yet")
	errReplaced  = errors.New("nobody new gets in here")
	errDuplicate = errors.New("the player is here already")
	errFull      = errors.New("the network is full")
)

// outcomes are the errors of a login that have an outcome of their own.
func outcomes() map[string]error {
	return map[string]error{
		outcomeUnauthenticated: login.ErrUnauthenticated, outcomeQueue: login.ErrQueue, outcomeLimited: login.ErrLimited,
		outcomeUnreachable: login.ErrUnreachable, outcomeSlow: login.ErrSlow, outcomeNonsense: login.ErrNonsense,
		outcomeRateLimited: errTooOften, outcomeVersion: login.ErrVersion, outcomeStarting: errStarting,
		outcomeReplaced: errReplaced, outcomeDuplicate: errDuplicate, outcomeFull: errFull,
	}
}

func outcomeOf(err error) string {
	if err == nil {
		return outcomeIn
	}
	for outcome, is := range outcomes() {
		if errors.Is(err, is) {
			return outcome
		}
	}
	if _, rejected := errors.AsType[*login.Rejected](err); rejected {
		return outcomeRejected
	}
	return outcomeBroken
}

// causeOf is why somebody may not come in, by what they are told.
func causeOf(reason mcproto.Text) error {
	told := map[string]error{string(messages.LoginDuplicate): errDuplicate, string(messages.LoginFull): errFull}
	return told[reason.Translate]
}

// Why connections are closed at once.
const (
	// limitConnections: there are too many.
	limitConnections = "connections"
	// limitProxyProtocol: a peer that must say for whom it speaks did not.
	limitProxyProtocol = "proxy_protocol"
	// limitLoginRate and limitStatusRate: an address comes too often.
	limitLoginRate  = "login_rate"
	limitStatusRate = "status_rate"
)

// How a switch or a question for a seat ended.
const (
	endIn       = "in"        // the player is in the other world
	endStayed   = "stayed"    // where they were
	endGranted  = "granted"   // a seat
	endRefused  = "refused"   // by the agent
	endSilent   = "silent"    // the agent was not heard in time
	reasonOther = "other"     // a message that has no label of its own
	keyPrefix   = "spawnery." // of every message
)

// parting are the messages that players read who are disconnected.
func parting() []messages.Key {
	return []messages.Key{
		messages.HoldEnded, messages.HoldFull, messages.JoinDenied, messages.JoinFailed, messages.JoinFull, messages.JoinNone,
		messages.JoinUnsafe, messages.LimitPackets, messages.LimitProtocol, messages.LoginElsewhere, messages.Lost, messages.Shutdown,
	}
}

func newMetrics(p *Proxy) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spawnery_proxy_logins_total", Help: "Logins by how they ended.",
		}, []string{"outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spawnery_proxy_refused_connections_total", Help: "Connections closed at once, by the limit they met.",
		}, []string{"limit"}),
		sentAway: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spawnery_proxy_refusals_total", Help: "Players who were logged in and disconnected by this proxy, by the message they read.",
		}, []string{"reason"}),
		plugins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spawnery_proxy_plugin_messages_total",
			Help: "Messages of servers' plugins on bungeecord:main, by subchannel and what became of them.",
		}, []string{"subchannel", "outcome"}),
		status: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spawnery_proxy_status_requests_total", Help: "Connections of server lists.",
		}),
		switches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "spawnery_proxy_switch_seconds", Help: "How long players took from one world to the next, or to learn that they stay.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"outcome"}),
		seats: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "spawnery_proxy_seat_seconds", Help: "How long agents took to answer for a seat.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3},
		}, []string{"outcome"}),
	}
	m.registry.MustRegister(m.logins, m.refusals, m.sentAway, m.status, m.plugins, m.switches, m.seats, sessionsByProtocol{p},
		traffic("from_clients", &p.clients.In), traffic("to_clients", &p.clients.Out),
		traffic("from_servers", &p.servers.In), traffic("to_servers", &p.servers.Out),
		gauge("spawnery_proxy_players", "Players who are authenticated on this proxy.", func() float64 { return float64(p.roster.size()) }),
		gauge("spawnery_proxy_players_held", "Players without a place who wait for one.", func() float64 { return float64(p.held.Count()) }),
		gauge("spawnery_proxy_connections", "Open connections.", func() float64 { return float64(p.gate.Inside()) }),
		gauge("spawnery_proxy_manager_connected", "1 while a session with the manager stands.", func() float64 {
			if p.connected.Load() {
				return 1
			}
			return 0
		}),
	)
	m.begin()
	return m
}

// begin has every series from the start: one that appears with its first event
// hides it from rates.
func (m *metrics) begin() {
	for outcome := range outcomes() {
		m.logins.WithLabelValues(outcome)
	}
	for _, outcome := range []string{outcomeIn, outcomeRejected, outcomeBroken} {
		m.logins.WithLabelValues(outcome)
	}
	for _, limit := range []string{limitConnections, limitProxyProtocol, limitLoginRate, limitStatusRate} {
		m.refusals.WithLabelValues(limit)
	}
	for _, became := range pluginOutcomes {
		m.plugins.WithLabelValues(bungee.Unknown.String(), string(became))
	}
	m.sentAway.WithLabelValues(reasonOther)
	for _, key := range parting() {
		m.sentAway.WithLabelValues(labelOf(string(key)))
	}
	m.switches.WithLabelValues(endIn)
	m.switches.WithLabelValues(endStayed)
	for _, end := range []string{endGranted, endRefused, endSilent} {
		m.seats.WithLabelValues(end)
	}
}

// EveryMetric has every metric of a proxy, of one that does nothing: the
// reference is written from it.
func EveryMetric() (prometheus.Gatherer, error) {
	given, err := configmaps.New("")
	if err != nil {
		return nil, err
	}
	return newMetrics(&Proxy{gate: guard.NewGate(guard.Limits{}), roster: newRoster(), given: given}).registry, nil
}

func gauge(name, help string, read func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

func traffic(direction string, counted interface{ Load() uint64 }) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "spawnery_proxy_bytes_total", Help: "Bytes by their direction, as they are on the wire.",
		ConstLabels: prometheus.Labels{"direction": direction},
	}, func() float64 { return float64(counted.Load()) })
}

func (m *metrics) refused(limit string) { m.refusals.WithLabelValues(limit).Inc() }

func (m *metrics) loggedIn(err error) { m.logins.WithLabelValues(outcomeOf(err)).Inc() }

// Switched implements session.Meter.
func (m *metrics) Switched(took time.Duration, err error) {
	end := endIn
	if err != nil {
		end = endStayed
	}
	m.switches.WithLabelValues(end).Observe(took.Seconds())
}

// SentAway implements session.Meter.
func (m *metrics) SentAway(reason mcproto.Text) {
	label := reasonOther
	if slices.Contains(parting(), messages.Key(reason.Translate)) {
		label = labelOf(reason.Translate)
	}
	m.sentAway.WithLabelValues(label).Inc()
}

// labelOf is a message's key without what all have in common.
func labelOf(key string) string { return strings.TrimPrefix(key, keyPrefix) }

// seatAsked counts a question to an agent.
func (m *metrics) seatAsked(took time.Duration, err error) {
	end := endGranted
	if _, refused := errors.AsType[*seats.Refusal](err); refused {
		end = endRefused
	} else if err != nil {
		end = endSilent
	}
	m.seats.WithLabelValues(end).Observe(took.Seconds())
}

// sessionsByProtocol counts the players of a proxy by what their clients speak.
type sessionsByProtocol struct{ proxy *Proxy }

var sessionsDesc = prometheus.NewDesc("spawnery_proxy_sessions",
	"Players by the protocol number of their client.", []string{"protocol"}, nil)

// Describe implements prometheus.Collector.
func (sessionsByProtocol) Describe(to chan<- *prometheus.Desc) { to <- sessionsDesc }

// Collect implements prometheus.Collector.
func (s sessionsByProtocol) Collect(to chan<- prometheus.Metric) {
	count := map[int32]int{}
	for _, number := range s.proxy.given.Content().Protocols.Numbers() {
		count[number] = 0
	}
	for _, player := range s.proxy.roster.all() {
		count[player.Protocol()]++
	}
	for number, players := range count {
		to <- prometheus.MustNewConstMetric(sessionsDesc, prometheus.GaugeValue, float64(players), strconv.Itoa(int(number)))
	}
}
