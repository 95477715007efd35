// SPDX-License-Identifier: Apache-2.0

package ordinals_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/ordinals"
	"github.com/spawnery/spawnery-operator/internal/statespace"
)

type axis = statespace.Axis[ordinals.Input]

// forms are what the Server of one ordinal can be, as far as anything about its
// group depends on it.
var forms = map[string]func(*fleet.Server){
	"ready":             func(*fleet.Server) {},
	"readyOld":          old,
	"readyResized":      resized,
	"readyDeparting":    departs,
	"startingOld":       func(s *fleet.Server) { s.Phase, s.Spec = v1alpha1.ServerStarting, fleet.SpecOld },
	"starting":          in(v1alpha1.ServerStarting),
	"namelessOld":       func(s *fleet.Server) { nameless(s); old(s) },
	"nameless":          nameless,
	"failedOld":         func(s *fleet.Server) { failedLongAgo(s); old(s) },
	"failed":            failedLongAgo,
	"draining":          in(v1alpha1.ServerDraining),
	"deletedButNotSeen": func(s *fleet.Server) { s.Deletion = fleet.DeletionAsked },
}

// ordinalAxis is absent, one of the forms, or a Server and its duplicate.
func ordinalAxis(ordinal int) axis {
	a := axis{Name: strconv.Itoa(ordinal)}
	add := func(name string, servers ...fleet.Server) {
		a.Values = append(a.Values, statespace.Value[ordinals.Input]{Name: name, Set: func(in *ordinals.Input) {
			in.Servers = slices.Concat(in.Servers, servers)
		}})
	}
	add("absent")
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		one := server(ordinal, v1alpha1.ServerReady)
		forms[name](&one)
		add(name, one)
	}
	twin := server(ordinal, v1alpha1.ServerPending)
	twin.Name += "-by-hand"
	outdated := server(ordinal, v1alpha1.ServerReady)
	old(&outdated)
	add("twice", outdated, twin)
	return a
}

// groups are all groups of up to three ordinals.
func groups() statespace.Space[ordinals.Input] {
	replicas, gates := axis{Name: "replicas"}, axis{Name: "gate"}
	for n := range 4 {
		replicas.Values = append(replicas.Values, statespace.Value[ordinals.Input]{
			Name: strconv.Itoa(n), Set: func(in *ordinals.Input) { in.Replicas = n },
		})
	}
	for name, g := range map[string]fleet.Gate{"open": {}, "waiting": fleet.WaitUntil(now.Add(time.Second)), "givenUp": fleet.GivenUp()} {
		gates.Values = append(gates.Values, statespace.Value[ordinals.Input]{Name: name, Set: gate(g)})
	}
	return statespace.Space[ordinals.Input]{ordinalAxis(0), ordinalAxis(1), ordinalAxis(2), replicas, gates}
}

func leaves(s fleet.Server) bool { return s.Leaving() }

func named(in ordinals.Input, name string) fleet.Server {
	return in.Servers[slices.IndexFunc(in.Servers, func(s fleet.Server) bool { return s.Name == name })]
}

func carried(in ordinals.Input, ordinal int) []fleet.Server {
	return slices.DeleteFunc(slices.Clone(in.Servers), func(s fleet.Server) bool { return s.Ordinal != ordinal })
}

// excused is the rule that lets an ordinal that is not Ready be passed: it
// failed under the old spec, or waits for its name since then.
func excused(s fleet.Server) bool {
	waits := s.Phase == v1alpha1.ServerPending && s.Pod == fleet.PodNameHeld
	return s.Spec == fleet.SpecOld && (s.Phase == v1alpha1.ServerFailed || waits)
}

// othersServe is true when every other required ordinal is Ready or excused.
func othersServe(in ordinals.Input, but int) bool {
	for ordinal := range in.Replicas {
		there := carried(in, ordinal)
		serves := slices.ContainsFunc(there, func(s fleet.Server) bool { return s.Phase == v1alpha1.ServerReady })
		passed := len(there) > 0 && !slices.ContainsFunc(there, func(s fleet.Server) bool { return !excused(s) })
		if ordinal != but && !serves && !passed {
			return false
		}
	}
	return true
}

