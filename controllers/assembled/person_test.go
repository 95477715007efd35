// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// person types commands in a shell, with the real kubectl, and reads what it
// prints.
type person struct {
	*world
	folder string
	env    []string
}

// newPerson stands before a cluster with the namespace minecraft and a manager.
func newPerson(t *testing.T) *person { return newPersonBefore(t, func(*world) {}) }

// newPersonBefore is newPerson before a manager that is set up otherwise.
func newPersonBefore(t *testing.T, setUp func(*world)) *person {
	w := newWorldIn(t, minecraft)
	setUp(w)
	w.startManager()
	assets := testenv.Assets(t)
	if _, err := os.Stat(filepath.Join(assets, "kubectl")); err != nil {
		t.Fatalf("no kubectl in %s: run make kube-api-binaries", assets)
	}
	return &person{world: w, folder: t.TempDir(), env: append(os.Environ(),
		"KUBECONFIG="+testenv.Kubeconfig(t, w.Config), "PATH="+assets+string(os.PathListSeparator)+os.Getenv("PATH"))}
}

// minecraft makes the namespace that manifests for people name.
func minecraft(env *testenv.Env, t testing.TB) string {
	t.Helper()
	namespace := testenv.ReadManifests(t, testenv.Path(t, "config/samples/namespace.yaml"))[0]
	if err := env.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.GetName()
}

// types runs a command line and returns what it prints.
func (p *person) types(line string) string {
	p.t.Helper()
	out, complaint := p.tries(line)
	p.Expect(complaint).To(gomega.BeEmpty(), line)
	return out
}

// tries runs a command line that may fail, and returns what it complains of.
func (p *person) tries(line string) (string, string) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), "sh", "-c", line)
	command.Dir, command.Env = p.folder, p.env
	var out, complaint strings.Builder
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		fmt.Fprintf(&complaint, "%s: %v", line, err)
		return out.String(), complaint.String()
	}
	return out.String(), ""
}

// saves writes a file into the folder in which commands are typed.
func (p *person) saves(name, content string) {
	p.t.Helper()
	p.Expect(os.WriteFile(filepath.Join(p.folder, name), []byte(content), 0o600)).To(gomega.Succeed())
}

// applies saves a manifest and applies it.
func (p *person) applies(name, content string) {
	p.t.Helper()
	p.saves(name, content)
	p.types("kubectl apply -f " + name)
}

// sees reads the table that a command prints until one of its lines has these
// cells.
func (p *person) sees(line string, cells map[string]string) {
	p.t.Helper()
	p.Eventually(func() []map[string]string { return table(p.types(line)) }, 2*patience).
		Should(gomega.ContainElement(gomega.SatisfyAll(hasCells(cells)...)), line)
}

func hasCells(cells map[string]string) []gomega.OmegaMatcher {
	var all []gomega.OmegaMatcher
	for column, cell := range cells {
		all = append(all, gomega.HaveKeyWithValue(column, cell))
	}
	return all
}

// table reads what kubectl prints by the columns of its first line.
func table(out string) []map[string]string {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	const gap = "   "
	starts := map[string]int{}
	for at, rest := 0, lines[0]; rest != ""; {
		column, tail, _ := strings.Cut(rest, gap)
		starts[column] = at
		tail = strings.TrimLeft(tail, " ")
		at, rest = at+len(rest)-len(tail), tail
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		cells := map[string]string{}
		for column, at := range starts {
			if at < len(line) {
				cells[column], _, _ = strings.Cut(line[at:], gap)
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// in is an instant ahead as it stands in a manifest.
func in(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
