// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

const (
	guide  = "docs/how-to/choose-the-three-numbers.md"
	prompt = "```\n$ kubectl spawnery "
)

var update = flag.Bool("update", false, "write what is printed into "+guide)

// atRoot runs a command line where its reader would: in the project's directory.
func atRoot(t *testing.T, line, input string) (string, error) {
	t.Helper()
	t.Setenv("COLUMNS", "80")
	out := &bytes.Buffer{}
	err := run(strings.Fields(line), streams{strings.NewReader(input), out})
	return out.String(), err
}

func TestTheGuideShowsWhatIsPrinted(t *testing.T) {
	t.Chdir("../..")
	content, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(content), prompt)
	if len(parts) < 3 {
		t.Fatalf("%s shows %d commands", guide, len(parts)-1)
	}
	for i, part := range parts[1:] {
		shown, after, _ := strings.Cut(part, "```\n")
		line, _, _ := strings.Cut(shown, "\n")
		printed, err := atRoot(t, line, "")
		if err != nil {
			t.Errorf("kubectl spawnery %s: %v", line, err)
		}
		want := line + "\n" + printed
		parts[i+1] = want + "```\n" + after
		if diff := cmp.Diff(want, shown); diff != "" && !*update {
			t.Errorf("%s is not what is printed (-); write it: go test ./cmd/kubectl-spawnery -update\n%s", guide, diff)
		}
	}
	if *update {
		if err := os.WriteFile(guide, []byte(strings.Join(parts, prompt)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACommandLineThatIsWrongSaysWhy(t *testing.T) {
	t.Chdir("../..")
	const manifest = "simulate -f config/samples/lobby.yaml "
	for name, row := range map[string]struct{ line, want string }{
		"no such command":    {"simulat", `there is no command "simulat"; kubectl spawnery --help lists them`},
		"no manifest":        {"simulate --shape friday", "-f is missing: the manifest of the ServerGroup"},
		"a missing manifest": {"simulate -f no.yaml --shape friday", "reading the manifest: open no.yaml: no such file or directory"},
		"a missing trace":    {manifest + "--trace no.csv", "reading the trace: open no.csv: no such file or directory"},
		"nobody plays":       {manifest, "say who plays with either --shape or --trace"},
		"two who play":       {manifest + "--shape friday --trace a.csv", "say who plays with either --shape or --trace"},
		"no such shape":      {manifest + "--shape monday", `--shape "monday" is unknown; there are friday, weekday, week, event, steady`},
		"no peak":            {manifest + "--shape friday --peak 0", "--peak is 0; it must be from 1 to 20000 players"},
		"no such flag":       {manifest + "--shapes friday", "unknown flag: --shapes"},
		"a stray word":       {manifest + "--shape friday 3", `"3" is no flag`},
		"too slow a start": {
			manifest + "--shape friday --boot 5m",
			"--boot is 5m0s, and a quarter more by chance: the startup deadline of 5m0s would end starts; set spec.startupDeadlineSeconds",
		},
		"no start":                   {manifest + "--shape friday --boot 0s", "--boot is 0s; a server takes a second at least"},
		"no stay":                    {manifest + "--shape friday --stay 1s", "--stay is 1s; it must be a minute at least"},
		"a long hold":                {manifest + "--shape friday --hold 2h", "--hold is 2h0m0s; it must be from 0 to an hour"},
		"a stray word after orphans": {"orphans minecraft", `"minecraft" is no flag`},
		"no such format":             {"orphans -o wide", "-o wide is unknown; there are json, yaml and name"},
		"names of all namespaces":    {"orphans -A -o name", "-o name has no namespaces, and a name alone may be a world in service elsewhere; say -n, or -o json"},
		"commands in a format":       {"orphans --commands -o name", "say either --commands or -o"},
		"a kubeconfig that is not there": {
			"orphans --kubeconfig no.yaml",
			"finding the cluster: stat no.yaml: no such file or directory",
		},
		"no such context": {"orphans --kubeconfig=/dev/null --context nowhere", `finding the cluster: context "nowhere" does not exist`},
		"too narrow":      {manifest + "--shape friday --width 10", "--width is 10; it must be from 40 to 240"},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := atRoot(t, row.line, "")
			if err == nil || err.Error() != row.want {
				t.Errorf("%v\nwant %s", err, row.want)
			}
			if printed != "" {
				t.Errorf("it prints %q", printed)
			}
		})
	}
}

func TestHelpNamesEveryFlagAndShape(t *testing.T) {
	printed, err := atRoot(t, "simulate --help", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"--filename", "--trace", "--seed", "--width", "friday ", "week ", "steady "} {
		if !strings.Contains(printed, word) {
			t.Errorf("no %q in\n%s", word, printed)
		}
	}
	if printed, err = atRoot(t, "", ""); err != nil || !strings.Contains(printed, "simulate") {
		t.Errorf("%v: %s", err, printed)
	}
}

func TestHelpForOrphansSaysThatNothingIsRemoved(t *testing.T) {
	printed, err := atRoot(t, "orphans --help", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"It removes nothing.", "--all-namespaces", "--namespace", "--context", "--kubeconfig", "--commands", "--output"} {
		if !strings.Contains(printed, word) {
			t.Errorf("no %q in\n%s", word, printed)
		}
	}
}

func TestCommandsReachTheClusterThatWasLookedAt(t *testing.T) {
	o := orphanOptions{connection: genericclioptions.NewConfigFlags(true)}
	flags := o.flags(io.Discard)
	if err := flags.Parse([]string{"-n", "minecraft", "--context", "the old one", "--token", "hidden", "--kubeconfig", "/a/it's"}); err != nil {
		t.Fatal(err)
	}
	if err := o.check(flags); err != nil {
		t.Fatal(err)
	}
	if want := ` --context='the old one' --kubeconfig='/a/it'\''s'`; o.reaching != want {
		t.Errorf("%s\nwant %s", o.reaching, want)
	}
}

func TestAManifestMayComeByAPipe(t *testing.T) {
	content, err := os.ReadFile("../../config/samples/lobby.yaml")
	if err != nil {
		t.Fatal(err)
	}
	printed, err := atRoot(t, "simulate -f - --shape event --peak 20", string(content))
	if err != nil || !strings.Contains(printed, "group lobby") {
		t.Errorf("%v: %s", err, printed)
	}
}
