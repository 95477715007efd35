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
		"translations have a ConfigMap": {
			base:   "proxygroup",
			accept: `spec: {config: {messages: {name: words}}}`,
			reject: `spec: {config: {messages: {fallbackLocale: de_de}}}`,
			want:   "spec.config.messages.name: Required value",
		},
		"a fallback locale is written as the game does": {
			base:   "proxygroup",
			accept: `spec: {config: {messages: {name: words, fallbackLocale: de_de}}}`,
			reject: `spec: {config: {messages: {name: words, fallbackLocale: de-DE}}}`,
			want:   `spec.config.messages.fallbackLocale: Invalid value: "de-DE": spec.config.messages.fallbackLocale in body should match '^[a-z]{2,8}(_[a-z0-9]{2,8})?$'`,
		},
		"rows of protocols have a ConfigMap": {
			base:   "proxygroup",
			accept: `spec: {config: {protocols: {name: rows}}}`,
			reject: `spec: {config: {protocols: {}}}`,
			want:   "spec.config.protocols.name: Required value",
		},
	}
}
