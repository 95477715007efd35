// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func TestServersAreLetToTheManagerWhereItListens(t *testing.T) {
	tests := map[string]struct {
		address, endpoint string
		want              podspec.ManagerAddress
	}{
		"by default":                     {"", "", podspec.ManagerAddress{Namespace: "games-system", Ports: []int32{9443}}},
		"on a port of its own":           {":9500", "", podspec.ManagerAddress{Namespace: "games-system", Ports: []int32{9500}}},
		"by an address from outside":     {"", "manager.example.org:443", podspec.ManagerAddress{Ports: []int32{9443, 443}}},
		"by an address of the same port": {":9500", "[2001:db8::1]:9500", podspec.ManagerAddress{Ports: []int32{9500}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Options{Namespace: "games-system", ChannelAddress: test.address, ChannelEndpoint: test.endpoint}.address()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
