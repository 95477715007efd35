// SPDX-License-Identifier: Apache-2.0

package agentserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agentauth"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// channel is the service: it joins streams to sessions.
type channel struct {
	agentv1alpha1.UnimplementedChannelServer
	cfg Config
	log logr.Logger
}

// ServerSession serves the agent of one server pod.
func (c *channel) ServerSession(stream grpc.BidiStreamingServer[agentv1alpha1.ServerMessage, agentv1alpha1.ServerOrder]) error {
	return join(c, stream, kind[sessions.ServerPod, agentv1alpha1.ServerMessage, agentv1alpha1.ServerOrder]{
		resolve: c.cfg.Pods.ResolveServer,
		hello:   (*agentv1alpha1.ServerMessage).GetHello,
		open: func(pod sessions.ServerPod, hello *agentv1alpha1.Hello) (session[agentv1alpha1.ServerMessage, agentv1alpha1.ServerOrder], func()) {
			opened := c.cfg.Store.OpenServer(pod, hello)
			return opened, opened.Close
		},
	})
}

// ProxySession serves one proxy pod.
func (c *channel) ProxySession(stream grpc.BidiStreamingServer[agentv1alpha1.ProxyMessage, agentv1alpha1.ProxyOrder]) error {
	return join(c, stream, kind[sessions.ProxyPod, agentv1alpha1.ProxyMessage, agentv1alpha1.ProxyOrder]{
		resolve: c.cfg.Pods.ResolveProxy,
		hello:   (*agentv1alpha1.ProxyMessage).GetHello,
		open: func(pod sessions.ProxyPod, hello *agentv1alpha1.Hello) (session[agentv1alpha1.ProxyMessage, agentv1alpha1.ProxyOrder], func()) {
			opened := c.cfg.Store.OpenProxy(pod, hello)
			return opened, opened.Close
		},
	})
}

// kind is what differs between the two kinds of session.
type kind[Pod, In, Out any] struct {
	resolve func(context.Context, agentauth.Identity) (Pod, error)
	hello   func(*In) *agentv1alpha1.Hello
	open    func(Pod, *agentv1alpha1.Hello) (session[In, Out], func())
}

// join makes a session of a stream whose caller is one of our pods.
func join[Pod, In, Out any](c *channel, stream grpc.BidiStreamingServer[In, Out], of kind[Pod, In, Out]) error {
	ctx := stream.Context()
	identity := identityFrom(ctx)
	pod, err := of.resolve(ctx, identity)
	if err != nil {
		return unknown(err)
	}
	hello, err := greeted(c, stream, of.hello)
	if err != nil {
		return err
	}
	opened, shut := of.open(pod, hello)
	defer shut()
	log := c.log.WithValues("pod", klog.KRef(identity.Namespace, identity.Pod), "version", hello.GetVersion())
	return serve(logr.NewContext(ctx, log), stream, opened)
}

// unknown answers a pod that is proven but not seen as ours: it may be soon.
func unknown(err error) error {
	return status.Error(codes.Unavailable, fmt.Sprintf("this pod is not known as one of ours: %v", err))
}

// greeted waits for the Hello, bounded.
func greeted[In, Out any](c *channel, stream grpc.BidiStreamingServer[In, Out], hello func(*In) *agentv1alpha1.Hello) (*agentv1alpha1.Hello, error) {
	type first struct {
		message *In
		err     error
	}
	// The reader ends with the stream, which ends with its handler.
	firsts := make(chan first, 1)
	go func() {
		message, err := stream.Recv()
		firsts <- first{message, err}
	}()
	timer := c.cfg.Clock.NewTimer(helloWithin)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil, status.Errorf(codes.DeadlineExceeded, "no hello within %s", helloWithin)
	case got := <-firsts:
		if got.err != nil {
			return nil, got.err
		}
		if hello(got.message) == nil {
			return nil, status.Error(codes.InvalidArgument, "the first message is no hello")
		}
		return hello(got.message), nil
	}
}

// session is what the store keeps of a stream.
type session[In, Out any] interface {
	Next(ctx context.Context) (*Out, error)
	Receive(message *In) error
	Cut() <-chan struct{}
}

// serve carries messages both ways until the peer leaves or the store cuts the
// session; a peer that takes nothing blocks only the goroutine that sends.
func serve[In, Out any](ctx context.Context, stream grpc.BidiStreamingServer[In, Out], held session[In, Out]) error {
	log := logr.FromContextOrDiscard(ctx)
	log.V(1).Info("a session begins")
	ended := make(chan error, 2)
	go func() { ended <- receive(stream, held) }()
	go func() { ended <- send(ctx, stream, held) }()
	select {
	case err := <-ended:
		log.V(1).Info("a session ended", "cause", err)
		return err
	case <-held.Cut():
		_, err := held.Next(ctx)
		log.Info("a session was cut", "cause", err)
		return status.Error(codes.Unavailable, err.Error())
	}
}

func receive[In, Out any](stream grpc.BidiStreamingServer[In, Out], held session[In, Out]) error {
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := held.Receive(message); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
	}
}

func send[In, Out any](ctx context.Context, stream grpc.BidiStreamingServer[In, Out], held session[In, Out]) error {
	for {
		order, err := held.Next(ctx)
		if err != nil {
			return status.Error(codes.Unavailable, err.Error())
		}
		if err := stream.Send(order); err != nil {
			return err
		}
	}
}
