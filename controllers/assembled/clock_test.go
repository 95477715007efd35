// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// skewed is the real clock, and as far ahead of it as it was put.
type skewed struct {
	clock.RealClock
	ahead atomic.Int64
}

func (s *skewed) Now() time.Time { return s.RealClock.Now().Add(time.Duration(s.ahead.Load())) }

func (s *skewed) Since(then time.Time) time.Duration { return s.Now().Sub(then) }

// later puts the manager's clock ahead, and wakes every group and server, as
// their own timers would. Agents report by the real clock, so that none may be
// there.
func (w *world) later(d time.Duration) {
	w.t.Helper()
	w.clock.ahead.Add(int64(d))
	wake := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.test/woken":"`+w.clock.Now().String()+`"}}}`))
	var objects []client.Object
	var groups v1alpha1.ServerGroupList
	_ = w.Client.List(w.t.Context(), &groups, client.InNamespace(w.namespace))
	for i := range groups.Items {
		objects = append(objects, &groups.Items[i])
	}
	servers := w.servers()
	for i := range servers {
		objects = append(objects, &servers[i])
	}
	for _, object := range objects {
		_ = client.IgnoreNotFound(w.Client.Patch(w.t.Context(), object, wake))
	}
}
