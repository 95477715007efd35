// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/internal/permissions"
)

const aliceUUID = "069a79f4-44e9-4726-a5be-fca90e38aaf5"

var (
	alice   = permissions.Player{Name: "Alice", UUID: aliceUUID, Authentication: permissions.Authenticated}
	bob     = permissions.Player{Name: "Bob", UUID: "61699b2e-d327-4a01-9f1e-0ea8c3f06bc6", Authentication: permissions.Authenticated}
	offline = permissions.Player{Name: "Alice", UUID: "2b6c2b6c-0000-3000-8000-000000000000"}
)

// grants is one entry for Alice.
func grants(nodes ...string) []permissions.Entry {
	return []permissions.Entry{{Name: "staff", Players: []string{"Alice"}, Permissions: nodes}}
}

type question struct {
	player permissions.Player
	node   string
}

func check(t *testing.T, entries []permissions.Entry, want map[question]permissions.Answer) {
	t.Helper()
	rules := permissions.New(entries)
	for q, answer := range want {
		if got := rules.Check(q.player, q.node); got != answer {
			t.Errorf("%s asked for %q: answer %d, want %d", q.player.Name, q.node, got, answer)
		}
	}
}

func TestNodes(t *testing.T) {
	const read = "spawnery.cloud.read"
	tests := map[string]struct {
		nodes []string
		node  string
		want  permissions.Answer
	}{
		"nothing said":                          {nil, read, permissions.Unknown},
		"another node":                          {[]string{"spawnery.cloud.scale"}, read, permissions.Unknown},
		"the node itself":                       {[]string{read}, read, permissions.Granted},
		"the node denied":                       {[]string{"-" + read}, read, permissions.Denied},
		"a wildcard":                            {[]string{"spawnery.*"}, read, permissions.Granted},
		"a wildcard denied":                     {[]string{"-spawnery.*"}, read, permissions.Denied},
		"everything":                            {[]string{"*"}, read, permissions.Granted},
		"everything denied":                     {[]string{"-*"}, read, permissions.Denied},
		"a wildcard covers no shorter node":     {[]string{"spawnery.cloud.*"}, "spawnery.cloud", permissions.Unknown},
		"a node covers no longer one":           {[]string{"spawnery.cloud"}, read, permissions.Unknown},
		"the longer match grants":               {[]string{"-spawnery.*", "spawnery.cloud.*"}, read, permissions.Granted},
		"the longer match denies":               {[]string{"spawnery.*", "-spawnery.cloud.*"}, read, permissions.Denied},
		"the order of lines is nothing":         {[]string{"-spawnery.cloud.*", "spawnery.*"}, read, permissions.Denied},
		"the node outweighs every wildcard":     {[]string{"-spawnery.cloud.read*", read}, read, permissions.Granted},
		"a denial wins a tie of nodes":          {[]string{read, "-" + read}, read, permissions.Denied},
		"a denial wins a tie of wildcards":      {[]string{"-spawnery.*", "spawnery.*"}, read, permissions.Denied},
		"one exception to everything":           {[]string{"*", "-spawnery.cloud.scale"}, "spawnery.cloud.scale", permissions.Denied},
		"and only that one":                     {[]string{"*", "-spawnery.cloud.scale"}, read, permissions.Granted},
		"case does not matter in a grant":       {[]string{"Spawnery.Cloud.READ"}, read, permissions.Granted},
		"case does not matter in a question":    {[]string{read}, "SPAWNERY.cloud.Read", permissions.Granted},
		"a node for one group's full rounds":    {[]string{"spawnery.join.full.bedwars"}, "spawnery.join.full.bedwars", permissions.Granted},
		"is no node for another's":              {[]string{"spawnery.join.full.bedwars"}, "spawnery.join.full.lobby", permissions.Unknown},
		"a star inside is an ordinary letter":   {[]string{"spawnery.*.read"}, read, permissions.Unknown},
		"a second sign belongs to the node":     {[]string{"--odd"}, "-odd", permissions.Denied},
		"blanks around a node do not matter":    {[]string{" " + read + " "}, read, permissions.Granted},
		"an empty line says nothing of a node":  {[]string{""}, read, permissions.Unknown},
		"none of the commands' nodes has a sub": {[]string{"spawnery.cloud.scale"}, "spawnery.cloud.retire", permissions.Unknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, grants(tt.nodes...), map[question]permissions.Answer{
				{alice, tt.node}: tt.want,
				{bob, tt.node}:   permissions.Unknown,
			})
		})
	}
}

