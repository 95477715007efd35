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
