// SPDX-License-Identifier: Apache-2.0

package store

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

// Follows fails unless wanted is a version and higher than all that exist,
// which are sorted.
func Follows(wanted string, existing []string) error {
	if !plain.MatchString(wanted) {
		return fmt.Errorf("%q is no version; want three numbers, like 1.2.3", wanted)
	}
	if len(existing) == 0 {
		return nil
	}
	last := existing[len(existing)-1]
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

// Versions are those that are stored in a folder, lowest first. There may be no
// such folder yet.
func Versions(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
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
