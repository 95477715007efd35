// SPDX-License-Identifier: Apache-2.0

package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestImageIsReadFromItsArchive(t *testing.T) {
	image, err := readImage(bytes.NewReader(sampleArchive(t, "one")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]File{
		"etc/":    {Mode: "0755"},
		"sh":      {Mode: "0777", Link: "agent"},
		"agent":   {Mode: "0755", SHA256: sum([]byte("agent one"))},
		"manager": {Mode: "0755", SHA256: sum([]byte("manager one"))},
		"proxy":   {Mode: "0755", SHA256: sum([]byte("proxy one"))},
	}
	if diff := cmp.Diff(want, image.Files, cmpopts.IgnoreUnexported(File{})); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if image.Name != "example.com/x:v1" || image.Config.Config.User != "65532" || !strings.HasPrefix(image.Digest, "sha256:") {
		t.Errorf("%s %s %+v", image.Name, image.Digest, image.Config)
	}
	folder := t.TempDir()
	if err := image.Unpack(folder); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, "manager"))
	if err != nil || string(content) != "manager one" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestBrokenArchiveIsRefused(t *testing.T) {
	if _, err := readImage(strings.NewReader("no archive, and long enough for one: " + strings.Repeat("x", 1024))); err == nil {
		t.Error("what is no archive was read")
	}
	packed := sampleArchive(t, "one")
	// Content that its digest does not fit to.
	broken := bytes.Replace(packed, []byte(`"User":"65532"`), []byte(`"User":"00000"`), 1)
	_, err := readImage(bytes.NewReader(broken))
	wantRefusal(t, err, "no blob has the digest")
}

func TestImageBuiltAgainIsCompared(t *testing.T) {
	const recordedGo, otherGo = "go1.26.8", "go1.27.0"
	cases := map[string]struct {
		change  func(image *Image)
		goes    string
		differs []string
	}{
		"the same":                        {func(*Image) {}, recordedGo, nil},
		"another digest":                  {func(i *Image) { i.Digest = "sha256:1" }, recordedGo, []string{"digest"}},
		"another program":                 {func(i *Image) { i.Files["agent"] = File{Mode: "0755", SHA256: "1"} }, recordedGo, []string{"/agent"}},
		"another program by another Go":   {func(i *Image) { i.Digest, i.Files["agent"] = "sha256:1", File{Mode: "0755", SHA256: "1"} }, otherGo, nil},
		"a program of another mode":       {func(i *Image) { i.Files["agent"] = File{Mode: "0700", SHA256: "1"} }, otherGo, []string{"/agent"}},
		"another file by another Go":      {func(i *Image) { i.Files["sh"] = File{Mode: "0777", Link: "proxy"} }, otherGo, []string{"/sh"}},
		"a file less":                     {func(i *Image) { delete(i.Files, "etc/") }, otherGo, []string{"files"}},
		"another user":                    {func(i *Image) { i.Config.Config.User = "0" }, otherGo, []string{"configuration"}},
		"another name":                    {func(i *Image) { i.Name = "example.com/y:v1" }, otherGo, []string{"name"}},
		"another architecture, same rest": {func(i *Image) { i.Config.Architecture = "arm64" }, otherGo, []string{"configuration"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			image, err := readImage(bytes.NewReader(sampleArchive(t, "one")))
			if err != nil {
				t.Fatal(err)
			}
			record := Record{Go: recordedGo, Image: roundTrip(t, image)}
			c.change(image)
			var got []string
			for _, difference := range record.Differences(image, c.goes) {
				what, _, _ := strings.Cut(difference, ":")
				got = append(got, what)
			}
			if diff := cmp.Diff(c.differs, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersionIsStoredOnce(t *testing.T) {
	folder, bundle := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(bundle, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "manifests/a.yaml"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	record := Record{Version: "0.1.0", Commit: "c", Go: "go1"}
	if err := Add(folder, record, bundle); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(folder, "0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	record.Bundle = map[string]string{"manifests/a.yaml": sum([]byte("a"))}
	if diff := cmp.Diff(&record, got, cmpopts.IgnoreUnexported(File{})); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if content, err := os.ReadFile(filepath.Join(folder, "0.1.0/manifests/a.yaml")); err != nil || string(content) != "a" {
		t.Errorf("%q, %v", content, err)
	}
	wantRefusal(t, Add(folder, record, bundle), "0.1.0 is stored already")
}

func TestRecordWithUnknownFieldsIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "0.1.0.json"), []byte(`{"version": "0.1.0", "comit": "c"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := ReadRecord(folder, "0.1.0")
	wantRefusal(t, err, "comit")
}

// roundTrip is what a record keeps of an image.
func roundTrip(t *testing.T, image *Image) Image {
	t.Helper()
	content, err := json.Marshal(image)
	if err != nil {
		t.Fatal(err)
	}
	var kept Image
	if err := json.Unmarshal(content, &kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

// sampleArchive is an OCI archive with programs that hold a text.
func sampleArchive(t *testing.T, text string) []byte {
	t.Helper()
	layer := map[string]string{"etc/": "", "sh": "-> agent"}
	for _, name := range Programs {
		layer[name] = name + " " + text
	}
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	if _, err := writer.Write(pack(t, layer)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	blob := func(content string) descriptor {
		digest := sum([]byte(content))
		files["blobs/sha256/"+digest] = content
		return descriptor{Digest: "sha256:" + digest}
	}
	marshal := func(value any) string {
		content, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	config := blob(`{"os":"linux","architecture":"amd64","config":{"User":"65532"}}`)
	manifest := blob(marshal(map[string]any{"config": config, "layers": []descriptor{blob(zipped.String())}}))
	manifest.Annotations = map[string]string{"io.containerd.image.name": "example.com/x:v1"}
	files["index.json"] = marshal(map[string]any{"manifests": []descriptor{manifest}})
	return pack(t, files)
}

// pack makes a tar archive; a name that ends in "/" is a folder, a content that
// begins with "-> " a link, and what holds a space a program.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}
		if link, ok := strings.CutPrefix(content, "-> "); ok {
			header.Typeflag, header.Linkname, header.Mode, header.Size, content = tar.TypeSymlink, link, 0o777, 0, ""
		}
		if strings.HasSuffix(name, "/") {
			header.Typeflag, header.Mode = tar.TypeDir, int64(fs.ModePerm&0o755)
		}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
