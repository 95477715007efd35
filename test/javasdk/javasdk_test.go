// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"bufio"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const root = "../.."

// junit is where Debian keeps JUnit and what its console needs.
var junit = []string{
	"junit-jupiter-api", "junit-jupiter-engine", "junit-platform-commons", "junit-platform-console", "junit-platform-engine",
	"junit-platform-launcher", "junit-platform-reporting", "opentest4j", "apiguardian-api", "picocli", "univocity-parsers",
}

// TestEveryTestOfTheJavaAPIPassesAgainstAnAgent runs JUnit; each of its tests is
// a test here too.
func TestEveryTestOfTheJavaAPIPassesAgainstAnAgent(t *testing.T) {
	out := t.TempDir()
	path, err := Build(t.Context(), root, out)
	if err != nil {
		t.Fatal(err)
	}
	jars := []string{path}
	for _, jar := range junit {
		jars = append(jars, "/usr/share/java/"+jar+".jar")
	}
	path = strings.Join(jars, ":")
	tests := filepath.Join(out, "tests")
	if err := compile(t.Context(), filepath.Join(root, "sdk/java/src/test/java"), tests, path); err != nil {
		t.Fatal(err)
	}
	said, failed := exec.CommandContext(t.Context(), "java", "-cp", tests+":"+path, "-Dspawnery.api="+serveLocal(t, out),
		"org.junit.platform.console.ConsoleLauncher", "--disable-banner", "--details=none",
		"--scan-class-path", tests, "--reports-dir", out).CombinedOutput()
	cases := readReport(t, filepath.Join(out, "TEST-junit-jupiter.xml"), said)
	if failed != nil || len(cases) == 0 {
		t.Errorf("JUnit ran %d tests and ended with %v:\n%s", len(cases), failed, said)
	}
	for _, one := range cases {
		t.Run(one.Class+"/"+one.Name, func(t *testing.T) {
			for _, problem := range one.Problems {
				t.Errorf("%s: %s", problem.XMLName.Local, problem.Text)
			}
		})
	}
}

func TestTheJavadocIsWhole(t *testing.T) {
	files, err := javaFiles(filepath.Join(root, "sdk/java/src/main/java"))
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--release", "17", "-Xdoclint:all", "-Werror", "-quiet", "-d", t.TempDir()}, files...)
	if said, err := exec.CommandContext(t.Context(), "javadoc", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// serveLocal starts an agent without a cluster, and returns its address.
func serveLocal(t *testing.T, out string) string {
	t.Helper()
	agent := filepath.Join(out, "agent")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", agent, root+"/cmd/agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	serve := exec.Command(agent, "serve", "--local", "--listen-local", "127.0.0.1:0", "--slots", "24")
	lines, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait()
	})
	reader := bufio.NewScanner(lines)
	if !reader.Scan() {
		t.Fatalf("the agent said nothing: %v", reader.Err())
	}
	go func() {
		for reader.Scan() {
			continue
		}
	}()
	_, rest, _ := strings.Cut(reader.Text(), "on ")
	address, _, found := strings.Cut(rest, ";")
	if !found {
		t.Fatalf("the agent says %q", reader.Text())
	}
	return address
}

type testCase struct {
	Name     string    `xml:"name,attr"`
	Class    string    `xml:"classname,attr"`
	Problems []problem `xml:",any"`
}

type problem struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
}

// readReport returns the tests that JUnit ran; output that it keeps of a test is
// no problem of it.
func readReport(t *testing.T, path string, said []byte) []testCase {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var suite struct {
		Cases []testCase `xml:"testcase"`
	}
	if err := xml.Unmarshal(content, &suite); err != nil {
		t.Fatal(err)
	}
	for i := range suite.Cases {
		var problems []problem
		for _, one := range suite.Cases[i].Problems {
			if kind := one.XMLName.Local; kind == "failure" || kind == "error" || kind == "skipped" {
				problems = append(problems, one)
			}
		}
		suite.Cases[i].Problems = problems
	}
	return suite.Cases
}
