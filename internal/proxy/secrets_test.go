// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretsAreReadFromTheirFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"one":                 {map[string]string{"secret": "new\n"}, []string{"new"}},
		"during a rotation":   {map[string]string{"secret": " new ", "previous": "old\n"}, []string{"new", "old"}},
		"an empty one before": {map[string]string{"secret": "new", "previous": "\n"}, []string{"new"}},
		"none":                {map[string]string{"previous": "old"}, nil},
		"an empty one":        {map[string]string{"secret": " \n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			secrets, err := ReadSecrets(filepath.Join(dir, "secret"))
			var got []string
			for _, s := range secrets {
				got = append(got, string(s))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}
