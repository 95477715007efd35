// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)


	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
)

// metrics are what Prometheus reads.
type metrics struct {
	registry *prometheus.Registry
	logins   *prometheus.CounterVec
	refusals *prometheus.CounterVec
	status   prometheus.Counter
	plugins  *prometheus.CounterVec
}

// The outcomes of a login.
const (
	outcomeIn              = "in"
	outcomeUnauthenticated = "unauthenticated"
	outcomeQueue           = "session_server_queue"
	outcomeLimited         = "session_server_limited"
	outcomeUnreachable     = "session_server_unreachable"
	outcomeRateLimited     = "rate_limited"
	outcomeRejected        = "rejected"
	outcomeBroken          = "broken"
)

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

func newMetrics(p *Proxy) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spawnery_proxy_logins_total", Help: "Logins by how they ended.",
		}, []string{"outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spawnery_proxy_refused_connections_total", Help: "Connections closed at once, by the limit they met.",
		}, []string{"limit"}),
		status: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spawnery_proxy_status_requests_total", Help: "Connections of server lists.",
		}),
		plugins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spawnery_proxy_plugin_messages_total",
			Help: "Messages of servers' plugins on bungeecord:main, by subchannel and what became of them.",
		}, []string{"subchannel", "outcome"}),
	}
	m.registry.MustRegister(m.logins, m.refusals, m.status, m.plugins,
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
	for _, outcome := range []string{outcomeIn, outcomeUnauthenticated, outcomeQueue, outcomeLimited, outcomeUnreachable, outcomeRateLimited, outcomeRejected, outcomeBroken} {
		m.logins.WithLabelValues(outcome)
	}
	for _, limit := range []string{limitConnections, limitProxyProtocol, limitLoginRate, limitStatusRate} {
		m.refusals.WithLabelValues(limit)
	}
	for _, became := range pluginOutcomes {
		m.plugins.WithLabelValues(bungee.Unknown.String(), string(became))
	}
	return m
}

// EveryMetric has every metric of a proxy, of one that does nothing: the
// reference is written from it.
func EveryMetric() prometheus.Gatherer {
	return newMetrics(&Proxy{gate: guard.NewGate(guard.Limits{}), roster: newRoster()}).registry
}

func gauge(name, help string, read func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

func (m *metrics) refused(limit string) { m.refusals.WithLabelValues(limit).Inc() }

func (m *metrics) loggedIn(err error) { m.logins.WithLabelValues(outcomeOf(err)).Inc() }

func outcomeOf(err error) string {
	_, rejected := errors.AsType[*login.Rejected](err)
	switch {
	case err == nil:
		return outcomeIn
	case errors.Is(err, login.ErrUnauthenticated):
		return outcomeUnauthenticated
	case errors.Is(err, login.ErrQueue):
		return outcomeQueue
	case errors.Is(err, login.ErrLimited):
		return outcomeLimited
	case errors.Is(err, login.ErrUnreachable):
		return outcomeUnreachable
	case errors.Is(err, errTooOften):
		return outcomeRateLimited
	case rejected:
		return outcomeRejected
	}
	return outcomeBroken
}

// Bounds of whoever probes: an open connection costs a file descriptor, which
// players need.
const (
	webWithin = 10 * time.Second
	webIdle   = 2 * time.Minute
)

// sayOK answers a probe; one that has gone needs no answer.
func sayOK(w http.ResponseWriter) { _, _ = io.WriteString(w, "ok\n") }

// serveHTTP answers probes and metrics until ctx ends.
func (p *Proxy) serveHTTP(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { sayOK(w) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		sayOK(w)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics.registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadTimeout: webWithin, WriteTimeout: webWithin, IdleTimeout: webIdle}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(p.config.HTTP)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("answering probes: %w", err)
}
