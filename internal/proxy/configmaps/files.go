// SPDX-License-Identifier: Apache-2.0

package configmaps

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// maxFile bounds what is read of one key. A ConfigMap as a whole has no more.
const maxFile = 1 << 20

// mount is one ConfigMap as it was last found.
type mount struct {
	// there is true while it is mounted, also while it is empty.
	there bool
	files map[string][]byte
	// broken is why it could not be read.
	broken string
}

// current is the link by which the kubelet swaps all keys of a ConfigMap at once.
const current = "..data"

// read reads the ConfigMap that is mounted below dir under a name.
func read(dir, name string) mount {
	if dir == "" {
		return mount{}
	}
	dir = filepath.Join(dir, name)
	found, err := readAll(dir)
	if errors.Is(err, fs.ErrNotExist) {
		// It was swapped meanwhile, or is not there.
		found, err = readAll(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && found == nil:
		return mount{}
	case err != nil:
		return mount{there: true, broken: err.Error()}
	}
	return mount{there: true, files: found}
}

// readAll reads the keys of one moment.
func readAll(dir string) (map[string][]byte, error) {
	if swapped, err := filepath.EvalSymlinks(filepath.Join(dir, current)); err == nil {
		dir = swapped
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = readFile(filepath.Join(dir, entry.Name())); err != nil {
			return files, fmt.Errorf("key %s: %w", entry.Name(), err)
		}
	}
	return files, nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read from
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	return content, err
}

func (m mount) equal(other mount) bool {
	return m.there == other.there && m.broken == other.broken && maps.EqualFunc(m.files, other.files, bytes.Equal)
}
