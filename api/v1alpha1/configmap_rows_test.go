// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

func proxyConfigMapRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a picture has a ConfigMap": {
			base:   "proxygroup",
			accept: `spec: {config: {favicon: {name: pictures, key: icon.png}}}`,
			reject: `spec: {config: {favicon: {key: icon.png}}}`,
			want:   "spec.config.favicon.name: Required value",
		},
		"a picture has a key": {
			base:   "proxygroup",
			accept: `spec: {config: {favicon: {name: pictures, key: Icon_64.png}}}`,
			reject: `spec: {config: {favicon: {name: pictures}}}`,
			want:   "spec.config.favicon.key: Required value",
		},
		"the key of a picture is one of a ConfigMap": {
			base:   "proxygroup",
			accept: `spec: {config: {favicon: {name: pictures, key: icon.png}}}`,
			reject: `spec: {config: {favicon: {name: pictures, key: ../icon.png}}}`,
			want:   `spec.config.favicon.key: Invalid value: "../icon.png": spec.config.favicon.key in body should match '^[-._a-zA-Z0-9]+$'`,
		},
		"rows of protocols have a ConfigMap": {
			base:   "proxygroup",
			accept: `spec: {config: {protocols: {name: rows}}}`,
			reject: `spec: {config: {protocols: {}}}`,
			want:   "spec.config.protocols.name: Required value",
		},
	}
}
