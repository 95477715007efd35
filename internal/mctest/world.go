// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// world is what outlives a run of the server: a counter of joins, in the place
// where a real server keeps its level.
type world struct {
	path string // of level.dat; empty: nothing is kept
	lock *os.File

	mu    sync.Mutex
	level level
	// changed is true while there is something to save.
	changed bool
}

type level struct {
	Joins int `json:"joins"` // since the world was made
	Saves int `json:"saves"`
}

// openWorld locks and reads the world in a directory, making it if needed. A
// world that another process holds is an error, as it is in the game.
func openWorld(directory string) (*world, error) {
	if directory == "" {
		return &world{changed: true}, nil
	}
	if err := os.MkdirAll(directory, 0o775); err != nil {
		return nil, fmt.Errorf("make the world: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(directory, "session.lock"), os.O_RDWR|os.O_CREATE, 0o664)
	if err != nil {
		return nil, fmt.Errorf("lock the world: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("lock the world: already locked, possibly by another server: %w", err)
	}
	w := &world{path: filepath.Join(directory, "level.dat"), lock: lock, changed: true}
	data, err := os.ReadFile(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &w.level)
	}
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("read the world: %w", err)
	}
	w.changed = false
	return w, nil
}

func (w *world) joined() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.level.Joins++
	w.changed = true
	return w.level.Joins
}

func (w *world) joins() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.level.Joins
}

func (w *world) hasChanged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// save writes the level beside the old one and replaces it: a save that is
// killed leaves the old one whole.
func (w *world) save() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path == "" {
		w.changed = false
		return nil
	}
	w.level.Saves++
	data, err := json.Marshal(w.level)
	if err != nil {
		return fmt.Errorf("save the world: %w", err)
	}
	next := w.path + "_new"
	if err := os.WriteFile(next, append(data, '\n'), 0o664); err != nil {
		return fmt.Errorf("save the world: %w", err)
	}
	if err := os.Rename(next, w.path); err != nil {
		return fmt.Errorf("save the world: %w", err)
	}
	w.changed = false
	return nil
}

func (w *world) close() {
	if w.lock != nil {
		_ = w.lock.Close()
	}
}
