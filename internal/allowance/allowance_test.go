// SPDX-License-Identifier: Apache-2.0

package allowance

import (
	"strings"
	"testing"
	"time"
)

var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestWhichBoostsAreGranted(t *testing.T) {
	hub := Group{Name: "hub", Min: 2, Max: 8, Boosted: 3}
	with := func(change func(*Group)) Group {
		group := hub
		change(&group)
		return group
	}
	for name, test := range map[string]struct {
		boost Boost
		group Group
		until time.Duration
		cause Cause
		says  string
	}{
		"one for an hour":    {Boost{Replicas: 1}, hub, time.Hour, 0, ""},
		"all that there is":  {Boost{Replicas: 3, For: 2 * time.Hour}, hub, 2 * time.Hour, 0, ""},
		"seven days":         {Boost{Replicas: 1, For: 168 * time.Hour}, hub, 168 * time.Hour, 0, ""},
		"one too many":       {Boost{Replicas: 4}, hub, 0, Beyond, "4 more than minReplicas 2 and live boosts of 3 are 9 servers, and maxReplicas of hub is 8"},
		"none":               {Boost{}, hub, 0, Malformed, "replicas is 0 and has to be at least 1"},
		"fewer":              {Boost{Replicas: -1}, hub, 0, Malformed, "replicas is -1"},
		"longer than a week": {Boost{Replicas: 1, For: 169 * time.Hour}, hub, 0, Malformed, "at most seven days, and 169h0m0s was asked for"},
		"no time":            {Boost{Replicas: 1, For: -time.Hour}, hub, 0, Malformed, "at least a second"},
		"a persistent group": {Boost{Replicas: 1}, Group{Name: "survival", Size: Fixed}, 0, Unsuited, "survival is persistent"},
		"a server's fourth": {
			Boost{Server: "hub-ab2c", Replicas: 1}, with(func(g *Group) { g.MadeByThis = BoostsPerServer }), 0, TooMany, "hub-ab2c has made 3 boosts",
		},
		"a server's third": {Boost{Replicas: 1}, with(func(g *Group) { g.MadeByThis = BoostsPerServer - 1 }), time.Hour, 0, ""},
		"a group's seventeenth": {
			Boost{Replicas: 1}, with(func(g *Group) { g.MadeByServers = BoostsPerGroup }), 0, TooMany, "the servers of hub have made 16 boosts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			until, denial := test.boost.Admit(test.group, now)
			if denial == nil {
				denial = &Denial{}
			}
			if denial.Cause != test.cause || !strings.Contains(denial.Why, test.says) || (test.says == "") != (denial.Why == "") {
				t.Errorf("denied by %d: %q, want %d: %q", denial.Cause, denial.Why, test.cause, test.says)
			}
			if test.cause == 0 && !until.Equal(now.Add(test.until)) {
				t.Errorf("it ends at %s, want in %s", until, test.until)
			}
		})
	}
}

func TestWhichPinsAreGranted(t *testing.T) {
	hub := Group{Name: "hub", Min: 2, Max: 8, Boosted: 3}
	for name, test := range map[string]struct {
		pin   Pin
		group Group
		until time.Duration
		cause Cause
		says  string
	}{
		"for an hour":        {Pin{Replicas: 1}, hub, time.Hour, 0, ""},
		"at none":            {Pin{For: time.Minute}, hub, time.Minute, 0, ""},
		"at the most":        {Pin{Replicas: 8, For: 168 * time.Hour}, hub, 168 * time.Hour, 0, ""},
		"beyond the most":    {Pin{Replicas: 9}, hub, 0, Beyond, "9 servers are more than maxReplicas of hub, which is 8"},
		"below none":         {Pin{Replicas: -1}, hub, 0, Malformed, "0 servers or more, and -1 was asked for"},
		"longer than a week": {Pin{For: 168*time.Hour + time.Second}, hub, 0, Malformed, "at most seven days"},
		"no time":            {Pin{For: -time.Second}, hub, 0, Malformed, "at least a second"},
		"a persistent group": {Pin{}, Group{Name: "survival", Size: Fixed}, 0, Unsuited, "survival is persistent"},
		"too many": {
			Pin{}, Group{Name: "hub", MadeByStaff: BoostsByStaff}, 0, TooMany, "32 boosts of hub still last that were made in the game, the most there may be; /cloud stop hub ends them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			until, denial := test.pin.Admit(test.group, now)
			if denial == nil {
				denial = &Denial{}
			}
			if denial.Cause != test.cause || !strings.Contains(denial.Why, test.says) || (test.says == "") != (denial.Why == "") {
				t.Errorf("denied by %d: %q, want %d: %q", denial.Cause, denial.Why, test.cause, test.says)
			}
			if test.cause == 0 && !until.Equal(now.Add(test.until)) {
				t.Errorf("it ends at %s, want in %s", until, test.until)
			}
		})
	}
	if _, denial := (Boost{Replicas: 1}).Admit(Group{Name: "hub", Max: 8, MadeByStaff: BoostsByStaff}, now); denial == nil || denial.Cause != TooMany {
		t.Errorf("one more by staff that adds servers: %v", denial)
	}
	if denial := (Server{Name: "survival-0", Group: "survival", Size: Fixed}).RetireByStaff(); denial == nil || denial.Cause != Unsuited {
		t.Errorf("a persistent server retires: %v", denial)
	}
}

func TestWhichServersRetire(t *testing.T) {
	for name, test := range map[string]struct {
		server Server
		cause  Cause
		says   string
	}{
		"ready for a minute":    {Server{Phase: Serving, ReadySince: now.Add(-time.Minute)}, 0, ""},
		"ready for less":        {Server{Name: "hub-ab2c", Phase: Serving, ReadySince: now.Add(-12 * time.Second)}, TooSoon, "hub-ab2c has been ready for 12s only"},
		"not ready yet":         {Server{Name: "hub-ab2c"}, TooSoon, "hub-ab2c is not ready yet"},
		"on its way out":        {Server{Phase: Leaving}, 0, ""},
		"of a persistent group": {Server{Name: "survival-0", Group: "survival", Size: Fixed, Phase: Serving}, Unsuited, "survival-0 is of the persistent group survival"},
	} {
		t.Run(name, func(t *testing.T) {
			denial := test.server.Retire(now)
			if denial == nil {
				denial = &Denial{}
			}
			if denial.Cause != test.cause || !strings.Contains(denial.Why, test.says) {
				t.Errorf("denied by %d: %q, want %d: %q", denial.Cause, denial.Why, test.cause, test.says)
			}
		})
	}
}
