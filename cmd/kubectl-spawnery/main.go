// SPDX-License-Identifier: Apache-2.0

// Command kubectl-spawnery is a kubectl plugin for owners of networks: in PATH
// it is `kubectl spawnery`.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/spawnery/spawnery-operator/internal/whatif"
)

const usage = `Tools for the owner of a Minecraft network.

Usage:
  kubectl spawnery simulate -f MANIFEST (--shape NAME | --trace FILE) [flags]
  kubectl spawnery orphans [-n NAMESPACE | -A] [-o FORMAT | --commands] [flags]

Commands:
  simulate   show what minReplicas, maxReplicas and spareSlots of a ServerGroup
             would give its players, and what they would cost
  orphans    list the worlds that no server uses and no group requires

kubectl spawnery COMMAND --help lists the flags.
`

// gcPercent is how much garbage may pile up: a run is short and leaves little.
const gcPercent = 800

func main() {
	debug.SetGCPercent(gcPercent)
	if err := run(os.Args[1:], streams{os.Stdin, os.Stdout}); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

// streams are what a program reads and what it prints to.
type streams struct {
	in  io.Reader
	out io.Writer
}

func run(args []string, s streams) error {
	switch {
	case len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h":
		_, err := io.WriteString(s.out, usage)
		return err
	case args[0] == "simulate":
		return simulate(args[1:], s)
	case args[0] == "orphans":
		return orphans(args[1:], s)
	}
	return fmt.Errorf("there is no command %q; kubectl spawnery --help lists them", args[0])
}

// options are what the flags say.
type options struct {
	file, group, shape, trace string
	peak                      int
	question                  whatif.Question
	streams
}

func simulate(args []string, s streams) error {
	o := options{streams: s}
	flags := o.flags()
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if err := o.read(); err != nil {
		return err
	}
	answer, err := whatif.Ask(&o.question)
	if err != nil {
		return err
	}
	_, err = io.WriteString(o.out, answer.String())
	return err
}

func (o *options) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("simulate", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVarP(&o.file, "filename", "f", "", "manifest with the ServerGroup; - reads from stdin")
	flags.StringVar(&o.group, "group", "", "name of the ServerGroup, where the manifest has several")
	flags.StringVar(&o.shape, "shape", "", "built-in trace: one of those below")
	flags.StringVar(&o.trace, "trace", "", "CSV file of time,players or of time,joins,leaves")
	flags.IntVar(&o.peak, "peak", 200, "players at the peak of a shape")
	flags.DurationVar(&o.question.Boot, "boot", 40*time.Second, "time a server takes to start; up to a quarter is added by chance")
	flags.DurationVar(&o.question.Stay, "stay", 40*time.Minute, "how long a player stays on average, where the trace does not say it")
	flags.DurationVar(&o.question.Hold, "hold", 2*time.Minute, "how long proxies hold a player without a seat: holdSeconds of the ProxyGroup")
	flags.StringVar((*string)(&o.question.Strategy), "strategy", "Spread", "how proxies choose among the servers: routing.strategy of the ProxyGroup")
	flags.Uint64Var(&o.question.Seed, "seed", 1, "seed of all chance: the same seed gives the same report")
	flags.IntVar(&o.question.Width, "width", 0, "characters of a line; 0 takes the terminal's")
	flags.Usage = func() {
		lines := []string{"Usage:", "  kubectl spawnery simulate -f MANIFEST (--shape NAME | --trace FILE) [flags]", "", "Flags:", flags.FlagUsages(), "Shapes:"}
		for _, shape := range whatif.Shapes() {
			lines = append(lines, fmt.Sprintf("  %-9s %s", shape[0], shape[1]))
		}
		// Whoever asks for help and does not read it needs no error.
		_, _ = io.WriteString(o.out, strings.Join(lines, "\n")+"\n")
	}
	return flags
}

// read turns names into what they stand for.
func (o *options) read() error {
	if o.file == "" {
		return errors.New("-f is missing: the manifest of the ServerGroup")
	}
	if (o.shape == "") == (o.trace == "") {
		return errors.New("say who plays with either --shape or --trace")
	}
	content, err := o.contentOf(o.file)
	if err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	if o.question.Group, err = whatif.ReadGroup(o.file, content, o.group); err != nil {
		return err
	}
	if o.question.Width == 0 {
		o.question.Width = width(o.out)
	}
	if o.shape != "" {
		o.question.Trace, err = whatif.ReadShape(o.shape, o.peak)
		return err
	}
	if content, err = o.contentOf(o.trace); err != nil {
		return fmt.Errorf("reading the trace: %w", err)
	}
	o.question.Trace, err = whatif.ReadTrace(o.trace, bytes.NewReader(content))
	return err
}

func (o *options) contentOf(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(o.in)
	}
	return os.ReadFile(file)
}

// width is that of the terminal, or else of most terminals.
func width(out io.Writer) int {
	columns, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if file, ok := out.(*os.File); ok {
		if own, _, err := term.GetSize(int(file.Fd())); err == nil {
			columns = own
		}
	}
	if columns <= 0 {
		columns = 80
	}
	return min(max(columns, whatif.Narrowest), whatif.Widest)
}
