// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/controllers/servergroup"
	"github.com/spawnery/spawnery-operator/internal/proxy"
)

// rule is one alert of config/prometheus.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Annotations map[string]string `json:"annotations"`
}

func shippedRules(t *testing.T) []rule {
	t.Helper()
	content, err := os.ReadFile("../../config/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var shipped struct {
		Spec struct {
			Groups []struct {
				Rules []rule `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(content, &shipped); err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, group := range shipped.Spec.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("there are no rules")
	}
	return rules
}

var (
	selector = regexp.MustCompile(`(spawnery_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*[!=]`)
	grouping = regexp.MustCompile(`\b(?:by|on|without|ignoring) \(([^)]*)\)`)
)

// everyLabel has the labels of every metric: the manager's, and those of proxies
// with what the PodMonitor adds.
func everyLabel(t *testing.T) map[string][]string {
	t.Helper()
	labels := map[string][]string{}
	for _, metric := range servergroup.Metrics() {
		labels[metric.Name] = metric.Labels
	}
	every, err := proxy.EveryMetric()
	if err != nil {
		t.Fatal(err)
	}
	families, err := every.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		own := []string{"namespace", "pod", "group"}
		for _, label := range family.GetMetric()[0].GetLabel() {
			own = append(own, label.GetName())
		}
		labels[family.GetName()] = own
	}
	return labels
}

func TestAlertsAskForMetricsAndLabelsThatExist(t *testing.T) {
	labels := everyLabel(t)
	var all []string
	for _, own := range labels {
		all = append(all, own...)
	}
	for _, rule := range shippedRules(t) {
		found := selector.FindAllStringSubmatch(rule.Expr, -1)
		if len(found) == 0 {
			t.Errorf("%s asks for no metric", rule.Alert)
		}
		for _, asked := range found {
			if labels[asked[1]] == nil {
				t.Errorf("%s asks for %s, which nobody has", rule.Alert, asked[1])
			}
			for _, label := range matcher.FindAllStringSubmatch(asked[2], -1) {
				if !slices.Contains(labels[asked[1]], label[1]) {
					t.Errorf("%s asks for the label %s, which %s does not have", rule.Alert, label[1], asked[1])
				}
			}
		}
		for _, by := range grouping.FindAllStringSubmatch(rule.Expr, -1) {
			for label := range strings.SplitSeq(by[1], ",") {
				if !slices.Contains(all, strings.TrimSpace(label)) {
					t.Errorf("%s groups by %q, which no metric has", rule.Alert, label)
				}
			}
		}
	}
}

func TestEveryAlertHasItsPartOfTheRunbook(t *testing.T) {
	for _, rule := range shippedRules(t) {
		link, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "#")
		if anchor != strings.ToLower(rule.Alert) {
			t.Errorf("%s: its runbook is %q", rule.Alert, rule.Annotations["runbook_url"])
		}
		page, err := os.ReadFile("../../docs/how-to/" + path.Base(link))
		if err != nil {
			t.Fatal(err)
		}
		_, part, found := strings.Cut(string(page), "\n## "+rule.Alert+"\n")
		part, _, _ = strings.Cut(part, "\n## ")
		if !found || !strings.Contains(part, "```\nkubectl ") {
			t.Errorf("%s: no part of %s says what to type", rule.Alert, link)
		}
	}
}