func TestWhoIsMeant(t *testing.T) {
	tests := map[string]struct {
		member string
		player permissions.Player
		want   permissions.Answer
	}{
		"a name":                     {"Alice", alice, permissions.Granted},
		"a name in another case":     {"aLICE", alice, permissions.Granted},
		"another name":               {"Alicia", alice, permissions.Unknown},
		"a UUID":                     {aliceUUID, alice, permissions.Granted},
		"a UUID in capitals":         {strings.ToUpper(aliceUUID), alice, permissions.Granted},
		"a UUID without its hyphens": {strings.ReplaceAll(aliceUUID, "-", ""), alice, permissions.Granted},
		"another UUID":               {bob.UUID, alice, permissions.Unknown},
		"nobody":                     {"", permissions.Player{Name: "Eve", Authentication: permissions.Authenticated}, permissions.Unknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			entries := []permissions.Entry{{Name: "e", Players: []string{tt.member}, Permissions: []string{"a.b"}}}
			check(t, entries, map[question]permissions.Answer{{tt.player, "a.b"}: tt.want})
		})
	}
}

func TestEverythingSaidOfAPlayerCounts(t *testing.T) {
	check(t, []permissions.Entry{
		{Name: "byName", Players: []string{"alice"}, Permissions: []string{"a.*", "c"}},
		{Name: "byUUID", Players: []string{aliceUUID}, Permissions: []string{"-a.b", "-c", "d"}},
		{Name: "others", Players: []string{"Bob"}, Permissions: []string{"-d"}},
	}, map[question]permissions.Answer{
		{alice, "a.a"}: permissions.Granted,
		{alice, "a.b"}: permissions.Denied,
		{alice, "c"}:   permissions.Denied,
		{alice, "d"}:   permissions.Granted,
		{bob, "d"}:     permissions.Denied,
	})
}

func TestInheritance(t *testing.T) {
	check(t, []permissions.Entry{
		{Name: "owner", Players: []string{"Alice"}, Permissions: []string{"-mod.kick"}, Inherits: []string{"mod", "gone"}},
		{Name: "mod", Players: []string{"Bob"}, Permissions: []string{"mod.*"}, Inherits: []string{"all"}},
		{Name: "all", Permissions: []string{"hello"}, Inherits: []string{"owner"}}, // a cycle
	}, map[question]permissions.Answer{
		{alice, "mod.ban"}:  permissions.Granted,
		{alice, "hello"}:    permissions.Granted,
		{alice, "mod.kick"}: permissions.Denied,
		{bob, "hello"}:      permissions.Granted,
		{bob, "mod.kick"}:   permissions.Denied, // by way of the cycle
		{bob, "other"}:      permissions.Unknown,
	})
}

func TestAnEntryThatInheritsFromItselfEnds(t *testing.T) {
	check(t, []permissions.Entry{{Name: "a", Players: []string{"Alice"}, Permissions: []string{"x"}, Inherits: []string{"a"}}},
		map[question]permissions.Answer{{alice, "x"}: permissions.Granted})
}

func TestNamesThatNobodyAuthenticated(t *testing.T) {
	const trusted, distrusted = true, false
	chain := func(child, parent bool, nodes ...string) []permissions.Entry {
		return []permissions.Entry{
			{Name: "child", TrustOfflineNames: child, Players: []string{"Alice"}, Permissions: []string{"own"}, Inherits: []string{"parent"}},
			{Name: "parent", TrustOfflineNames: parent, Permissions: append(nodes, "inherited")},
		}
	}
	tests := map[string]struct {
		entries        []permissions.Entry
		own, inherited permissions.Answer
	}{
		"hold no grant": {chain(distrusted, distrusted), permissions.Unknown, permissions.Unknown},
		"hold those of an entry that trusts names": {chain(trusted, distrusted), permissions.Granted, permissions.Unknown},
		"and what it inherits from another such":   {chain(trusted, trusted), permissions.Granted, permissions.Granted},
		"get no trust from what they inherit":      {chain(distrusted, trusted), permissions.Unknown, permissions.Unknown},
		"are denied all the same":                  {chain(distrusted, distrusted, "-own", "-inherited"), permissions.Denied, permissions.Denied},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, tt.entries, map[question]permissions.Answer{
				{offline, "own"}:       tt.own,
				{offline, "inherited"}: tt.inherited,
			})
		})
	}
}

