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

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// name of the manager: of its lease, its account and what else it has one of.
const name = "spawnery-manager"

// options are what the flags say.
type options struct {
	leaderElect   bool
	healthAddress string
	namespace     string
}

func main() {
	var opts options
	logging := textlogger.NewConfig()
	logging.AddFlags(flag.CommandLine)
	flag.BoolVar(&opts.leaderElect, "leader-elect", false, "act only while holding the lease, so that several replicas can stand by")
	flag.StringVar(&opts.healthAddress, "health-probe-bind-address", ":8081", "address that answers /healthz and /readyz")
	flag.StringVar(&opts.namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "spawnery-system"), "namespace the manager runs in")
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
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{ByObject: onlyOurs()},
		Metrics:                       server.Options{BindAddress: "0"},
		HealthProbeBindAddress:        opts.healthAddress,
		LeaderElection:                opts.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       opts.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if err := manager.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness check: %w", err)
	}
	if err := manager.AddReadyzCheck("ready", healthz.Ping); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return manager.Start(ctx)
}

// onlyOurs keeps what the operator did not make out of the caches: a cluster
// may hold thousands of pods and claims that are none of its business.
func onlyOurs() map[client.Object]cache.ByObject {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{podspec.LabelManagedBy: podspec.ManagedBy})}
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}:                   ours,
		&corev1.PersistentVolumeClaim{}: ours,
		&corev1.Service{}:               ours,
		&policyv1.PodDisruptionBudget{}: ours,
	}
}
