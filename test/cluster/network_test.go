// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestNoTwoNetworksShareAnAddress(t *testing.T) {
	for a := range network(networks) {
		for b := range network(networks) {
			for _, r := range []netip.Prefix{b.machine(), b.pods(), b.services(), b.podsOf(maxNodes)} {
				if got, want := a.overlaps(r), a == b; got != want {
					t.Errorf("network %d overlaps %s of network %d: %t, want %t", a, r, b, got, want)
				}
			}
		}
	}
}

func TestAddressesAndNamesAreWhereTheyBelong(t *testing.T) {
	for n := range network(networks) {
		for number := 1; number <= maxNodes; number++ {
			if a := n.address(number); !n.machine().Contains(a) || a == n.machine().Addr() {
				t.Errorf("network %d: %s is no address for a node", n, a)
			}
			if p := n.podsOf(number); !n.pods().Overlaps(p) {
				t.Errorf("network %d: pods of node %d are outside of %s", n, number, n.pods())
			}
			// The kernel's limit for the name of a network device.
			if name := n.node(number); len(name) > 15 || !n.isNode(name) {
				t.Errorf("network %d: %q is no name for a node", n, name)
			}
		}
		for _, a := range []netip.Addr{n.dns(), n.apiService()} {
			if !n.services().Contains(a) {
				t.Errorf("network %d: %s is outside of %s", n, a, n.services())
			}
		}
	}
}

func TestWhoHasANetworkFollowsFromWhatIsThere(t *testing.T) {
	route := []netip.Prefix{netip.MustParsePrefix("10.96.0.0/16")}
	cases := map[string]struct {
		facts facts
		want  occupancy
	}{
		"nothing":                                  {facts{}, free},
		"a record without processes":               {facts{record: &record{}}, leftover},
		"a bridge without a record":                {facts{things: []string{"spawnery-0"}}, leftover},
		"processes":                                {facts{record: &record{}, processes: []int{7}}, living},
		"processes that nobody wrote down":         {facts{things: []string{"spawnery-0-n1"}, processes: []int{7}}, living},
		"a route of others":                        {facts{routes: route}, blocked},
		"a route of others across a killed bridge": {facts{routes: route, things: []string{"spawnery-0"}}, blocked},
		"a route of others across a living one":    {facts{routes: route, processes: []int{7}}, living},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.facts.occupancy(); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestANetworkIsChosenThatNobodyHas(t *testing.T) {
	alive := facts{network: 0, processes: []int{7}, record: &record{Folder: "/other"}}
	unknown := facts{network: 0, processes: []int{7}}
	routed := facts{network: 1, routes: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/16")}}
	killed := facts{network: 2, things: []string{"spawnery-2"}}
	empty := facts{network: 3}

	cases := map[string]struct {
		want      int
		seen      []facts
		network   network
		passed    int
		complaint string
	}{
		"the first free one":                   {anyNetwork, []facts{empty, killed}, 3, 0, ""},
		"past the living and the blocked":      {anyNetwork, []facts{alive, routed, empty}, 3, 2, ""},
		"a killed one is as good as a free":    {anyNetwork, []facts{alive, killed, empty}, 2, 1, ""},
		"the wanted one":                       {3, []facts{killed, empty}, 3, 0, ""},
		"a wanted one that lives":              {0, []facts{alive, empty}, 0, 0, "the living cluster of /other"},
		"a wanted one that lives unrecorded":   {0, []facts{unknown, empty}, 0, 0, "the living cluster of an unknown folder"},
		"a wanted one across a route":          {1, []facts{alive, routed, empty}, 0, 0, "a route to 172.30.0.0/16"},
		"none that could be had, with reasons": {anyNetwork, []facts{alive, routed}, 0, 0, "/other"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, passed, err := choose(c.want, c.seen)
			if c.complaint != "" {
				if err == nil || !strings.Contains(err.Error(), c.complaint) {
					t.Fatalf("got error %v, want one with %q", err, c.complaint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.network != c.network || len(passed) != c.passed {
				t.Errorf("got network %d past %q, want %d past %d", got.network, passed, c.network, c.passed)
			}
		})
	}
}

func TestRoutesOfTheMachineAreRead(t *testing.T) {
	const text = `[{"dst":"default","gateway":"192.0.2.1","dev":"eth0"},
		{"dst":"192.0.2.0/24","dev":"eth0"},
		{"dst":"198.51.100.7","dev":"eth0"},
		{"dst":"10.96.0.0/16","dev":"spawnery-0"}]`
	got, err := parseRoutes(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.7/32")}
	if !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAProcessIsKnownByMoreThanItsNumber(t *testing.T) {
	self, err := identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.alive() {
		t.Error("the test itself is not alive")
	}
	for name, other := range map[string]process{
		"a process of another start": {PID: self.PID, Boot: self.Boot, Started: self.Started + "0"},
		"a process of another boot":  {PID: self.PID, Boot: "00000000-0000-0000-0000-000000000000", Started: self.Started},
		"no process":                 {},
	} {
		if other.alive() {
			t.Errorf("%s is taken for the test itself", name)
		}
	}
}

func TestAProcessThatHasEndedAndIsNotCollectedIsDead(t *testing.T) {
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	err = await(t.Context(), patience*10, "the end of sleep", func() bool { return !p.alive() })
	if err != nil {
		t.Error(err)
	}
	_ = child.Wait()
}

func TestEveryEmbeddedFileCanBeFilledIn(t *testing.T) {
	n := node{Name: "node1", Number: 1, GraceSeconds: 8}
	found, err := files.ReadDir("config")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		content, err := fill("config/"+file.Name(), n.values())
		if err != nil || strings.Contains(string(content), "{{") {
			t.Errorf("%s: %v\n%s", file.Name(), err, content)
		}
	}
	content, err := manifests(3)
	if err != nil || !strings.Contains(string(content), "clusterIP: 10.99.0.10") {
		t.Errorf("the manifests lack the address of the DNS: %v", err)
	}
}
