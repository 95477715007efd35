// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tree is an image's file system: paths without a leading slash to entries.
type tree map[string]entry

// entry is a folder, a symbolic link (target set) or a file with the content
// of source, or of content where there is no source.
type entry struct {
	mode    fs.FileMode
	target  string
	source  string
	content string
}

// base is what programs expect of any root file system.
var base = tree{
	"etc":        {mode: fs.ModeDir | 0o755},
	"proc":       {mode: fs.ModeDir | 0o755},
	"sys":        {mode: fs.ModeDir | 0o755},
	"dev":        {mode: fs.ModeDir | 0o755},
	"run":        {mode: fs.ModeDir | 0o755},
	"var":        {mode: fs.ModeDir | 0o755},
	"tmp":        {mode: fs.ModeDir | fs.ModeSticky | 0o777},
	"etc/passwd": {mode: 0o644, content: "root:x:0:0:root:/:/bin/sh\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"},
	"etc/group":  {mode: 0o644, content: "root:x:0:\nnonroot:x:65532:\n"},
}

// newTree adds files (SRC=DST) and links (PATH=TARGET) to the base.
func newTree(files, links []string) (tree, error) {
	t := maps.Clone(base)
	for _, arg := range files {
		src, dst, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, fmt.Errorf("want SRC=DST, got %q", arg)
		}
		if err := t.copy(src, inside(dst)); err != nil {
			return nil, fmt.Errorf("adding %s: %w", arg, err)
		}
	}
	for _, arg := range links {
		name, target, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, fmt.Errorf("want PATH=TARGET, got %q", arg)
		}
		t.add(inside(name), entry{mode: fs.ModeSymlink | 0o777, target: target})
	}
	return t, nil
}

// inside turns a path of the image into the form that archives have.
func inside(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// copy adds the file or the whole folder src as dst. Links inside a folder stay
// links; src itself is followed.
func (t tree) copy(src, dst string) error {
	root, err := filepath.EvalSymlinks(src)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		e, err := entryOf(file, d)
		if err != nil {
			return err
		}
		t.add(path.Join(dst, filepath.ToSlash(below)), e)
		return nil
	})
}

// entryOf describes a file with the mode it has in an image: readable by all,
// so that the umask of whoever built it does not show.
func entryOf(file string, d fs.DirEntry) (entry, error) {
	info, err := d.Info()
	if err != nil {
		return entry{}, err
	}
	switch {
	case d.IsDir():
		return entry{mode: fs.ModeDir | 0o755}, nil
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		return entry{mode: fs.ModeSymlink | 0o777, target: target}, err
	case !d.Type().IsRegular():
		return entry{}, fmt.Errorf("%s is neither a file, a folder nor a link", file)
	case info.Mode()&0o100 != 0:
		return entry{mode: 0o755, source: file}, nil
	}
	return entry{mode: 0o644, source: file}, nil
}

// add puts an entry and its parent folders in place.
func (t tree) add(name string, e entry) {
	if name == "" {
		return
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := t[dir]; !ok {
			t[dir] = entry{mode: fs.ModeDir | 0o755}
		}
	}
	if _, ok := t[name]; ok && e.mode.IsDir() {
		return
	}
	t[name] = e
}

// write writes the tree as a tar stream, parents before their children.
func (t tree) write(w io.Writer) error {
	out := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := t[name].write(out, name); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return out.Close()
}

func (e entry) write(out *tar.Writer, name string) error {
	content := []byte(e.content)
	if e.source != "" {
		var err error
		if content, err = os.ReadFile(e.source); err != nil {
			return err
		}
	}
	header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: int64(e.mode.Perm()), Size: int64(len(content))}
	switch {
	case e.mode.IsDir():
		header.Name += "/"
		header.Typeflag = tar.TypeDir
		if e.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
	case e.target != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.target
	}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err := out.Write(content)
	return err
}
