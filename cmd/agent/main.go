// SPDX-License-Identifier: Apache-2.0

// Command agent is the operator's program in a server's pod: "agent prepare"
// makes the data directory fit for the game, "agent run" stays beside it; "agent
// template" copies an owner's files there before, in the game's image by way of
// "agent install". On a plugin author's machine "agent serve --local" answers plugins without either.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/agent"
	"github.com/spawnery/spawnery-operator/internal/agent/layers"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/prepare"
	"github.com/spawnery/spawnery-operator/internal/agent/secret"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
)

// version is set when the program is linked.
var version = "dev"

const usage = `usage: agent <install|template|prepare|run|serve> [flags]

install  copies this program to --program-dir, for a container with another image
template copies the layers of server.template into the data directory, and ends
prepare  writes what the game reads into its data directory, and ends
run      counts players, gives out seats, and stops the game in good order
serve    with --local, answers plugins in the name of a server that does not exist
`

// places are the paths of a pod; they differ only outside of one.
type places struct {
	specFile, runDir, forwardingDir, overlayDir, channelDir, tokenFile, terminationLog, listen, listenLocal string
	programDir, layersDataDir                                                                               string
	verbosity                                                                                               int
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2:]))
	}
	command, at := os.Args[1], places{}
	flags := flag.NewFlagSet("agent "+command, flag.ExitOnError)
	flags.StringVar(&at.specFile, "spec-file", "", "file with the server's spec; default: the variable "+serverspec.Variable)
	flags.StringVar(&at.runDir, "run-dir", serverspec.RunDir, "directory that prepare and run share")
	flags.StringVar(&at.forwardingDir, "forwarding-dir", serverspec.ForwardingDir, "directory with the forwarding secret")
	flags.StringVar(&at.overlayDir, "overlay-dir", serverspec.OverlayDir, "directory with the owner's ConfigMaps")
	flags.StringVar(&at.channelDir, "channel-dir", serverspec.ChannelDir, "directory with the manager's address and CA")
	flags.StringVar(&at.tokenFile, "token-file", serverspec.TokenFile, "file with the pod's token")
	flags.StringVar(&at.terminationLog, "termination-log", serverspec.TerminationLog, "file that takes the reason why prepare failed")
	flags.StringVar(&at.programDir, "program-dir", serverspec.ProgramDir, "directory that install copies the program to")
	flags.StringVar(&at.layersDataDir, "layers-data-dir", serverspec.LayersDataDir, "where template finds the data directory")
	flags.StringVar(&at.listen, "listen", ":"+strconv.Itoa(serverspec.Port), "address to listen on")
	flags.StringVar(&at.listenLocal, "listen-local", local.Address(), "loopback address to answer plugins on")
	flags.IntVar(&at.verbosity, "v", 0, "verbosity of the log")
	_ = flags.Parse(os.Args[2:]) // ends the program by itself

	log := funcr.NewJSON(func(line string) { fmt.Fprintln(os.Stderr, line) },
		funcr.Options{LogTimestamp: true, Verbosity: at.verbosity}).WithName(command)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx = logr.NewContext(ctx, log)
	var err error
	switch command {
	case "install":
		err = explained(at, layers.Install(at.programDir))
	case "template":
		err = copyLayers(ctx, at)
	case "prepare":
		err = prepareData(ctx, at)
	case "run":
		err = run(ctx, at)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		log.Error(err, "failed")
		os.Exit(1)
	}
}

func prepareData(ctx context.Context, at places) error {
	// Game and agent may be of different users in one group.
	syscall.Umask(0o002)
	spec, err := readSpec(at.specFile)
	if err == nil {
		err = prepare.Run(ctx, prepare.Config{
			Spec: spec, RunDir: at.runDir, ForwardingDir: at.forwardingDir,
			OverlayDir: at.overlayDir, Variable: os.LookupEnv,
		})
	}
	return explained(at, err)
}

func copyLayers(ctx context.Context, at places) error {
	// As above: what is copied is the game's to write.
	syscall.Umask(0o002)
	spec, err := readSpec(at.specFile)
	if err == nil {
		err = layers.Run(ctx, layers.Config{Spec: spec, DataDir: at.layersDataDir})
	}
	return explained(at, err)
}

// explained leaves the reason where the Server's condition takes it from.
func explained(at places, err error) error {
	if err != nil {
		// The log has the reason too, when this file cannot be written.
		_ = os.WriteFile(at.terminationLog, []byte(err.Error()), 0o644)
	}
	return err
}

func run(ctx context.Context, at places) error {
	spec, err := readSpec(at.specFile)
	if err != nil {
		return err
	}
	management, err := secret.ReadManagement(at.runDir)
	if err != nil {
		return err
	}
	forwarding, err := secret.ReadForwarding(at.forwardingDir)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	plugins, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.listenLocal)
	if err != nil {
		return fmt.Errorf("listening for plugins: %w", err)
	}
	beside, err := agent.New(agent.Config{
		Spec: spec, GameHost: "127.0.0.1", Listener: listener, LocalListener: plugins, RunDir: at.runDir,
		ManagementSecret: management, ForwardingSecrets: forwarding,
		Channel: channelclient.Config{
			Directory: at.channelDir, TokenFile: at.tokenFile,
			Version: version, Clock: clock.RealClock{},
		},
	})
	if err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("watching the game", "server", spec.Server, "version", version)
	return beside.Run(ctx)
}

func readSpec(file string) (serverspec.Spec, error) {
	if file == "" {
		return serverspec.Decode([]byte(os.Getenv(serverspec.Variable)))
	}
	document, err := os.ReadFile(file)
	if err != nil {
		return serverspec.Spec{}, fmt.Errorf("reading the server's spec: %w", err)
	}
	return serverspec.Decode(document)
}
