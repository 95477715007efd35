// SPDX-License-Identifier: Apache-2.0

package proxytest

import (
	"fmt"
	"sync"

	"google.golang.org/grpc"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// Leader serves the channel for one proxy from the memory of the real manager,
// which several proxies may share: what they hear of each other is real.
type Leader struct {
	agentv1alpha1.UnimplementedChannelServer
	store  *sessions.Store
	pod    sessions.ProxyPod
	server *grpc.Server
}

// StartLeader serves the proxy of that pod, and writes to dir what it needs to
// find it, as StartManager does.
func StartLeader(dir string, store *sessions.Store, pod sessions.ProxyPod) (*Leader, error) {
	l := &Leader{store: store, pod: pod}
	var err error
	l.server, err = serve(dir, l)
	return l, err
}

// Stop ends every session and serves no more.
func (l *Leader) Stop() { l.server.Stop() }

// ProxySession implements the channel.
func (l *Leader) ProxySession(stream stream) error {
	first, err := stream.Recv()
	if err != nil || first.GetHello() == nil {
		return fmt.Errorf("no hello: %w", err)
	}
	opened := l.store.OpenProxy(l.pod, first.GetHello())
	defer opened.Close()
	ended := make(chan error, 2)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			message, err := stream.Recv()
			if err == nil {
				err = opened.Receive(message)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	})
	running.Go(func() {
		for {
			order, err := opened.Next(stream.Context())
			if err == nil {
				err = stream.Send(order)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	})
	return <-ended
}
