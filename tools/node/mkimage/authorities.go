// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/pem"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// authorities is Mozilla's list of certificate authorities, in PEM. It is
// pinned by go.mod: the file of the machine that builds would make another
// image on each.
func authorities() string {
	var out strings.Builder
	for root := range bundle.Roots() {
		// A file cannot say that only older certificates of this one count.
		if root.Constraint != nil {
			continue
		}
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return out.String()
}
