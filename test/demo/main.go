// SPDX-License-Identifier: Apache-2.0

// Command demo shows the whole of Spawnery on a real Kubernetes, to a person
// who watches: what is done, what is seen, how long it took. It ends with an
// error at the first thing that it does not see, and says where to look.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/test/stage"
)

// options are what the command line says.
type options struct {
	// kubeconfig of the cluster.
	kubeconfig string
	// kubectl is the program.
	kubectl string
	// loader brings image archives into a given cluster, a command line that
	// they are appended to; empty: they are there.
	loader string
	// images are the archives, a folder.
	images string
	// given says that the cluster is not ours to start.
	given bool
	// down takes away what the demo left in a given cluster.
	down bool
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "bin/cluster/kubeconfig", "the cluster's kubeconfig")
	flag.StringVar(&o.kubectl, "kubectl", "bin/kubectl", "the kubectl to use")
	flag.StringVar(&o.images, "images", "bin/image", "folder of the image archives")
	flag.StringVar(&o.loader, "load", "", "with -given: the command that loads an image archive, which is appended")
	flag.BoolVar(&o.given, "given", false, "use the cluster of the kubeconfig as it is, instead of starting one")
	flag.BoolVar(&o.down, "down", false, "with -given: take away what the demo made")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	var err error
	if o.kubeconfig, err = filepath.Abs(o.kubeconfig); err != nil {
		return err
	}
	d := &demo{options: o, screen: newScreen(os.Stdout, clock.RealClock{})}
	if o.down {
		return d.takeAway(ctx)
	}
	d.crowd = new(stage.Crowd)
	defer d.crowd.Leave()
	d.banner()
	if err := d.play(ctx); err != nil {
		return err
	}
	d.whatNext()
	return nil
}

// demo is one showing.
type demo struct {
	options
	*screen

	cluster *stage.Cluster
	crowd   *stage.Crowd
	// nora is the player with a client from npm and permissions.
	nora *stage.Peer
}

var errNotSeen = errors.New("the demo ended early")

// play shows every step until one is not seen.
func (d *demo) play(ctx context.Context) error {
	defer d.table()
	for i, s := range steps {
		d.begin(i+1, len(steps), s.title)
		seen, err := s.play(ctx, d)
		if err == nil {
			// Whoever is lost in the meantime is seen at the next step's end.
			err = d.crowd.Lost()
		}
		if err != nil {
			d.failed(err)
			d.where(s.look)
			return errNotSeen
		}
		d.done(seen)
	}
	return nil
}

// where names the places that tell more about what was not seen.
func (d *demo) where(commands []string) {
	d.line("where to look:")
	d.line("  export KUBECONFIG=" + d.kubeconfig)
	for _, command := range append(commands, everywhere...) {
		d.line("  " + d.kubectl + " " + command)
	}
	if !d.given {
		d.line("  less " + filepath.Join(filepath.Dir(d.kubeconfig), "node1/logs/*"))
	}
}

var everywhere = []string{
	"get minecraft,pods -n minecraft -o wide",
	"logs -n spawnery-system deployment/spawnery-manager",
	"get events -n minecraft --sort-by=.lastTimestamp",
}
