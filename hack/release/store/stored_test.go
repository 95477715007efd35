// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const stored = "../../../bundles"

// records are those of every stored version.
func records(t *testing.T) []*Record {
	t.Helper()
	versions, err := Versions(stored)
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions are stored: %v", len(versions), err)
	}
	var records []*Record
	for _, version := range versions {
		record, err := ReadRecord(stored, version)
		if err != nil {
			t.Fatal(err)
		}
		if record.Version != version {
			t.Errorf("the record of %s is of %q", version, record.Version)
		}
		records = append(records, record)
	}
	return records
}

func TestStoredBundlesAreNeverEdited(t *testing.T) {
	for _, record := range records(t) {
		sums, err := Sums(filepath.Join(stored, record.Version))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(record.Bundle, sums); diff != "" {
			t.Errorf("a released bundle stays as it is; what is wrong with %s is mended in a higher version (-released +found):\n%s", record.Version, diff)
		}
	}
}

func TestStoreHoldsBundlesAndRecordsOnly(t *testing.T) {
	var want []string
	for _, record := range records(t) {
		want = append(want, record.Version, record.Version+".json")
	}
	entries, err := os.ReadDir(stored)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("bundles (-want +got):\n%s", diff)
	}
}

func TestRecordsTellWhatBundlesAreMadeOf(t *testing.T) {
	for _, record := range records(t) {
		if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(record.Commit) {
			t.Errorf("%s: commit %q", record.Version, record.Commit)
		}
		if !regexp.MustCompile(`^go1\.[0-9.]+$`).MatchString(record.Go) {
			t.Errorf("%s: Go %q", record.Version, record.Go)
		}
		for _, program := range Programs {
			if record.Image.Files[program].Mode != "0755" {
				t.Errorf("%s: the program %s is %+v", record.Version, program, record.Image.Files[program])
			}
		}
	}
}

func TestStoredBundlesNameTheRecordedImage(t *testing.T) {
	named := regexp.MustCompile(`ghcr\.io/spawnery/spawnery-operator[^\s"]*`)
	for _, record := range records(t) {
		files, err := filepath.Glob(filepath.Join(stored, record.Version, "manifests/*.clusterserviceversion.yaml"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s has %d CSVs: %v", record.Version, len(files), err)
		}
		content, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, image := range named.FindAllString(string(content), -1) {
			got[image] = true
		}
		want := []string{"ghcr.io/spawnery/spawnery-operator@" + record.Image.Digest}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("images of %s (-recorded +named):\n%s", record.Version, diff)
		}
	}
}
