// SPDX-License-Identifier: Apache-2.0

// Package layers copies an owner's trees of files into a data directory before
// the game's settings are written there. Everything is copied aside first and
// then put in its place, so that a layer that cannot be read, or a volume that is
// full, leaves the data directory as it was.
package layers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/go-logr/logr"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// staging is where files lie until all of them are there: in the data
// directory, because only there a rename puts them in place.
const staging = ".spawnery-template"

// lostAndFound is the file system's own on a claim, and closed to everybody.
const lostAndFound = "lost+found"

// Config says what is copied, and where to.
type Config struct {
	Spec serverspec.Spec
	// DataDir is where the data volume is mounted here.
	DataDir string
}

// Run brings the layers into the data directory. Run again, it changes nothing:
// a file of mode IfMissing is there, and one of mode Always is the same.
func Run(ctx context.Context, cfg Config) error {
	data, err := os.OpenRoot(cfg.DataDir)
	if err != nil {
		return fmt.Errorf("opening the data directory: %w", err)
	}
	defer func() { _ = data.Close() }()
	j := &job{spec: cfg.Spec, data: directory{data, cfg.Spec}, log: logr.FromContextOrDiscard(ctx)}
	for number, layer := range cfg.Spec.Layers {
		tree, err := open(layer)
		if err != nil {
			return blame(number, layer, err)
		}
		defer func() { _ = tree.Close() }()
		j.trees = append(j.trees, tree)
	}
	// What a start before this one left there may be half of something.
	if err := j.data.RemoveAll(staging); err != nil {
		return j.data.blameVolume(err)
	}
	if err := j.copyAside(ctx); err != nil {
		// The space is needed by whoever looks into it.
		return errors.Join(err, j.data.RemoveAll(staging))
	}
	if err := j.putInPlace(); err != nil {
		return err
	}
	return j.data.RemoveAll(staging)
}

// job is one run.
type job struct {
	spec  serverspec.Spec
	data  directory
	trees []*os.Root
	log   logr.Logger
}

// blame names the layer that an error is about.
func blame(number int, layer serverspec.Layer, err error) error {
	from := layer.Origin
	if layer.Path != "/" {
		from += ", path " + layer.Path
	}
	return fmt.Errorf("server.template, layer %d (%s): %w", number+1, from, err)
}

func (j *job) copyAside(ctx context.Context) error {
	if err := j.data.Mkdir(staging, 0o775); err != nil {
		return j.data.blameVolume(err)
	}
	for number, layer := range j.spec.Layers {
		log := j.log.WithValues("layer", number+1, "of", len(j.spec.Layers), "origin", layer.Origin)
		c := &copying{job: j, number: number, mode: layer.Mode, tree: j.trees[number], log: log}
		err := fs.WalkDir(c.tree.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
			return c.visit(ctx, name, entry, err)
		})
		if err != nil {
			return blame(number, layer, err)
		}
		log.Info("copied a layer", "files", c.copied, "bytes", c.bytes, "leftAlone", c.left)
	}
	return nil
}

// putInPlace moves what was copied aside, file by file; each is whole or not
// there, and what an interruption leaves out comes at the next start.
func (j *job) putInPlace() error {
	aside, err := j.data.OpenRoot(staging)
	if err != nil {
		return j.data.blameVolume(err)
	}
	defer func() { _ = aside.Close() }()
	return fs.WalkDir(aside.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case !entry.IsDir():
			err = j.data.Rename(path.Join(staging, name), name)
		default:
			// A link to a directory in the data directory serves as one.
			if _, err = j.data.Stat(name); errors.Is(err, fs.ErrNotExist) {
				err = j.data.Mkdir(name, 0o775)
			}
		}
		if err != nil {
			return fmt.Errorf("putting %s in its place: %w", name, j.data.blameVolume(err))
		}
		return nil
	})
}