func TestAWayThatTrustsIsFoundBesideOneThatDoesNot(t *testing.T) {
	check(t, []permissions.Entry{
		{Name: "start", TrustOfflineNames: true, Players: []string{"Alice"}, Inherits: []string{"detour", "goal"}},
		{Name: "detour", Inherits: []string{"goal"}},
		{Name: "goal", TrustOfflineNames: true, Permissions: []string{"x"}},
	}, map[question]permissions.Answer{{offline, "x"}: permissions.Granted})
}

func TestWarnings(t *testing.T) {
	rules := permissions.New([]permissions.Entry{
		{Name: "a", Inherits: []string{"b", "gone"}},
		{Name: "b"},
		{Name: "b", Players: []string{"Alice"}, Permissions: []string{"x"}},
	})
	want := []string{
		`permissions: "b" is there more than once; the first is inherited from`,
		`permissions: "a" inherits from "gone", which does not exist`,
	}
	if diff := cmp.Diff(want, rules.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if rules.Check(alice, "x") != permissions.Granted {
		t.Error("the members of a second entry of one name lost their grants")
	}
	if got := permissions.New(nil); len(got.Warnings()) != 0 || got.Check(alice, "x") != permissions.Unknown {
		t.Error("a network without permissions says something")
	}
}

func anyEntries(t *rapid.T) []permissions.Entry {
	names := []string{"a", "b", "c", "d"}
	nodes := rapid.SampledFrom([]string{"x", "x.y", "x.y.z", "x.*", "x.y.*", "*", "-x", "-x.y", "-x.*", "-x.y.z", "-*"})
	var entries []permissions.Entry
	for _, name := range names {
		entries = append(entries, permissions.Entry{
			Name: name, TrustOfflineNames: rapid.Bool().Draw(t, "trust"),
			Players:     rapid.SliceOfN(rapid.SampledFrom([]string{"Alice", "Bob", aliceUUID}), 0, 2).Draw(t, "players"),
			Permissions: rapid.SliceOfN(nodes, 0, 4).Draw(t, "nodes"),
			Inherits:    rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "inherits"),
		})
	}
	return entries
}

var asked = []string{"x", "x.y", "x.y.z", "x.q", "q"}

func TestNobodyGainsByNotBeingAuthenticated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := permissions.New(anyEntries(t))
		for _, node := range asked {
			stranger := alice
			stranger.Authentication = permissions.Unauthenticated
			offline, online := rules.Check(stranger, node), rules.Check(alice, node)
			if offline == permissions.Granted && online != permissions.Granted {
				t.Fatalf("%q: %d online, granted offline", node, online)
			}
		}
	})
}

func TestTheOrderOfEntriesAndLinesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := anyEntries(t)
		before := permissions.New(entries)
		shuffled := slices.Clone(entries)
		for i := range shuffled {
			shuffled[i].Permissions = rapid.Permutation(shuffled[i].Permissions).Draw(t, "nodes")
			shuffled[i].Inherits = rapid.Permutation(shuffled[i].Inherits).Draw(t, "inherits")
		}
		after := permissions.New(rapid.Permutation(shuffled).Draw(t, "entries"))
		for _, p := range []permissions.Player{alice, bob, offline} {
			for _, node := range asked {
				if before.Check(p, node) != after.Check(p, node) {
					t.Fatalf("%s, %q: %d became %d", p.Name, node, before.Check(p, node), after.Check(p, node))
				}
			}
		}
	})
}

func TestOneMoreDenialNeverGrants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := anyEntries(t)
		before := permissions.New(entries)
		i := rapid.IntRange(0, len(entries)-1).Draw(t, "entry")
		denied := rapid.SampledFrom([]string{"-x", "-x.*", "-x.y", "-*"}).Draw(t, "denied")
		entries[i].Permissions = append(slices.Clone(entries[i].Permissions), denied)
		after := permissions.New(entries)
		for _, p := range []permissions.Player{alice, bob, offline} {
			for _, node := range asked {
				if after.Check(p, node) == permissions.Granted && before.Check(p, node) != permissions.Granted {
					t.Fatalf("%s gained %q by %s", p.Name, node, denied)
				}
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	var entries []permissions.Entry
	for i := range 16 {
		e := permissions.Entry{Name: strconv.Itoa(i), Players: []string{"Alice"}, Inherits: []string{strconv.Itoa(i + 1)}}
		for j := range 16 {
			e.Permissions = append(e.Permissions, fmt.Sprintf("plugin%d.command%d.*", i, j))
		}
		entries = append(entries, e)
	}
	rules := permissions.New(entries)
	b.ReportAllocs()
	for b.Loop() {
		_ = rules.Check(alice, "spawnery.cloud.read")
	}
}
