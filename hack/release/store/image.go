// SPDX-License-Identifier: Apache-2.0

package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Programs are the files of the image that Go builds: another version of Go
// makes others, and with them another digest.
var Programs = []string{"agent", "manager", "proxy"}

// Image is what an archive with one image of one layer holds.
type Image struct {
	// Name has the tag.
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Config Config `json:"config"`
	// Files are everything in the layer by path; that of a folder ends in "/".
	Files map[string]File `json:"files"`
}

// Config is what of an image's configuration a runtime looks at.
type Config struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Config       struct {
		User       string
		Entrypoint []string
		Env        []string
		WorkingDir string
	} `json:"config"`
}

// File is one entry of a layer. Owner and times are those of mkimage: root and
// the epoch.
type File struct {
	Mode   string `json:"mode"`
	SHA256 string `json:"sha256,omitempty"`
	Link   string `json:"link,omitempty"`

	content []byte
}

// ReadImage reads an OCI archive as mkimage writes it.
func ReadImage(archive string) (*Image, error) {
	packed, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }()
	image, err := readImage(packed)
	if err != nil {
		return nil, fmt.Errorf("reading the image in %s: %w", archive, err)
	}
	return image, nil
}

// descriptor points to a blob of an archive.
type descriptor struct {
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

func readImage(packed io.Reader) (*Image, error) {
	files, err := untar(packed)
	if err != nil {
		return nil, err
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"].content, &index); err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	if len(index.Manifests) != 1 {
		return nil, fmt.Errorf("want one image, got %d", len(index.Manifests))
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	blobs := blobs(files)
	if err := blobs.decode(index.Manifests[0], &manifest); err != nil {
		return nil, err
	}
	if len(manifest.Layers) != 1 {
		return nil, fmt.Errorf("want one layer, got %d", len(manifest.Layers))
	}
	image := &Image{Name: index.Manifests[0].Annotations["io.containerd.image.name"], Digest: index.Manifests[0].Digest}
	if err := blobs.decode(manifest.Config, &image.Config); err != nil {
		return nil, err
	}
	layer, err := blobs.get(manifest.Layers[0])
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		return nil, fmt.Errorf("reading the layer: %w", err)
	}
	image.Files, err = untar(unzipped)
	return image, err
}

// blobs are the files of an archive, which names blobs by their digest.
type blobs map[string]File

// get fails when a blob is not what its digest says.
func (b blobs) get(d descriptor) ([]byte, error) {
	blob, ok := b["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if !ok || "sha256:"+blob.SHA256 != d.Digest {
		return nil, fmt.Errorf("no blob has the digest %q", d.Digest)
	}
	return blob.content, nil
}

func (b blobs) decode(d descriptor, into any) error {
	content, err := b.get(d)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

func untar(packed io.Reader) (map[string]File, error) {
	files := map[string]File{}
	for in := tar.NewReader(packed); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		file := File{Mode: fmt.Sprintf("%04o", header.Mode), Link: header.Linkname}
		if header.Typeflag == tar.TypeReg {
			if file.content, err = io.ReadAll(in); err != nil {
				return nil, err
			}
			file.SHA256 = sum(file.content)
		}
		files[header.Name] = file
	}
}

// Unpack writes the programs of an image into a folder.
func (i *Image) Unpack(folder string) error {
	for _, name := range Programs {
		program, ok := i.Files[name]
		if !ok {
			return fmt.Errorf("the image has no /%s", name)
		}
		if err := os.WriteFile(filepath.Join(folder, name), program.content, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Differences says how an image that was built again differs from the recorded
// one. Built by another version of Go it has other programs, and so another
// digest: everything else is compared.
func (r *Record) Differences(built *Image, goVersion string) []string {
	var differences []string
	differ := func(what string, want, got any) {
		if !reflect.DeepEqual(want, got) {
			differences = append(differences, fmt.Sprintf("%s: recorded %v, built %v", what, want, got))
		}
	}
	same := goVersion == r.Go
	if same {
		differ("digest", r.Image.Digest, built.Digest)
	}
	differ("name", r.Image.Name, built.Name)
	differ("configuration", r.Image.Config, built.Config)
	differ("files", slices.Sorted(maps.Keys(r.Image.Files)), slices.Sorted(maps.Keys(built.Files)))
	for _, name := range slices.Sorted(maps.Keys(r.Image.Files)) {
		recorded := r.Image.Files[name]
		rebuilt, ok := built.Files[name]
		if !ok {
			continue
		}
		rebuilt.content = nil
		if !same && slices.Contains(Programs, name) {
			recorded.SHA256, rebuilt.SHA256 = "", ""
		}
		differ("/"+name, recorded, rebuilt)
	}
	return differences
}
