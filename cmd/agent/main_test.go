// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// TestMain makes the test's own binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_AGENT") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the agent in a directory of its own.
type program struct {
	dir  string
	spec serverspec.Spec
}

func newProgram(t *testing.T) program {
	t.Helper()
	p := program{dir: t.TempDir()}
	for _, name := range []string{"data", "run", "forwarding"} {
		if err := os.Mkdir(filepath.Join(p.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, "forwarding", serverspec.ForwardingKey), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.spec = serverspec.Spec{
		Server: "lobby-ab2c", Group: "lobby", Flavor: serverspec.FlavorPaper,
		DataDir: filepath.Join(p.dir, "data"), Port: 25565, MaxPlayers: 50,
		Forwarding: serverspec.ForwardingVelocity, GraceSeconds: 60, StopToken: "s",
	}
	return p
}

func (p program) command(t *testing.T, name string, more ...string) *exec.Cmd {
	t.Helper()
	document, err := p.spec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{name}, more...)
	for flag, path := range map[string]string{
		"run-dir": "run", "forwarding-dir": "forwarding", "channel-dir": "channel", "token-file": "token", "termination-log": "why",
	} {
		args = append(args, "-"+flag, filepath.Join(p.dir, path))
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "BE_THE_AGENT=1", serverspec.Variable+"="+document)
	return cmd
}

func wantExit(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != want {
		t.Errorf("%s ended with %v, want exit code %d", cmd.Args[1], err, want)
	}
}

func TestPrepareWritesForTheGroup(t *testing.T) {
	p := newProgram(t)
	if out, err := p.command(t, "prepare").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range []string{"data/server.properties", "data/config/paper-global.yml"} {
		info, err := os.Stat(filepath.Join(p.dir, path))
		if err != nil || info.Mode().Perm() != 0o664 {
			t.Errorf("%s has mode %v (%v), want 0664", path, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Join(p.dir, "data/config")); err != nil || info.Mode().Perm() != 0o775 {
		t.Errorf("config has mode %v (%v), want 0775", info.Mode(), err)
	}
}

func TestTheInstalledProgramCopiesLayersForTheGroup(t *testing.T) {
	p := newProgram(t)
	layer := filepath.Join(p.dir, "layer")
	if err := os.MkdirAll(filepath.Join(layer, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(layer, "plugins", "a.jar"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.spec.Layers = []serverspec.Layer{{Origin: "claim maps", Root: layer, Path: "/", Mode: serverspec.LayerAlways}}
	if out, err := p.command(t, "install", "-program-dir", p.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	template := p.command(t, "template", "-layers-data-dir", p.spec.DataDir)
	template.Path = filepath.Join(p.dir, "agent")
	if out, err := template.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, want := range map[string]os.FileMode{"plugins": os.ModeDir | 0o775, "plugins/a.jar": 0o664} {
		info, err := os.Stat(filepath.Join(p.spec.DataDir, path))
		if err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	p.spec.Layers[0].Path = "/maps"
	wantExit(t, p.command(t, "template", "-layers-data-dir", p.spec.DataDir), 1)
	why, err := os.ReadFile(filepath.Join(p.dir, "why"))
	if want := "server.template, layer 1 (claim maps, path /maps): there is no such directory"; err != nil || string(why) != want {
		t.Errorf("the termination message is %q (%v), want %q", why, err, want)
	}
}

func TestWhatPrepareRefusesIsThePodsTerminationMessage(t *testing.T) {
	p := newProgram(t)
	p.spec.Properties = map[string]string{"online-mode": "true"}
	wantExit(t, p.command(t, "prepare"), 1)
	why, err := os.ReadFile(filepath.Join(p.dir, "why"))
	if want := "server.properties: online-mode cannot be set in spec.server.properties"; err != nil || !strings.HasPrefix(string(why), want) {
		t.Errorf("the termination message is %q (%v), want %q", why, err, want)
	}
}

func TestRunAnswersWithoutManagerAndGameAndEndsOnSIGTERM(t *testing.T) {
	p := newProgram(t)
	if out, err := p.command(t, "prepare").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := fmt.Sprintf("127.%d.1.1:9357", 160+os.Getpid()%90)
	cmd := p.command(t, "run", "-listen", address, "-listen-local", strings.Replace(address, ":9357", ":9358", 1))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		response, err := http.Get("http://" + address + serverspec.LivePath)
		if err == nil {
			_ = response.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the agent ended with %v, want exit code 0", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the agent took %s to end", took)
	}
}

func TestNothingToDoIsAnError(t *testing.T) {
	p := newProgram(t)
	for _, name := range []string{"stay", "-h", "serve"} {
		wantExit(t, p.command(t, name), 2)
	}
}

func TestServeLocalAnswersPluginsWithoutACluster(t *testing.T) {
	cmd := exec.Command(os.Args[0], "serve", "--local", "--listen-local", "127.0.0.1:0", "--slots", "24")
	cmd.Env = append(os.Environ(), "BE_THE_AGENT=1")
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		t.Fatalf("it said nothing: %v", lines.Err())
	}
	_, url, _ := strings.Cut(lines.Text(), "try: curl ")
	for _, step := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"PUT", "playable-slots", `{"playableSlots": 12}`, 200, `"playableSlots":12,`},
		{"POST", "boosts", `{"replicas": 2}`, 200, "a plugin asked for a boost of 2 servers: granted"},
		{"DELETE", "boosts/friday", "", 404, `a plugin asked for the end of boost "friday": refused: lobby-ab2c has made no boost "friday" that still lasts`},
		{"POST", "connect", `{"player": "Ada", "to": "arena"}`, 200, `a plugin asked for the move of player "Ada" to "arena": granted`},
		{"POST", "retire", "", 200, "a plugin asked for the retirement of its server: granted"},
	} {
		request, err := http.NewRequest(step.method, strings.Replace(url, "self", step.path, 1), strings.NewReader(step.body))
		if err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != step.status || !lines.Scan() || !strings.Contains(lines.Text(), step.says) {
			t.Errorf("%s %s: %s, and it said %q, want %q", step.method, step.path, response.Status, lines.Text(), step.says)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
}

func TestServeLocalListensOnThisMachineAlone(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "127.0.0.1"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "serve", "--local", "--listen-local", address)
		cmd.Env = append(os.Environ(), "BE_THE_AGENT=1")
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), "has to be a port of a loopback address, such as 127.0.0.1:9358") {
			t.Errorf("%s: %v, %s", address, err, said)
		}
	}
	for _, address := range []string{"127.0.0.1:9358", "localhost:0", "[::1]:0"} {
		if !loopback(address) {
			t.Errorf("%s is refused", address)
		}
	}
}
