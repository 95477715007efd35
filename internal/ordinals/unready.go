// SPDX-License-Identifier: Apache-2.0

package ordinals

import (
	"fmt"
	"slices"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// howToRetry is what a person does about starts that have failed too often.
const howToRetry = "mend what it lacks, then edit the group or give its annotation " + v1alpha1.AnnotationRetry + " another value"

// unready tells of each required ordinal that does not serve, lowest first.
func unready(in *Input, held map[int]int) []string {
	var all []string
	for ordinal := range in.Replicas {
		at := slices.IndexFunc(in.Servers, func(s fleet.Server) bool { return s.Ordinal == ordinal })
		serves := slices.ContainsFunc(in.Servers, func(s fleet.Server) bool {
			return s.Ordinal == ordinal && s.Phase == v1alpha1.ServerReady
		})
		switch {
		case serves:
		case at >= 0:
			all = append(all, standing(in, &in.Servers[at]))
		default:
			all = append(all, absent(in, ordinal, held[ordinal] > 0))
		}
	}
	return all
}

// absent tells of an ordinal that no Server carries.
func absent(in *Input, ordinal int, ordered bool) string {
	switch state := in.Gate.State(); {
	case ordered:
		return fmt.Sprintf("ordinal %d is being made", ordinal)
	case state == fleet.GateWaiting:
		return fmt.Sprintf("ordinal %d waits since a start failed at %s, and is tried again at %s",
			ordinal, stamp(in.LastFailureAt), stamp(in.Gate.OpensAt()))
	case state == fleet.GateGivenUp:
		return fmt.Sprintf("ordinal %d waits since starts have failed too often, the last at %s; its claim is untouched: %s",
			ordinal, stamp(in.LastFailureAt), howToRetry)
	case in.Channel == fleet.ChannelDegraded:
		return fmt.Sprintf("ordinal %d waits until the agents are heard again", ordinal)
	case in.Unmakeable != "":
		return fmt.Sprintf("ordinal %d waits: %s", ordinal, in.Unmakeable)
	}
	return fmt.Sprintf("ordinal %d is being made", ordinal)
}

// standing tells of an ordinal whose Server does not serve.
func standing(in *Input, s *fleet.Server) string {
	switch {
	case s.Phase == v1alpha1.ServerFailed:
		return failed(in, s)
	case going(in, s):
		return s.Name + " is on its way out"
	case s.Pod == fleet.PodNameHeld:
		return fmt.Sprintf("%s, made at %s, waits for a pod that has its name; its Server's condition Accepted says which, and what to do",
			s.Name, stamp(s.CreatedAt))
	case s.Pod == fleet.PodWorldHeld:
		return fmt.Sprintf("%s, made at %s, waits for its claim; its Server's condition Accepted says why, and what to do",
			s.Name, stamp(s.CreatedAt))
	case s.StartedAt.IsZero():
		return s.Name + " is being made"
	}
	return fmt.Sprintf("%s has been starting since %s", s.Name, stamp(s.StartedAt))
}

func failed(in *Input, s *fleet.Server) string {
	kept := fmt.Sprintf("%s failed at %s and is kept until %s, or until you delete it",
		s.Name, stamp(s.FailedAt), stamp(s.FailedAt.Add(in.Retention)))
	if in.Gate.State() == fleet.GateGivenUp {
		return kept + "; then its ordinal waits, its claim untouched: " + howToRetry
	}
	return kept + "; then it is tried again with the same claim"
}
