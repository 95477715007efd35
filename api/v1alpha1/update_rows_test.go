// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

func proxyUpdateRows() map[string]admissionRow {
	return map[string]admissionRow{
		"players are sent on or not": {
			base:   "proxygroup",
			accept: `spec: {update: {transfer: Enabled, transferAddress: "[2001:db8::1]:25570", withdrawSeconds: 0}}`,
			reject: `spec: {update: {transfer: Always}}`,
			want:   `spec.update.transfer: Unsupported value: "Always": supported values: "Enabled", "Disabled"`,
		},
		"players are sent to a port there is": {
			base:   "proxygroup",
			accept: `spec: {update: {transferAddress: "play.example.org:65535"}}`,
			reject: `spec: {update: {transferAddress: "play.example.org:65536"}}`,
			want:   `spec.update.transferAddress: Invalid value: "play.example.org:65536": spec.update.transferAddress in body should match '^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?)(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$'`,
		},
		"load balancers are given time to notice": {
			base:   "proxygroup",
			accept: `spec: {update: {withdrawSeconds: 300}}`,
			reject: `spec: {update: {withdrawSeconds: 301}}`,
			want:   "spec.update.withdrawSeconds: Invalid value: 301: spec.update.withdrawSeconds in body should be less than or equal to 300",
		},
		"load balancers do not notice beforehand": {
			base:   "proxygroup",
			accept: `spec: {update: {withdrawSeconds: 0}}`,
			reject: `spec: {update: {withdrawSeconds: -1}}`,
			want:   "spec.update.withdrawSeconds: Invalid value: -1: spec.update.withdrawSeconds in body should be greater than or equal to 0",
		},
		"an update says something": {
			base:   "proxygroup",
			accept: `spec: {update: {transfer: Disabled}}`,
			reject: `spec: {update: {}}`,
			want:   "spec.update: Invalid value: 0: spec.update in body should have at least 1 properties",
		},
	}
}
