// SPDX-License-Identifier: Apache-2.0

// Package store keeps what was released: for each version a bundle that is
// never edited, and beside it a record of what it was made from.
package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Record tells what a stored bundle was made from: VERSION.json beside the
// folder VERSION.
type Record struct {
	Version string `json:"version"`
	// Commit is what was released; its tree makes image and bundle again.
	Commit string `json:"commit"`
	// Go is the version of Go, as in "go1.26.8", that built the image.
	Go    string `json:"go"`
	Image Image  `json:"image"`
	// Bundle holds the SHA-256 of every file of the bundle, by its path in it.
	Bundle map[string]string `json:"bundle"`
}

// ReadRecord reads the record of a version. What it does not know is an error.
func ReadRecord(folder, version string) (*Record, error) {
	file, err := os.Open(filepath.Join(folder, version+".json"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	var record Record
	if err := decoder.Decode(&record); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
	}
	return &record, nil
}

// Add stores a version that is not stored yet: a copy of the bundle, and the
// record, whose sums it fills in.
func Add(folder string, record Record, bundle string) error {
	target := filepath.Join(folder, record.Version)
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is stored already, and stays as it is: %w", record.Version, errors.Join(fs.ErrExist, err))
	}
	if err := os.CopyFS(target, os.DirFS(bundle)); err != nil {
		return fmt.Errorf("copying the bundle: %w", err)
	}
	var err error
	if record.Bundle, err = Sums(target); err != nil {
		return err
	}
	content, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(target+".json", append(content, '\n'), 0o644)
}

// Sums is the SHA-256 of every file in a folder, by its path in it.
func Sums(folder string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sums[filepath.ToSlash(name)] = sum(content)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("summing up %s: %w", folder, err)
	}
	return sums, nil
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
