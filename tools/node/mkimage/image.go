// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newImage makes an OCI image of one layer.
func newImage(t tree, config v1.Config) (v1.Image, error) {
	var content bytes.Buffer
	if err := t.write(&content); err != nil {
		return nil, err
	}
	// These images do not leave the machine: speed is worth more than size.
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("making the layer: %w", err)
	}
	plain := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(plain, layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(image, file)
}

// writeArchive writes the image under its tag as an OCI archive.
func writeArchive(out, tag string, image v1.Image) error {
	ref, err := name.NewTag(tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("reading the tag: %w", err)
	}
	dir, err := os.MkdirTemp("", "mkimage")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	folder, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the index: %w", err)
	}
	err = folder.AppendImage(image, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          ref.Name(),
		"org.opencontainers.image.ref.name": ref.TagStr(),
	}))
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	return archive(dir, out)
}

// archive packs a folder into out, which is complete or not there: a reader
// never meets half an image.
func archive(dir, out string) error {
	file, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := pack(dir, file); err != nil {
		return fmt.Errorf("packing %s: %w", out, err)
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), out)
}

func pack(dir string, w io.Writer) error {
	t := tree{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		t.add(filepath.ToSlash(below), entry{mode: 0o644, source: file})
		return nil
	})
	if err != nil {
		return err
	}
	return t.write(w)
}
