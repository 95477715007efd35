// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"bufio"
	"context"
	"io"
	"time"
)

// Program is the server double as a process of its own. It knows nothing of
// this project: all its settings come from where a real server takes them.
type Program struct {
	Directory string              // the working directory
	Getenv    func(string) string // the environment
	Name      string              // the host name, which players are greeted with
	Console   io.Reader           // commands, one a line
	Log       io.Writer

	// FlushDelay is how long a save takes that finds the world changed since the
	// last, as on a large world and a slow disk.
	FlushDelay time.Duration
}

// programStartup makes it visible that servers take time to start.
const programStartup = time.Second

// Run is the life of the process. It ends with ctx, or on a stop from the
// console or the management protocol, after the world was saved. What a real
// server would not start with is an error; ErrEULA is the one a real server
// exits from with 0.
func (p Program) Run(ctx context.Context) error {
	settings, err := ReadSettings(p.Directory, p.Getenv)
	if err != nil {
		return err
	}
	settings.Name, settings.Log, settings.StartupDelay = p.Name, p.Log, programStartup
	settings.FlushDelay = p.FlushDelay
	server, err := Start(ctx, settings)
	if err != nil {
		return err
	}
	go func() {
		lines := bufio.NewScanner(p.Console)
		for lines.Scan() {
			server.Console(lines.Text())
		}
	}()
	<-server.Done()
	return server.Err()
}
