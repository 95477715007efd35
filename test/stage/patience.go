// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patienceLasts is how long an API server that is too busy is asked again.
const patienceLasts = 15 * time.Second

// patient reads again what an API server was too busy to tell: on two cores
// under load that is no news about the network.
type patient struct{ client.Reader }

// Get implements client.Reader.
func (p patient) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return again(ctx, func(ctx context.Context) error { return p.Reader.Get(ctx, key, into, options...) })
}

// List implements client.Reader.
func (p patient) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return again(ctx, func(ctx context.Context) error { return p.Reader.List(ctx, into, options...) })
}

func again(ctx context.Context, read func(ctx context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, patienceLasts, true, func(ctx context.Context) (bool, error) {
		last = read(ctx)
		return !busy(last), nil
	})
	if last == nil {
		return err
	}
	return last
}

// busy is true for an answer that says something about the API server only.
func busy(err error) bool {
	if _, broken := errors.AsType[net.Error](err); broken {
		return true
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}
