// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// wishesFile is where they are kept in the directory that outlives the agent.
const wishesFile = "wishes.json"

// Kept is what outlives the agent.
type Kept struct {
	Wishes
	// Game tells the run of the game whose plugins asked for it from others;
	// empty while that was not known.
	Game string `json:"game,omitempty"`
	// Exited is true from the exit of that game until another is seen.
	Exited bool `json:"exited,omitempty"`
}

// ReadWishes returns what was kept in dir, nothing when nothing was. What
// cannot be read is an error: a closed door must not open by itself.
func ReadWishes(dir string) (Kept, error) {
	var wishes Kept
	content, err := os.ReadFile(filepath.Join(dir, wishesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return wishes, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &wishes)
	}
	if err != nil {
		return Kept{}, fmt.Errorf("read what plugins asked for: %w", err)
	}
	return wishes, nil
}

// KeepWishes writes them to dir, whole or not at all.
func KeepWishes(dir string, wishes Kept) error {
	content, err := json.Marshal(wishes)
	if err != nil {
		return fmt.Errorf("keep what plugins asked for: %w", err)
	}
	target := filepath.Join(dir, wishesFile)
	err = os.WriteFile(target+".new", content, 0o600)
	if err == nil {
		err = os.Rename(target+".new", target)
	}
	if err != nil {
		return fmt.Errorf("keep what plugins asked for: %w", err)
	}
	return nil
}
