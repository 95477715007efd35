// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// previousSecret is the key of the secret before, while one is being replaced.
const previousSecret = "previous"

// ReadSecrets reads the forwarding secret from its file and, from the file
// "previous" beside it, the one before. Space around a secret is no part of it.
func ReadSecrets(file string) ([][]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the forwarding secret: %w", err)
	}
	current := bytes.TrimSpace(content)
	if len(current) == 0 {
		return nil, fmt.Errorf("reading the forwarding secret: %s is empty", file)
	}
	content, err = os.ReadFile(filepath.Join(filepath.Dir(file), previousSecret))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the forwarding secret before: %w", err)
	}
	secrets := [][]byte{current}
	if previous := bytes.TrimSpace(content); len(previous) > 0 {
		secrets = append(secrets, previous)
	}
	return secrets, nil
}
