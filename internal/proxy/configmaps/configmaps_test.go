// SPDX-License-Identifier: Apache-2.0

package configmaps

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

// icon is a PNG with sides of a length; noise makes it large.
func icon(t *testing.T, side int, noise bool) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, side, side))
	random := rand.New(rand.NewPCG(1, 2))
	for x := range side {
		for y := range side {
			if noise {
				picture.Set(x, y, color.NRGBA{uint8(random.Uint32()), uint8(random.Uint32()), uint8(random.Uint32()), uint8(random.Uint32())})
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// put writes a ConfigMap as the kubelet mounts it: in a directory of its own,
// to which a link is swapped.
func put(t *testing.T, dir, name string, files map[string]string) {
	t.Helper()
	target := filepath.Join(dir, name)
	if err := os.MkdirAll(target, 0o700); err != nil {
		t.Fatal(err)
	}
	earlier, err := os.ReadDir(target)
	if err != nil {
		t.Fatal(err)
	}
	written := filepath.Join(target, fmt.Sprintf("..%d", len(earlier)))
	if err := os.Mkdir(written, 0o700); err != nil {
		t.Fatal(err)
	}
	for key, content := range files {
		if err := os.WriteFile(filepath.Join(written, key), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := filepath.Join(target, "..data_tmp")
	if err := os.Symlink(filepath.Base(written), next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(target, current)); err != nil {
		t.Fatal(err)
	}
}

func reader(t *testing.T, dir string) *Reader {
	t.Helper()
	r, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// said are the problems as an owner reads them.
func said(c *Content) []string {
	var lines []string
	for _, p := range c.Problems {
		lines = append(lines, fieldOf(p.GetPart())+" "+p.GetKey()+": "+p.GetReason())
	}
	return lines
}

func TestAFaviconIsShownOrSaysWhyNot(t *testing.T) {
	good := icon(t, 64, false)
	broken := bytes.Clone(good)
	broken[len(broken)/2]++
	for name, tc := range map[string]struct {
		files map[string]string
		key   string
		want  []string
	}{
		"a picture as clients show it": {files: map[string]string{"icon.png": string(good)}, key: "icon.png"},
		"no ConfigMap": {
			files: map[string]string{}, key: "icon.png",
			want: []string{"favicon : it does not exist or has no keys; create it in the group's namespace"},
		},
		"another key": {
			files: map[string]string{"b": "", "a": ""}, key: "icon.png",
			want: []string{"favicon icon.png: there is no such key; the ConfigMap has a, b"},
		},
		"a large picture": {
			files: map[string]string{"icon.png": string(icon(t, 128, false))}, key: "icon.png",
			want: []string{"favicon icon.png: it is 128 by 128 pixels, and clients show 64 by 64 alone; scale it"},
		},
		"a large file": {
			files: map[string]string{"icon.png": string(icon(t, 64, true))}, key: "icon.png",
			want: []string{"favicon icon.png: it has 16526 bytes, and at most 16384 are sent to clients; save it smaller"},
		},
		"a broken picture": {
			files: map[string]string{"icon.png": string(broken)}, key: "icon.png",
			want: []string{"favicon icon.png: it is a broken PNG (png: invalid format: invalid checksum); save it again"},
		},
		"no picture": {
			files: map[string]string{"icon.png": "GIF89a"}, key: "icon.png",
			want: []string{"favicon icon.png: it is no PNG; make the ConfigMap by kubectl create configmap --from-file=icon.png=FILE"},
		},
		"a picture pasted as text": {
			files: map[string]string{"icon.png": base64.StdEncoding.EncodeToString(good) + "\n"}, key: "icon.png",
			want: []string{"favicon icon.png: it is no PNG, but the text of one in base64, which belongs under binaryData; " +
				"make the ConfigMap by kubectl create configmap --from-file=icon.png=FILE"},
		},
		"a key above the mount": {
			files: map[string]string{"icon.png": string(good)}, key: "..",
			want: []string{"favicon ..: there is no such key; the ConfigMap has icon.png"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "favicon", tc.files)
			r := reader(t, dir)
			r.look(Settings{FaviconKey: tc.key})
			if diff := cmp.Diff(tc.want, said(r.Content())); diff != "" {
				t.Error(diff)
			}
			want := ""
			if tc.want == nil {
				want = "data:image/png;base64," + base64.StdEncoding.EncodeToString(good)
			}
			if got := r.Content().Favicon; got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestWhatIsNotMountedIsNotMissed(t *testing.T) {
	for name, dir := range map[string]string{"no directory": "", "an empty one": t.TempDir()} {
		r := reader(t, dir)
		r.look(Settings{FaviconKey: "icon.png"})
		if c := r.Content(); c.Favicon != "" || c.Problems != nil || len(c.Protocols.Numbers()) == 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// row is the newest built-in one under another number.
func row(t *testing.T, number string) string {
	t.Helper()
	content, err := os.ReadFile("../../mcproto/protocols.json")
	if err != nil {
		t.Fatal(err)
	}
	last := string(content[bytes.LastIndex(content, []byte(`"protocol":`)):])
	last = "{" + strings.TrimSuffix(strings.TrimSpace(last), "]")
	return strings.Replace(last, `"protocol": 777`, `"protocol": `+number, 1)
}

func TestRowsOfProtocolsAreTakenOneByOne(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		known []int32
		want  []string
	}{
		"a row":            {files: map[string]string{"27.json": row(t, "778")}, known: []int32{778}},
		"a list of rows":   {files: map[string]string{"27.json": "[" + row(t, "778") + ", " + row(t, "779") + "]"}, known: []int32{778, 779}},
		"several keys":     {files: map[string]string{"a": row(t, "778"), "b": row(t, "779")}, known: []int32{778, 779}},
		"one that is ours": {files: map[string]string{"a": row(t, "777")}},
		"nothing": {
			files: map[string]string{},
			want:  []string{"protocols : it does not exist or has no keys; create it in the group's namespace"},
		},
		"a bad row beside a good one": {
			files: map[string]string{"a": `[{"protocol": 779, "versions": ["x"], "source": "y", "loginSuccess": "plain"}, ` + row(t, "778") + "]"},
			known: []int32{778},
			want:  []string{"protocols a: row 1 is left out: protocol 779: configClient: the id of cookie_request is missing"},
		},
		"the same row twice": {
			files: map[string]string{"a": row(t, "778"), "b": row(t, "778")},
			known: []int32{778},
			want:  []string{"protocols b: row 1 is left out: protocol 778 is in key a already"},
		},
		"no JSON": {
			files: map[string]string{"a": "protocol: 778", "b": row(t, "778")},
			known: []int32{778},
			want:  []string{"protocols a: it is no JSON (invalid character 'p' looking for beginning of value); the form is that of the built-in table"},
		},
		"two rows that are no list": {
			files: map[string]string{"a": row(t, "778") + ", " + row(t, "779")},
			want:  []string{"protocols a: it is no JSON (invalid character ',' after top-level value); the form is that of the built-in table"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "protocols", tc.files)
			content := reader(t, dir).Content()
			if diff := cmp.Diff(tc.want, said(content)); diff != "" {
				t.Error(diff)
			}
			var known []int32
			for _, number := range content.Protocols.Numbers() {
				if number > 777 {
					known = append(known, number)
				}
			}
			if diff := cmp.Diff(tc.known, known); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "protocols", map[string]string{"a": "[" + strings.Repeat(`{"protocol": 5, "versions": ["`+strings.Repeat("ü", 900)+`"]}, `, 99) + "{}]", "b": "[" + strings.Repeat("ü", 900)})
	problems := reader(t, dir).Content().Problems
	if len(problems) != maxProblems || problems[maxProblems-1].GetReason() != "and 70 more like these" {
		t.Errorf("%d problems, the last is %v", len(problems), problems[len(problems)-1])
	}
	long := problem(protocolsPart, "a", strings.Repeat("ü", 900)).GetReason()
	if len(long) > maxReason || !strings.HasSuffix(long, "ü…") {
		t.Errorf("a reason of %d bytes: %q", len(long), long)
	}
}

func TestEditsAreFollowed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "favicon", map[string]string{})
	put(t, dir, "protocols", map[string]string{"a": row(t, "778")})
	clk := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	r := reader(t, dir)
	before, _ := r.Content().Protocols.Lookup(778)
	changes, key := atomic.Int32{}, atomic.Pointer[string]{}
	key.Store(new("icon.png"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Follow(ctx, clk, func() Settings { return Settings{FaviconKey: *key.Load()} }, func() { changes.Add(1) })
	}()
	steps := []struct {
		name   string
		change func()
		holds  func(*Content) bool
	}{
		{"the key of a missing picture is learned", func() {}, func(c *Content) bool { return len(c.Problems) == 1 }},
		{
			"the picture is made", func() { put(t, dir, "favicon", map[string]string{"icon.png": string(icon(t, 64, false))}) },
			func(c *Content) bool { return c.Favicon != "" && len(c.Problems) == 0 },
		},
		{"another key is named", func() { key.Store(new("other.png")) }, func(c *Content) bool { return c.Favicon == "" && len(c.Problems) == 1 }},
		{"no key is named", func() { key.Store(new("")) }, func(c *Content) bool { return c.Favicon == "" && len(c.Problems) == 0 }},
		{
			"a row is added", func() { put(t, dir, "protocols", map[string]string{"a": row(t, "778"), "b": row(t, "779")}) },
			func(c *Content) bool { _, ok := c.Protocols.Lookup(779); return ok },
		},
	}
	for i, step := range steps {
		step.change()
		until := time.Now().Add(5 * time.Second)
		for !step.holds(r.Content()) {
			if time.Now().After(until) {
				t.Fatalf("%s: %+v", step.name, r.Content())
			}
			if clk.HasWaiters() {
				clk.Step(lookEvery)
			}
			time.Sleep(time.Millisecond)
		}
		if got := int(changes.Load()); got > i+1 {
			t.Errorf("%s: %d changes were told", step.name, got)
		}
	}
	cancel()
	<-done
	if got := int(changes.Load()); got != len(steps) {
		t.Errorf("%d changes were told, want %d", got, len(steps))
	}
	if before == nil {
		t.Error("the row is not known from the start")
	}
}
