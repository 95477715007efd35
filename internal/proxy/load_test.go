// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/proxytest"
)

// process is a proxy as it is shipped, for measuring.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
}

// launch builds cmd/proxy and runs it under a manager.
func launch(t *testing.T, n *network, servers ...*server) *process {
	t.Helper()
	dir := t.TempDir()
	manager, err := proxytest.StartManager(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(manager.Stop)
	list := &agentv1alpha1.Directory{Revision: 1, Full: true, Groups: []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}}}
	for _, s := range servers {
		list.Servers = append(list.Servers, s.entry)
	}
	manager.Tell(n.settings, list)
	p := launchBy(t, n, dir)
	holds := func(r *agentv1alpha1.ProxyReport) bool { return r.GetDirectoryRevision() == 1 }
	if _, err := manager.Await(n.ctx, holds); err != nil {
		t.Fatal(err)
	}
	return p
}

// launchBy builds cmd/proxy and runs it under the manager that is found by the
// files in dir.
func launchBy(t *testing.T, n *network, dir string, flags ...string) *process {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "proxy")
	if out, err := exec.CommandContext(n.ctx, "go", "build", "-o", binary, "../../cmd/proxy").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	address := l.Addr().String()
	l.Close()
	p := &process{t: t, address: address, cmd: exec.CommandContext(n.ctx, binary, append([]string{
		"--listen=" + address, "--http=127.0.0.1:0", "--channel-dir=" + dir, "--token-file=" + filepath.Join(dir, "token"),
		"--secret-file=" + filepath.Join(dir, "secret"), "--session-server=http://127.0.0.1:1", "--linger=0s",
		"--connection-limits=unproven-per-address=2048",
	}, flags...)...)}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
	})
	return p
}

// cpu is the processor time the process has used.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(after)
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		p.t.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		p.t.Fatal(err)
	}
	const ticksPerSecond = 100
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// resident is the memory the process holds, in bytes.
func (p *process) resident() int {
	p.t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(content))[1])
	if err != nil {
		p.t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

func TestAThousandPlayersTakeLessThanACoreAndSixtyMegabytes(t *testing.T) {
	if os.Getenv("SPAWNERY_EVIDENCE") == "" {
		t.Skip("a measurement of three minutes that wants the machine for itself: set SPAWNERY_EVIDENCE")
	}
	const players, rate = 1000, 20
	n := newNetworkAlone(t)
	traffic := mctest.Traffic{Small: rate}
	a := n.start("lobby-a", rig{playable: players, slots: players, settings: mctest.Settings{Traffic: traffic}})
	b := n.start("lobby-b", rig{playable: players, slots: players, settings: mctest.Settings{Traffic: traffic}})
	p := launch(t, n, a, b)
	bots := make([]*mctest.Bot, players)
	for i := range bots {
		bot, err := mctest.Join(n.ctx, mctest.BotSettings{Address: p.address, Name: fmt.Sprint("player", i), Moves: rate})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(bot.Leave)
		bots[i] = bot
		if i%50 == 0 {
			n.on(bot)
		}
	}
	for _, bot := range bots {
		n.on(bot)
	}
	count := func() int {
		sum := 0
		for _, bot := range bots {
			sum += bot.Stats().Packets
		}
		return sum
	}
	t.Logf("right after the joins: %.1f MB resident", float64(p.resident())/1e6)
	// What the joins left behind is collected within two minutes.
	time.Sleep(2 * time.Minute)
	packets, before, began := count(), p.cpu(), time.Now()
	time.Sleep(20 * time.Second)
	took := time.Since(began)
	used, memory := p.cpu()-before, p.resident()
	down := float64(count()-packets) / took.Seconds()
	t.Logf("%d players, %.0f packets/s to them: %.0f %% of a core, %.1f MB resident, on lobbies of %d and %d",
		players, down, 100*used.Seconds()/took.Seconds(), float64(memory)/1e6, len(a.Players()), len(b.Players()))
	for _, bot := range bots {
		if bot.Err() != nil {
			t.Errorf("%s: %v", bot.Name(), bot.Err())
		}
	}
	if used > took {
		t.Errorf("more than one core: %s of %s", used, took)
	}
	if memory > 60e6 {
		t.Errorf("%d bytes are resident", memory)
	}
}
