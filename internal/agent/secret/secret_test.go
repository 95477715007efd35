// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/agent/secret"
)

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestThePodKeepsItsManagementSecret(t *testing.T) {
	dir := t.TempDir()
	if _, err := secret.ReadManagement(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadManagement() = %v before it was made", err)
	}
	made, err := secret.MakeManagement(dir)
	if err != nil || !regexp.MustCompile(`^[A-Za-z0-9]{40}$`).MatchString(made) {
		t.Fatalf("MakeManagement() = %q, %v", made, err)
	}
	again, err := secret.MakeManagement(dir)
	if err != nil || again != made {
		t.Errorf("MakeManagement() again = %q, %v, want %q", again, err, made)
	}
	if read, err := secret.ReadManagement(dir); err != nil || read != made {
		t.Errorf("ReadManagement() = %q, %v, want %q", read, err, made)
	}
	other, err := secret.MakeManagement(t.TempDir())
	if err != nil || other == made {
		t.Errorf("another pod has %q (%v), the same as this one", other, err)
	}
}

func TestAManagementSecretTheGameWouldDieOfIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "management-secret", strings.Repeat("a", 39)+"\n")
	if got, err := secret.MakeManagement(dir); err == nil {
		t.Errorf("MakeManagement() = %q", got)
	}
}

func TestForwardingSecrets(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  []string
		error string
	}{
		"one":                      {map[string]string{"secret": "new"}, []string{"new"}, ""},
		"with a line end":          {map[string]string{"secret": "new\r\n"}, []string{"new"}, ""},
		"two while it is replaced": {map[string]string{"secret": "new", "previous": "old\n"}, []string{"new", "old"}, ""},
		"an empty one before":      {map[string]string{"secret": "new", "previous": "\n"}, []string{"new"}, ""},
		"none":                     {nil, nil, "reading the forwarding secret"},
		"an empty one":             {map[string]string{"secret": " \n"}, nil, `key "secret" of the Secret`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range test.files {
				write(t, dir, file, content)
			}
			read, err := secret.ReadForwarding(dir)
			var got []string
			for _, s := range read {
				got = append(got, string(s))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
			if test.error == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("error %v, want %q", err, test.error)
			}
		})
	}
}
