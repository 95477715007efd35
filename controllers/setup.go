// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spawnery/spawnery-operator/internal/agentserver"
	"github.com/spawnery/spawnery-operator/internal/certs"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// Options are what the manager's flags and its pod decide.
type Options struct {
	// Version of this program.
	Version string
	// Namespace the manager runs in.
	Namespace string
	// Image is the operator's own: servers' agents and proxies run it.
	Image string
	// StartupDeadline holds for groups that set none.
	StartupDeadline time.Duration
	// DrainTaints are keys of taints by which, beside the known ones, a node is
	// about to leave.
	DrainTaints []string
	// SessionServer replaces Mojang's; empty: Mojang's.
	SessionServer string
	// ChannelAddress is where agents are listened for, host:port.
	ChannelAddress string
	// ChannelEndpoint is what agents dial; empty: the Service spawnery-agent.
	ChannelEndpoint string
	// Kube and Reviews are uncached clients; Reviews must have no rate limit.
	Kube    kubernetes.Interface
	Reviews kubernetes.Interface
	Clock   clock.WithTicker
	// Metrics is where the operator's own metrics are registered; nil: nowhere.
	Metrics prometheus.Registerer
}

// Setup adds the indexes, every controller and the channel to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	store := sessions.New(sessions.Config{Version: o.Version, Clock: o.Clock})
	s := &setup{
		Options: o, mgr: mgr, store: store, news: newWakes(store), leading: &leadership{clock: o.Clock},
		authority: certs.New(certs.Config{
			Secrets:   o.Kube.CoreV1().Secrets(o.Namespace),
			Service:   agentserver.ServiceName,
			Namespace: o.Namespace,
			Hosts:     o.hosts(),
			Labels:    podspec.ManagedLabels(),
			Clock:     o.Clock,
		}),
	}
	return errors.Join(s.addChannel(), s.addNetwork(), s.addServerGroup(), s.addServer(), s.addProxyGroup(), s.addAsks(), s.addSweeps(), s.addMetrics(ctx))
}

// address is where the packets of a pod that dials the manager go.
func (o Options) address() podspec.ManagerAddress {
	address := podspec.ManagerAddress{Namespace: o.Namespace, Ports: []int32{agentserver.Port}}
	if port, ok := portOf(o.ChannelAddress); ok {
		address.Ports = []int32{port}
	}
	if port, ok := portOf(o.ChannelEndpoint); ok {
		address.Namespace = ""
		if !slices.Contains(address.Ports, port) {
			address.Ports = append(address.Ports, port)
		}
	}
	return address
}

func portOf(address string) (int32, bool) {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0, false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return int32(port), err == nil && port > 0
}

// hosts are the names beside the Service's that agents may dial.
func (o Options) hosts() []string {
	host, _, err := net.SplitHostPort(o.ChannelEndpoint)
	if err != nil {
		return nil
	}
	return []string{host}
}
