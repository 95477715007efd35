// SPDX-License-Identifier: Apache-2.0

package routing_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/internal/routing"
)

func forced(hosts ...string) []routing.ForcedHost {
	var list []routing.ForcedHost
	for _, host := range hosts {
		list = append(list, routing.ForcedHost{Host: host, Groups: []string{host}})
	}
	return list
}

func TestTheMostExactHostForcesItsGroups(t *testing.T) {
	all := forced("*.org", "*.example.org", "play.example.org", "*.play.example.org", "10.0.0.1")
	for host, want := range map[string]string{
		"play.example.org":        "play.example.org",
		"hub.example.org":         "*.example.org",
		"a.b.example.org":         "*.example.org",
		"x.play.example.org":      "*.play.example.org",
		"example.org":             "*.org",
		"fakeexample.org":         "*.org",
		"10.0.0.1":                "10.0.0.1",
		"org":                     "",
		".org":                    "*.org",
		"play.example.org.evil":   "",
		"":                        "",
		"*.example.org":           "*.example.org",
		"evil/play.example.org":   "*.example.org",
		"play.example.org:25565":  "",
		"xn--mnchen-3ya.example.": "",
	} {
		if got := strings.Join(routing.Forced(all, host), ","); got != want {
			t.Errorf("%q goes to %q, want %q", host, got, want)
		}
	}
	if got := routing.Forced(nil, "play.example.org"); got != nil {
		t.Errorf("nothing is forced, and got %v", got)
	}
}

func TestTheOrderOfForcedHostsDoesNotMatter(t *testing.T) {
	label := rapid.SampledFrom([]string{"a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(label, 1, 4).Draw(t, "host"), ".")
		var names []string
		for range rapid.IntRange(0, 6).Draw(t, "hosts") {
			host := strings.Join(rapid.SliceOfN(label, 1, 3).Draw(t, "forced"), ".")
			if rapid.Bool().Draw(t, "wild") {
				host = "*." + host
			}
			names = append(names, host)
		}
		slices.Sort(names)
		names = slices.Compact(names) // the API has each host once
		want := routing.Forced(forced(names...), name)
		shuffled := rapid.Permutation(names).Draw(t, "shuffled")
		if got := routing.Forced(forced(shuffled...), name); !slices.Equal(got, want) {
			t.Fatalf("%s goes to %v of %v, and to %v of %v", name, got, shuffled, want, names)
		}
	})
}
