// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCount(t *testing.T) {
	rows := map[string]struct {
		report string
		want   tally
	}{
		"a test with subtests is not counted beside them": {
			report: `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"skip","Package":"p","Test":"TestA/two"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			want: tally{passed: 1, skipped: 1},
		},
		"a parent that fails is a failure of its own": {
			report: `
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			want: tally{passed: 1, failed: 1},
		},
		"a package that does not compile is a failure": {
			report: `
# p
p/a.go:1:1: expected 'package'
{"Action":"fail","Package":"p"}`,
			want: tally{failed: 1},
		},
		"tests of the same name in two packages are two": {
			report: `
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"q","Test":"TestA"}`,
			want: tally{passed: 2},
		},
		"a package without tests is nothing": {
			report: `{"Action":"skip","Package":"p"}`,
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			got, err := count(strings.NewReader(row.report))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(tally{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
