// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/go-logr/logr/funcr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spawnery/spawnery-operator/controllers"
)

// process is one life of the manager: what it remembers ends with it.
type process struct {
	wire  *wire
	stop  context.CancelFunc
	ended chan error
}

// startManager starts a manager that sees this trial's namespace alone, as the
// account that the operator is installed with. Without kinds it would wait for
// them: controller-runtime does not even end then when it is told to.
func (t *trial) startManager() {
	if t.manager != nil || t.kindless {
		return
	}
	t.lives++
	t.tally.count(managers)
	life := t.lives
	note := func(format string, args ...any) { t.ledger.note(time.Now(), format, args...) }
	one := &process{wire: newWire(rand.New(rand.NewPCG(t.seed, uint64(life))), note, t.tally), ended: make(chan error, 1)}
	note("manager: starts, life %d", life)
	as := t.AsServiceAccount(t.operator, managerAccount)
	as.QPS = -1
	as.Wrap(one.wire.through)
	var ctx context.Context
	ctx, one.stop = context.WithCancel(t.Context())
	logger := funcr.New(func(prefix, args string) { t.logs.add(time.Since(t.began), life, prefix+" "+args) }, funcr.Options{})
	ctx = ctrl.LoggerInto(ctx, logger)
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: t.Scheme, Cache: namespaced(controllers.CacheOptions(), t.namespace), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, Logger: logger,
		MapperProvider:          func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return t.mapper, nil },
		GracefulShutdownTimeout: new(5 * time.Second),
	})
	if err == nil {
		err = controllers.Setup(ctx, mgr, controllers.Options{
			Version: "test", Namespace: t.operator, Image: "spawnery.test/operator:dev", StartupDeadline: 10 * time.Minute,
			ChannelAddress: t.address, ChannelEndpoint: t.address,
			Kube: t.typed(as), Reviews: t.typed(as), Clock: t.clock,
		})
	}
	if err != nil {
		t.Fatalf("starting the manager: %v", err)
	}
	go func() { one.ended <- mgr.Start(ctx) }()
	go func() {
		// A process that crashes does nothing more.
		<-one.wire.dead
		one.stop()
	}()
	t.manager = one
}

func (t *trial) typed(config *rest.Config) kubernetes.Interface {
	made, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return made
}

// namespaced keeps other trials out of the caches.
func namespaced(options cache.Options, namespace string) cache.Options {
	options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	return options
}

// stopManager ends the manager as its pod's deletion does, or, when it is cut
// off first, as a crash does.
func (t *trial) stopManager() {
	if t.manager == nil {
		return
	}
	one := t.manager
	t.manager = nil
	one.stop()
	select {
	case err := <-one.ended:
		one.wire.cut()
		t.ledger.note(time.Now(), "manager: has ended: %v", err)
	case <-time.After(stopsWithin):
		t.Fatalf("the manager has not stopped after %s", stopsWithin)
	}
}

// stopsWithin is longer than any manager takes that can stop.
const stopsWithin = 30 * time.Second

// reviveManager starts another manager where the last one has crashed.
func (t *trial) reviveManager() {
	if t.manager == nil {
		return
	}
	if t.manager.wire.isDead() {
		t.stopManager()
		t.startManager()
		return
	}
	select {
	case err := <-t.manager.ended:
		t.manager.ended <- err
		// It may have crashed between the two looks.
		if !t.manager.wire.isDead() {
			t.Fatalf("the manager ended by itself: %v", err)
		}
	default:
	}
}
