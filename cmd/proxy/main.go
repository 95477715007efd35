// SPDX-License-Identifier: Apache-2.0

// Command proxy is a network's front door: players join it, and it brings them
// to a server.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/proxy"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
)

// version is set when the program is linked.
var version = "dev"

// gcPercent is how much garbage may pile up beside what is in use.
const gcPercent = 25

// options are what the flags say.
type options struct {
	listen, http                    string
	channelDir, tokenFile           string
	secretFile, stateDir, configDir string
	sessionServer, connectionLimits string
	drainTimeout, linger            time.Duration
	sessions                        login.SessionLimits
	transferRate                    float64
	verbosity                       int
}

func main() {
	opts := options{sessions: login.DefaultSessionLimits()}
	flag.StringVar(&opts.listen, "listen", ":25565", "address that takes players")
	flag.StringVar(&opts.http, "http", ":8080", "address that answers /readyz, /healthz and /metrics")
	flag.StringVar(&opts.channelDir, "channel-dir", "/etc/spawnery/channel", "directory with the manager's endpoint and ca.crt")
	flag.StringVar(&opts.tokenFile, "token-file", "/var/run/secrets/spawnery/token", "file with the pod's token for the manager")
	flag.StringVar(&opts.secretFile, "secret-file", "/etc/spawnery/forwarding/secret", "file with the network's forwarding secret; the one before it, if any, is the file previous beside it")
	flag.StringVar(&opts.stateDir, "state-dir", "", "directory that keeps the last server list for a restart; empty keeps none")
	flag.StringVar(&opts.configDir, "config-dir", "/etc/spawnery/config", "directory with the owner's ConfigMaps, each in a directory of its own: favicon, protocols, messages; what is missing is not given")
	flag.StringVar(&opts.sessionServer, "session-server", login.DefaultSessionServer, "base address that authenticates players")
	flag.IntVar(&opts.sessions.Burst, "session-server-burst", opts.sessions.Burst, "how many logins may ask the session server at once")
	flag.Float64Var(&opts.sessions.PerSecond, "session-server-rate", opts.sessions.PerSecond, "how many more logins may ask it each second; others wait")
	flag.StringVar(&opts.connectionLimits, "connection-limits", "", "bounds on open connections: total=N,unproven=N,unproven-per-address=N")
	flag.DurationVar(&opts.drainTimeout, "drain-timeout", time.Hour, "how long a proxy that is told to end waits for its players, until the manager has said so")
	flag.DurationVar(&opts.linger, "linger", 5*time.Second, "how long a proxy that is told to end serves at least")
	flag.Float64Var(&opts.transferRate, "transfer-rate", proxy.DefaultTransferRate, "how many players a proxy that must go sends to another one each second")
	flag.IntVar(&opts.verbosity, "v", 0, "verbosity of the log")
	flag.Parse()
	// Relaying makes no garbage: what collecting more often costs is little, and
	// what it saves is most of the memory of a full proxy.
	debug.SetGCPercent(gcPercent)

	log := funcr.NewJSON(func(line string) { fmt.Fprintln(os.Stderr, line) },
		funcr.Options{LogTimestamp: true, Verbosity: opts.verbosity}).WithName("proxy")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(logr.NewContext(ctx, log), opts); err != nil {
		log.Error(err, "failed")
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options) error {
	log := logr.FromContextOrDiscard(ctx)
	secrets, err := proxy.ReadSecrets(opts.secretFile)
	if err != nil {
		return err
	}
	limits, err := guard.ParseLimits(opts.connectionLimits)
	if err != nil {
		return err
	}
	players, err := net.Listen("tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("listening for players: %w", err)
	}
	web, err := net.Listen("tcp", opts.http)
	if err != nil {
		return fmt.Errorf("listening for probes: %w", err)
	}
	door, err := proxy.New(proxy.Config{
		Listener: players, HTTP: web,
		Channel: channelclient.Config{
			Directory: opts.channelDir, TokenFile: opts.tokenFile, Version: version, Clock: clock.RealClock{},
		},
		Secrets: secrets, StateDir: opts.stateDir, ConfigDir: opts.configDir, SessionServer: opts.sessionServer, Sessions: opts.sessions, Limits: limits,
		DrainTimeout: opts.drainTimeout, Linger: opts.linger, TransferRate: opts.transferRate, Clock: clock.RealClock{},
	}, log)
	if err != nil {
		return err
	}
	log.Info("serving", "version", version, "players", players.Addr().String(), "http", web.Addr().String())
	return door.Run(ctx)
}
