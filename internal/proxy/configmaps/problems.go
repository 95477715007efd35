// SPDX-License-Identifier: Apache-2.0

package configmaps

import (
	"fmt"
	"strings"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// maxProblems and maxReason bound what is reported: it becomes a condition.
	maxProblems = 32
	maxReason   = 500
	// namedKeys is how many keys a reason lists.
	namedKeys = 8
)

// problem is what is wrong with a key; an empty key stands for the whole
// ConfigMap. What the owner wrote may be part of the reason.
func problem(part agentv1alpha1.ConfigPart, key, reason string) *agentv1alpha1.ConfigProblem {
	reason = strings.ToValidUTF8(strings.Join(strings.Fields(reason), " "), "?")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason-len("…")], "") + "…"
	}
	return &agentv1alpha1.ConfigProblem{Part: part, Key: key, Reason: reason}
}

// whole is what is wrong with a ConfigMap as such; nil: nothing.
func whole(part agentv1alpha1.ConfigPart, found mount) *agentv1alpha1.ConfigProblem {
	switch {
	case !found.there:
		return nil
	case found.broken != "":
		return problem(part, "", "it cannot be read: "+found.broken)
	case len(found.files) == 0:
		return problem(part, "", "it does not exist or has no keys; create it in the group's namespace")
	}
	return nil
}

// bounded keeps the first problems and says how many more there are.
func bounded(problems []*agentv1alpha1.ConfigProblem) []*agentv1alpha1.ConfigProblem {
	if len(problems) <= maxProblems {
		return problems
	}
	kept := problems[:maxProblems-1]
	rest := problems[maxProblems-1:]
	return append(kept, problem(rest[0].GetPart(), "", fmt.Sprintf("and %d more like these", len(rest))))
}

// listed names keys, the first of many.
func listed(keys []string) string {
	if more := len(keys) - namedKeys; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:namedKeys], ", "), more)
	}
	return strings.Join(keys, ", ")
}
