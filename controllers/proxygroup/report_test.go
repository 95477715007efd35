// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"testing"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

func TestAGroupThatDoesNotExistIsNamedWithItsPlace(t *testing.T) {
	groups := map[string]bool{"hub": true, "duels": true}
	for name, row := range map[string]struct {
		routing v1alpha1.Routing
		want    string
	}{
		"all exist": {
			v1alpha1.Routing{FallbackGroups: []string{"hub"}, ForcedHosts: []v1alpha1.ForcedHost{{Host: "a.example", Groups: []string{"duels"}}}}, "",
		},
		"some do not": {
			v1alpha1.Routing{FallbackGroups: []string{"hub", "limbo"}, ForcedHosts: []v1alpha1.ForcedHost{{Host: "a.example", Groups: []string{"duel"}}}},
			"; routing names ServerGroups that it does not have, and players are sent past them: limbo (fallbackGroups), " +
				"duel (forcedHosts a.example). Create them, or correct the names",
		},
		"many do not": {
			v1alpha1.Routing{FallbackGroups: []string{"a", "b", "c", "d", "e", "f", "g"}},
			"; routing names ServerGroups that it does not have, and players are sent past them: a (fallbackGroups), b (fallbackGroups), " +
				"c (fallbackGroups), d (fallbackGroups), e (fallbackGroups) and 2 more. Create them, or correct the names",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strayRoutes(&row.routing, groups); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}
