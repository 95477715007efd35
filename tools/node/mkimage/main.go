// SPDX-License-Identifier: Apache-2.0

// Command mkimage writes an OCI archive with one image made of files of this
// machine. It needs no Docker, no registry and no root, and the same files give
// the same bytes: nothing in the archive tells when, where or by whom it was
// made. It prints the image's digest.
//
//	mkimage -o bin/x.tar -t spawnery.test/x:dev -entrypoint /x bin/x=/x
//
// SRC may be a folder, which is copied whole. containerd (ctr images import)
// and Docker (docker load, 25 and later) read the archive.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// options is what the command line says.
type options struct {
	out        string
	tag        string
	entrypoint string
	user       string
	workdir    string
	// authorities is where the certificate authorities go.
	authorities string
	env         list
	links       list
	files       []string
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "the archive to write")
	flag.StringVar(&o.tag, "t", "", "the image's name, NAME:TAG")
	flag.StringVar(&o.entrypoint, "entrypoint", "", "the entrypoint, separated by spaces")
	flag.StringVar(&o.user, "user", "", "the numeric user, UID or UID:GID (default root)")
	flag.StringVar(&o.workdir, "workdir", "/", "the working directory")
	flag.StringVar(&o.authorities, "authorities", "", "where to put Mozilla's certificate authorities (default nowhere)")
	flag.Var(&o.env, "env", "a variable NAME=VALUE; may be repeated")
	flag.Var(&o.links, "link", "a symbolic link PATH=TARGET; may be repeated")
	flag.Parse()
	o.files = flag.Args()

	digest, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkimage:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

func run(o options) (v1.Hash, error) {
	tree, err := newTree(o.files, o.links)
	if err != nil {
		return v1.Hash{}, err
	}
	if o.authorities != "" {
		tree.add(inside(o.authorities), entry{mode: 0o644, content: authorities()})
	}
	image, err := newImage(tree, v1.Config{
		Entrypoint: strings.Fields(o.entrypoint),
		User:       o.user,
		WorkingDir: o.workdir,
		Env:        append([]string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}, o.env...),
	})
	if err != nil {
		return v1.Hash{}, err
	}
	if err := writeArchive(o.out, o.tag, image); err != nil {
		return v1.Hash{}, err
	}
	return image.Digest()
}
