// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Whoever installs the packages takes them from where their npm is set to, and
// knows them by their checksums.
func TestTheLockFilePinsEveryPackageAndNamesNoRegistry(t *testing.T) {
	data, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, Resolved, Integrity string
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 100 {
		t.Errorf("only %d packages are locked", len(lock.Packages))
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Version == "" || !strings.HasPrefix(p.Integrity, "sha512-")) {
			t.Errorf("%s is not pinned: %+v", name, p)
		}
		if p.Resolved != "" {
			t.Errorf("%s names where it was taken from", name)
		}
	}
}
