// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"fmt"
	"slices"
	"strings"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

const (
	// namedProblems is how many problems with ConfigMaps a message names.
	namedProblems = 5
	// problemWords bounds the words of a proxy on each, in bytes.
	problemWords = 600
)

// reportConfig says whether the proxies use all that config names in ConfigMaps.
// They alone have read those; the last word stands while none of the spec is
// heard.
func reportConfig(set *conditions.Set, group *v1alpha1.ProxyGroup, seen observation) {
	named := namedConfigMaps(group.Spec.Config)
	if len(named) == 0 {
		set.True(v1alpha1.ConditionConfigApplied, v1alpha1.ReasonConfigApplied, "config names no ConfigMap")
		return
	}
	said, heard := seen.configProblems(group)
	var lines []string
	for _, problem := range said {
		if of, ok := named[problem.GetPart()]; ok {
			lines = append(lines, of.line(problem))
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	switch {
	case heard == 0:
		set.Keep(v1alpha1.ConditionConfigApplied)
	case len(lines) == 0:
		set.True(v1alpha1.ConditionConfigApplied, v1alpha1.ReasonConfigApplied, "the proxies use all that config names in ConfigMaps")
	default:
		message := strings.Join(lines[:min(len(lines), namedProblems)], ". ")
		if more := len(lines) - namedProblems; more > 0 {
			message += fmt.Sprintf(". And %d more", more)
		}
		set.False(v1alpha1.ConditionConfigApplied, v1alpha1.ReasonConfigMapInvalid, message)
	}
}

// configProblems are those of all proxies that have mounted what the spec names,
// and how many such proxies were heard lately.
func (o observation) configProblems(group *v1alpha1.ProxyGroup) ([]*agentv1alpha1.ConfigProblem, int) {
	if o.network == nil {
		return nil, 0
	}
	wanted := podspec.ProxyDigest(podspec.ResolveProxy(o.network, group))
	var problems []*agentv1alpha1.ConfigProblem
	heard := 0
	for _, pod := range o.pods {
		if pod.Annotations[podspec.AnnotationPodHash] != wanted || pod.said.Freshness != sessions.Fresh ||
			!slices.Contains(pod.said.Capabilities, agentv1alpha1.CapabilityConfig) {
			continue
		}
		heard++
		problems = append(problems, pod.said.Report.GetConfigProblems()...)
	}
	return problems, heard
}

// namedConfigMap is a field of config, and the ConfigMap that it names.
type namedConfigMap struct{ field, configMap string }

func namedConfigMaps(config v1alpha1.ProxyConfig) map[agentv1alpha1.ConfigPart]namedConfigMap {
	named := map[agentv1alpha1.ConfigPart]namedConfigMap{}
	for part, of := range map[agentv1alpha1.ConfigPart]namedConfigMap{
		agentv1alpha1.ConfigPart_CONFIG_PART_FAVICON:   {"config.favicon", config.Favicon.Name},
		agentv1alpha1.ConfigPart_CONFIG_PART_PROTOCOLS: {"config.protocols", config.Protocols.Name},
		agentv1alpha1.ConfigPart_CONFIG_PART_MESSAGES:  {"config.messages", config.Messages.Name},
	} {
		if of.configMap != "" {
			named[part] = of
		}
	}
	return named
}

// line is one problem, with all names an owner needs to mend it.
func (n namedConfigMap) line(problem *agentv1alpha1.ConfigProblem) string {
	where := "ConfigMap " + n.configMap
	if key := problem.GetKey(); key != "" {
		where += ", key " + key
	}
	line := fmt.Sprintf("%s (%s): %s", where, n.field, problem.GetReason())
	return strings.ToValidUTF8(line[:min(len(line), problemWords)], "")
}
