// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
)

// plain is a version of three numbers: channels say what is a candidate, no
// suffix does.
var plain = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

// follows fails unless wanted is a version and higher than all that exist.
func follows(wanted string, existing []string) error {
	if !plain.MatchString(wanted) {
		return fmt.Errorf("%q is no version; want three numbers, like 1.2.3", wanted)
	}
	if len(existing) == 0 {
		return nil
	}
	last := slices.MaxFunc(existing, compare)
	if compare(wanted, last) <= 0 {
		return fmt.Errorf("%s is not higher than %s, which is released; choose a higher version", wanted, last)
	}
	return nil
}

// compare orders versions that are plain.
func compare(a, b string) int {
	order, err := version.MustParseSemantic(a).Compare(b)
	if err != nil {
		panic(err)
	}
	return order
}

// storedVersions are those that have a folder in the store, lowest first. There
// may be no store yet.
func storedVersions(store string) ([]string, error) {
	entries, err := os.ReadDir(store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var versions []string
	for _, entry := range entries {
		if entry.IsDir() && plain.MatchString(entry.Name()) {
			versions = append(versions, entry.Name())
		}
	}
	slices.SortFunc(versions, compare)
	return versions, nil
}