// invariants hold for every input; each returns what is wrong.
var invariants = map[string]func(ordinals.Input, ordinals.Plan) string{
	"nobody goes while somebody leaves": func(in ordinals.Input, plan ordinals.Plan) string {
		if plan.TakeDown != nil && slices.ContainsFunc(in.Servers, leaves) {
			return plan.TakeDown.Name
		}
		return ""
	},
	"a duplicate is never touched": func(in ordinals.Input, plan ordinals.Plan) string {
		if plan.TakeDown != nil && len(carried(in, named(in, plan.TakeDown.Name).Ordinal)) > 1 {
			return plan.TakeDown.Name
		}
		return ""
	},
	"the highest surplus goes, whoever waits": func(in ordinals.Input, plan ordinals.Plan) string {
		if slices.ContainsFunc(in.Servers, leaves) {
			return ""
		}
		for ordinal := 2; ordinal >= in.Replicas; ordinal-- {
			if there := carried(in, ordinal); len(there) == 1 {
				if plan.TakeDown == nil || plan.TakeDown.Name != there[0].Name {
					return there[0].Name + " does not go"
				}
				return ""
			}
		}
		if plan.TakeDown != nil && plan.TakeDown.Reason == v1alpha1.ReasonSurplusOrdinal {
			return plan.TakeDown.Name + " is none"
		}
		return ""
	},
	"a required one goes only while the others serve": func(in ordinals.Input, plan ordinals.Plan) string {
		if plan.TakeDown == nil || plan.TakeDown.Reason == v1alpha1.ReasonSurplusOrdinal {
			return ""
		}
		goes := named(in, plan.TakeDown.Name)
		fromNode := plan.TakeDown.Reason == v1alpha1.ReasonNodeDraining // which waits for less
		if in.Gate.State() != fleet.GateOpen || goes.Ordinal >= in.Replicas || (!fromNode && !othersServe(in, goes.Ordinal)) {
			return goes.Name
		}
		return ""
	},
	"the highest old one goes, then the highest that is to grow": func(in ordinals.Input, plan ordinals.Plan) string {
		if plan.TakeDown != nil && plan.TakeDown.Reason != v1alpha1.ReasonRollingOut && plan.TakeDown.Reason != v1alpha1.ReasonStorageResized {
			return ""
		}
		next, reason := "", ""
		for _, s := range in.Servers {
			alone := len(carried(in, s.Ordinal)) == 1 && s.Phase == v1alpha1.ServerReady && s.Ordinal < in.Replicas
			switch {
			case alone && s.Spec == fleet.SpecOld:
				next, reason = s.Name, v1alpha1.ReasonRollingOut
			case alone && s.Resize == fleet.ResizePending && reason != v1alpha1.ReasonRollingOut:
				next, reason = s.Name, v1alpha1.ReasonStorageResized
			}
		}
		allowed := next != "" && othersServe(in, -1) && in.Gate.State() == fleet.GateOpen && !slices.ContainsFunc(in.Servers, leaves)
		if goes := plan.TakeDown; goes == nil && allowed {
			return next + " does not go"
		} else if goes != nil && (goes.Name != next || goes.Reason != reason) {
			return fmt.Sprintf("%s goes for %s, and not %s for %s", goes.Name, goes.Reason, next, reason)
		}
		return ""
	},
	"what is carried is not created, and what is missing is": func(in ordinals.Input, plan ordinals.Plan) string {
		for ordinal := range in.Replicas {
			planned := slices.Contains(slices.Concat(plan.CreateOrdinals, plan.Waiting), ordinal)
			if planned == (len(carried(in, ordinal)) > 0) {
				return strconv.Itoa(ordinal)
			}
		}
		return ""
	},
	"each ordinal that does not serve is told of": func(in ordinals.Input, plan ordinals.Plan) string {
		missing := 0
		for ordinal := range in.Replicas {
			if !slices.ContainsFunc(carried(in, ordinal), func(s fleet.Server) bool { return s.Phase == v1alpha1.ServerReady }) {
				missing++
			}
		}
		if len(plan.Unready) != missing {
			return fmt.Sprintf("%d are not ready: %q", missing, plan.Unready)
		}
		return ""
	},
}

func TestEveryGroupOfUpToThreeOrdinals(t *testing.T) {
	for at, in := range groups().Points(group(0, nil)) {
		plan := ordinals.DecidePersistentSize(in)
		for name, broken := range invariants {
			if what := broken(in, plan); what != "" {
				t.Fatalf("%s: %s, at %s\n%+v", name, what, at, plan)
			}
		}
		in.Expected.Creates = plan.CreateOrdinals
		if plan.TakeDown != nil {
			in.Expected.Deletes = []string{plan.TakeDown.Name}
		}
		if again := ordinals.DecidePersistentSize(in); len(again.CreateOrdinals) > 0 || again.TakeDown != nil {
			t.Fatalf("after %+v came %+v, at %s", plan, again, at)
		}
	}
}

func TestNoGroupOfThreeDependsOnTheOrderOfItsServers(t *testing.T) {
	for at, in := range groups().Points(group(0, nil)) {
		want := ordinals.DecidePersistentSize(in)
		slices.Reverse(in.Servers)
		if got := ordinals.DecidePersistentSize(in); !cmp.Equal(want, got) {
			t.Fatalf("at %s the plan changed with the order:\n%s", at, cmp.Diff(want, got))
		}
	}
}
