// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/inventory"
	"github.com/spawnery/spawnery-operator/internal/inventory/live"
)

const orphansUsage = `Lists the claims that no server uses and no group requires: worlds that
somebody may want back. It removes nothing.

Usage:
  kubectl spawnery orphans [-n NAMESPACE | -A] [-o FORMAT | --commands] [flags]

Flags:
`

// orphanOptions are what the flags of orphans say.
type orphanOptions struct {
	connection *genericclioptions.ConfigFlags
	everywhere bool
	format     string
	commands   bool
	// reaching are the flags that a command needs to reach the same cluster.
	reaching string
}

func orphans(args []string, s streams) error {
	o := orphanOptions{connection: genericclioptions.NewConfigFlags(true)}
	flags := o.flags(s.out)
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if err := o.check(flags); err != nil {
		return err
	}
	namespace, reader, err := o.connect()
	if err != nil {
		return err
	}
	taken, err := live.Take(context.Background(), reader, namespace)
	if err != nil {
		return err
	}
	text, err := o.render(&taken, live.Where(namespace), time.Now())
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, text)
	return err
}

func (o *orphanOptions) flags(out io.Writer) *pflag.FlagSet {
	flags := pflag.NewFlagSet("orphans", pflag.ContinueOnError)
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "look at all namespaces")
	flags.StringVarP(&o.format, "output", "o", "", "json, yaml, or name (orphans only); a table without it")
	flags.BoolVar(&o.commands, "commands", false, "print what to type to remove each orphan, instead of the table")
	o.connection.AddFlags(flags)
	flags.Usage = func() {
		// Whoever asks for help and does not read it needs no error.
		_, _ = io.WriteString(out, orphansUsage+flags.FlagUsages())
	}
	return flags
}

// check refuses what cannot be meant, and remembers how the cluster is reached.
func (o *orphanOptions) check(flags *pflag.FlagSet) error {
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if o.commands && o.format != "" {
		return errors.New("say either --commands or -o")
	}
	if o.everywhere && o.format == "name" {
		return errors.New("-o name has no namespaces, and a name alone may be a world in service elsewhere; say -n, or -o json")
	}
	switch o.format {
	case "", "json", "yaml", "name":
	default:
		return fmt.Errorf("-o %s is unknown; there are json, yaml and name", o.format)
	}
	flags.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "kubeconfig", "context", "cluster", "user", "server":
			o.reaching += " --" + flag.Name + "=" + quoted(flag.Value.String())
		}
	})
	return nil
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"\\$`&|;<>()*?[]#~!{}", r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// connect returns the namespace to look at, empty for all, and what reads the
// cluster: it cannot write.
func (o *orphanOptions) connect() (string, client.Reader, error) {
	config, err := o.connection.ToRESTConfig()
	if err != nil {
		return "", nil, fmt.Errorf("finding the cluster: %w", err)
	}
	namespace := ""
	if !o.everywhere {
		if namespace, _, err = o.connection.ToRawKubeConfigLoader().Namespace(); err != nil {
			return "", nil, fmt.Errorf("finding the namespace: %w", err)
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return "", nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return "", nil, fmt.Errorf("making a client: %w", err)
	}
	return namespace, reader, nil
}

func (o *orphanOptions) render(taken *inventory.Inventory, where string, now time.Time) (string, error) {
	switch {
	case o.commands:
		return taken.Commands(where, o.reaching, now), nil
	case o.format == "json":
		content, err := json.MarshalIndent(taken.Listing(), "", "  ")
		return string(content) + "\n", err
	case o.format == "yaml":
		content, err := yaml.Marshal(taken.Listing())
		return string(content), err
	case o.format == "name":
		var names strings.Builder
		for _, claim := range taken.Of(inventory.Orphaned) {
			names.WriteString("persistentvolumeclaim/" + claim.Name + "\n")
		}
		return names.String(), nil
	}
	return taken.Text(where, now), nil
}
