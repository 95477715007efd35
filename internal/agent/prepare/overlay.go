// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// collectOverlays reads the owner's files as they are mounted now. A later edit
// is seen by the next start.
func collectOverlays(cfg Config) (gameconfig.Overlays, error) {
	if len(cfg.Spec.Overlay) == 0 {
		return gameconfig.Overlays{}, nil
	}
	values, err := gameconfig.PlaceholderValues(cfg.Spec, cfg.Variable)
	if err != nil {
		return gameconfig.Overlays{}, err
	}
	overlays := gameconfig.Overlays{Values: values}
	for _, file := range cfg.Spec.Overlay {
		directory := filepath.Join(cfg.OverlayDir, file.Directory)
		content, err := os.ReadFile(filepath.Join(directory, file.Key))
		if errors.Is(err, fs.ErrNotExist) {
			return gameconfig.Overlays{}, missing(file, directory)
		}
		if err != nil {
			return gameconfig.Overlays{}, fmt.Errorf("reading key %s of the ConfigMap %s: %w", file.Key, file.ConfigMap, err)
		}
		overlays.Files = append(overlays.Files, gameconfig.Overlay{OverlayFile: file, Content: content})
	}
	return overlays, nil
}

// missing says whether a ConfigMap lacks a key or is not there at all: the
// kubelet mounts one that is optional as an empty directory.
func missing(file serverspec.OverlayFile, directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return fmt.Errorf("reading the ConfigMap %s: %w", file.ConfigMap, err)
	}
	var keys []string
	for _, entry := range entries {
		// The kubelet keeps the files behind links that begin with two points.
		if !strings.HasPrefix(entry.Name(), "..") {
			keys = append(keys, entry.Name())
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("the ConfigMap %s does not exist or is empty, and spec.configOverlay takes %s from its key %s: create it",
			file.ConfigMap, file.Path, file.Key)
	}
	return fmt.Errorf("the ConfigMap %s has no key %s, from which spec.configOverlay takes %s; it has %s",
		file.ConfigMap, file.Key, file.Path, strings.Join(keys, ", "))
}

// refuseLinks keeps an owner's path from ending in another file: whoever can
// write to a world can leave links in it.
func (d directory) refuseLinks(name string) error {
	parts := strings.Split(name, "/")
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		info, err := d.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("configOverlay: %s: looking for links: %w", name, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("configOverlay: %s: %s in the data directory is a link, which is not followed; remove it, or leave the path out", name, at)
		}
	}
	return nil
}
