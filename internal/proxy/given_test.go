// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

// give puts a key of a ConfigMap where the kubelet would.
func give(t *testing.T, dir, part, key string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, part, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	// Whoever reads meanwhile reads the one or the other.
	if err := os.WriteFile(filepath.Join(dir, key), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, key), path); err != nil {
		t.Fatal(err)
	}
}

func givenFrom(dir string) func(*Config) { return func(c *Config) { c.ConfigDir = dir } }

func TestThePictureOfTheServerListIsShownAndAnEditFollowed(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.FaviconKey = "icon.png" })
	dir := t.TempDir()
	give(t, dir, "favicon", "icon.png", []byte("no picture"))
	p := n.front(givenFrom(dir))
	n.eventually("the manager is told what is wrong", func() bool {
		problems := p.report().GetReport().GetConfigProblems()
		return len(problems) == 1 && problems[0].GetPart() == agentv1alpha1.ConfigPart_CONFIG_PART_FAVICON && problems[0].GetKey() == "icon.png"
	})
	shown := func() slp.Status {
		status, err := slp.Ping(n.ctx, p.address(), 769)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	if status := shown(); status.Favicon != "" || status.Max != 500 {
		t.Errorf("a list with a broken picture is %+v", status)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	give(t, dir, "favicon", "icon.png", picture.Bytes())
	want := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes())
	n.eventually("the picture is shown", func() bool { return shown().Favicon == want })
	if problems := p.report().GetReport().GetConfigProblems(); len(problems) != 0 {
		t.Errorf("the manager is told %v", problems)
	}
}

// unknownProtocol is a version that this release does not know.
const unknownProtocol = 778

// rowOf is the built-in row of 1.21.4 under another number.
func rowOf(t *testing.T, number string) []byte {
	t.Helper()
	table, err := os.ReadFile("../mcproto/protocols.json")
	if err != nil {
		t.Fatal(err)
	}
	begin := bytes.Index(table, []byte(`"protocol": 769`))
	end := begin + bytes.Index(table[begin:], []byte(`"protocol": 770`))
	row := table[begin:end]
	row = row[:bytes.LastIndexByte(row, '}')+1]
	return append([]byte("{"), bytes.Replace(row, []byte("769"), []byte(number), 1)...)
}

func TestAClientOfAVersionThatOnlyARowOfTheOwnersKnowsPlays(t *testing.T) {
	n := newNetwork(t)
	row := rowOf(t, "778")
	rows, err := mcproto.ParseProtocols(bytes.Join([][]byte{[]byte("["), row, []byte("]")}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lobby-a", "survival-0"} {
		n.add(name, rig{settings: mctest.Settings{Rows: rows}})
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "protocols"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := n.front(givenFrom(dir))
	newer := func(s *mctest.BotSettings) { s.Protocol, s.Rows = unknownProtocol, rows }
	if got := n.ends(n.bot(p, "Early", newer)); !strings.HasPrefix(got, "This network takes Minecraft 1.20.5 to ") {
		t.Errorf("without the row the client was told %q", got)
	}
	give(t, dir, "protocols", "27.json", row)
	n.eventually("the row is known", func() bool { _, ok := p.given.Content().Protocols.Lookup(unknownProtocol); return ok })
	status, err := slp.Ping(n.ctx, p.address(), unknownProtocol)
	if err != nil || status.Protocol != unknownProtocol {
		t.Errorf("the list is %+v: %v", status, err)
	}
	b := n.bot(p, "Newcomer", newer)
	n.on(b, "lobby-a")
	if got := p.roster.all()[0].Switch(n.ctx, "survival-0"); got != nil {
		t.Errorf("the switch ended with %v", got)
	}
	n.on(b, "survival-0")
	n.unharmed()
}
