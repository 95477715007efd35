// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	first, second := sampleFolder(t), sampleFolder(t)
	// What differs between two builds of one commit must not show.
	if err := os.Chtimes(filepath.Join(second, "run.sh"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(second, "data", "a.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	digests, archives := make([]string, 2), make([][]byte, 2)
	for i, dir := range []string{first, second} {
		digests[i], archives[i] = build(t, dir)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests differ: %s and %s", digests[0], digests[1])
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("archives differ")
	}
}

func TestAnotherContentGivesAnotherDigest(t *testing.T) {
	first, second := sampleFolder(t), sampleFolder(t)
	if err := os.WriteFile(filepath.Join(second, "run.sh"), []byte("other"), 0o755); err != nil {
		t.Fatal(err)
	}
	a, _ := build(t, first)
	b, _ := build(t, second)
	if a == b {
		t.Errorf("both digests are %s", a)
	}
}

func TestTheLayerHoldsFilesFoldersAndLinks(t *testing.T) {
	dir := sampleFolder(t)
	tree, err := newTree([]string{filepath.Join(dir, "data") + "=/app"}, []string{"/bin/sh=busybox"})
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	if err := tree.write(&content); err != nil {
		t.Fatal(err)
	}
	got := names(t, &content)
	for _, want := range []string{"app/", "app/a.txt", "app/b -> a.txt", "bin/", "bin/sh -> busybox", "etc/passwd", "tmp/"} {
		if !slices.Contains(got, want) {
			t.Errorf("the layer lacks %q; it holds %q", want, got)
		}
	}
	if i, j := slices.Index(got, "app/"), slices.Index(got, "app/a.txt"); i > j {
		t.Error("a file comes before its folder")
	}
}

func TestAuthoritiesCanBeParsedAndAreNotThoseOfThisMachine(t *testing.T) {
	rest, found := []byte(authorities()), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !certificate.IsCA {
			t.Errorf("%s is no authority", certificate.Subject)
		}
		found++
	}
	if found < 100 || len(rest) > 0 {
		t.Errorf("%d authorities, and %d bytes that are none", found, len(rest))
	}
	if machine, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt"); err == nil && string(machine) == authorities() {
		t.Error("the file of this machine was taken")
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	cases := map[string]struct {
		files, links []string
		want         string
	}{
		"a file without a destination": {files: []string{"x"}, want: "want SRC=DST"},
		"a file that is not there":     {files: []string{"/nowhere=/x"}, want: "no such file"},
		"a link without a target":      {links: []string{"x"}, want: "want PATH=TARGET"},
		"a device":                     {files: []string{"/dev/null=/x"}, want: "neither a file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := newTree(c.files, c.links)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

func sampleFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, "data"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "data", "a.txt"), []byte("a"), 0o644))
	must(os.Symlink("a.txt", filepath.Join(dir, "data", "b")))
	return dir
}

func build(t *testing.T, dir string) (string, []byte) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	digest, err := run(options{
		out: out, tag: "spawnery.test/sample:dev", entrypoint: "/run.sh", user: "65532",
		files: []string{filepath.Join(dir, "run.sh") + "=/run.sh", filepath.Join(dir, "data") + "=/data"},
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return digest.String(), content
}

func names(t *testing.T, r io.Reader) []string {
	t.Helper()
	var got []string
	for in := tar.NewReader(r); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		name := header.Name
		if header.Linkname != "" {
			name += " -> " + header.Linkname
		}
		got = append(got, name)
	}
}
