// SPDX-License-Identifier: Apache-2.0

// Command manager is the operator: it watches Minecraft networks and runs the
// proxies and servers they describe.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/controllers"
	"github.com/spawnery/spawnery-operator/internal/fence"
)

// name of the manager: of its lease, its account and what else it has one of.
const name = "spawnery-manager"

// renewDeadline is how old the last renewal of the lease may be: the lease lasts
// for 15 seconds.
const renewDeadline = 10 * time.Second

// version is set when the image is built.
var version = "dev"

// options are what the flags say.
type options struct {
	controllers.Options

	leaderElect    bool
	healthAddress  string
	metricsAddress string
}

func main() {
	var opts options
	logging := textlogger.NewConfig()
	logging.AddFlags(flag.CommandLine)
	flag.BoolVar(&opts.leaderElect, "leader-elect", false, "act only while holding the lease, so that several replicas can stand by")
	flag.StringVar(&opts.healthAddress, "health-probe-bind-address", ":8081", "address that answers /healthz and /readyz")
	flag.StringVar(&opts.metricsAddress, "metrics-bind-address", "0", "address that serves /metrics; 0 serves none")
	flag.StringVar(&opts.Namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "spawnery-system"), "namespace the manager runs in")
	flag.StringVar(&opts.Image, "operator-image", os.Getenv("OPERATOR_IMAGE"), "image that agents and proxies are started from")
	flag.DurationVar(&opts.StartupDeadline, "startup-deadline", 5*time.Minute, "how long a server may take to let players in, where its group does not say")
	flag.Func("drain-taint", "key of a taint by which a node is about to leave, beside those of the autoscalers; may be given again", func(key string) error {
		opts.DrainTaints = append(opts.DrainTaints, key)
		return nil
	})
	flag.StringVar(&opts.SessionServer, "session-server", "", "base address that authenticates players in place of Mojang's")
	flag.StringVar(&opts.ChannelAddress, "agent-bind-address", "", "address that agents and proxies are listened for on (default :9443)")
	flag.StringVar(&opts.ChannelEndpoint, "agent-endpoint", "", "host:port that agents and proxies dial (default the Service spawnery-agent)")
	flag.Parse()
	ctrl.SetLogger(textlogger.NewLogger(logging))

	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("building the scheme: %w", err)
		}
	}
	working, election := config, config
	if opts.leaderElect {
		held := fence.New(clock.RealClock{}, renewDeadline)
		working, election = held.Guard(config), held.Watch(config)
	}
	manager, err := ctrl.NewManager(working, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         controllers.CacheOptions(),
		Metrics:                       server.Options{BindAddress: opts.metricsAddress},
		HealthProbeBindAddress:        opts.healthAddress,
		LeaderElection:                opts.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionConfig:          election,
		RenewDeadline:                 new(renewDeadline),
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if err := addControllers(ctx, manager, config, opts.Options); err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness check: %w", err)
	}
	if err := manager.AddReadyzCheck("ready", healthz.Ping); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return manager.Start(ctx)
}

// addControllers adds everything that works. Reviews of agents' tokens have no
// rate limit of the client's: a whole fleet may reconnect at once.
func addControllers(ctx context.Context, manager ctrl.Manager, config *rest.Config, opts controllers.Options) error {
	var err error
	if opts.Kube, err = kubernetes.NewForConfig(manager.GetConfig()); err != nil {
		return fmt.Errorf("making the uncached client: %w", err)
	}
	unlimited := rest.CopyConfig(config)
	unlimited.QPS = -1
	if opts.Reviews, err = kubernetes.NewForConfig(unlimited); err != nil {
		return fmt.Errorf("making the client for token reviews: %w", err)
	}
	opts.Version, opts.Clock, opts.Metrics = version, clock.RealClock{}, metrics.Registry
	return controllers.Setup(ctx, manager, opts)
}
