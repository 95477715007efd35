// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A status that is too long would be refused, and with it all that it says.
func TestARefusalFitsIntoTheStatusWithWhatToDo(t *testing.T) {
	tests := map[string]struct {
		words, want, advice string
	}{
		"a quota":        {"exceeded quota: small", "exceeded quota: small. What", "raise that quota."},
		"a class":        {"the storageclass that provisions the pvc must support resize", "must support resize. What", `StorageClass ""`},
		"a permission":   {`User "x" cannot patch resource "persistentvolumeclaims"`, "cannot patch", "permissions of its release"},
		"anything else":  {"no", "no. What", "asked again every half minute."},
		"a difference":   {"spec is immutable\n-\"a\"\n+\"b\"", "spec is immutable. What", "asked again"},
		"very many":      {strings.Repeat("words ", 1000), "words", "asked again every half minute."},
		"many of a size": {strings.Repeat("ä", 2000), "ä", "asked again every half minute."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "survival-0-data", errors.New(test.words))
			got := growthRefused(err, &corev1.PersistentVolumeClaim{})
			if len(got) > 1024 || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
			}
			for _, want := range []string{`"survival-0-data"`, test.want, test.advice} {
				if !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
		})
	}
}
