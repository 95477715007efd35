// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/nodes"
)

func node(name string, edits ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	for _, edit := range edits {
		edit(&n)
	}
	return n
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: "yes", Effect: effect})
	}
}

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

// here is a pod on the node old.
func here(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Spec.NodeName = "old"
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func selecting(pool string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": pool} }
}

func tolerating(toleration corev1.Toleration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, toleration) }
}

// requiring makes each requirement a term of its own.
func requiring(all ...corev1.NodeSelectorRequirement) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(all...)}}
	}
}

func terms(all ...corev1.NodeSelectorRequirement) *corev1.NodeSelector {
	selector := &corev1.NodeSelector{}
	for _, one := range all {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms,
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{one}})
	}
	return selector
}

func require(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func TestWhichNodesAreAboutToLeave(t *testing.T) {
	tests := map[string]struct {
		node corev1.Node
		want bool
	}{
		"an ordinary one is not":                      {node("n"), false},
		"a cordoned one":                              {node("n", cordoned), true},
		"one the cluster autoscaler deletes":          {node("n", tainted("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule)), true},
		"one Karpenter disrupts":                      {node("n", tainted("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule)), true},
		"one with a taint that the owner named":       {node("n", tainted("example.test/maintenance", corev1.TaintEffectPreferNoSchedule)), true},
		"one with any other taint is not":             {node("n", tainted("example.test/gpu", corev1.TaintEffectNoSchedule)), false},
		"one that is only considered is not":          {node("n", tainted("DeletionCandidateOfClusterAutoscaler", corev1.TaintEffectPreferNoSchedule)), false},
		"one that is considered and cordoned":         {node("n", tainted("DeletionCandidateOfClusterAutoscaler", corev1.TaintEffectPreferNoSchedule), cordoned), true},
		"one that is not ready is not: it may return": {node("n", tainted("node.kubernetes.io/not-ready", corev1.TaintEffectNoExecute)), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			drainTaints := []string{"example.test/maintenance", "DeletionCandidateOfClusterAutoscaler"}
			if got := nodes.Look([]corev1.Node{tt.node}, drainTaints).Departing("n"); got != tt.want {
				t.Errorf("departing = %v, want %v", got, tt.want)
			}
		})
	}
	if nodes.Look(nil, nil).Departing("gone") {
		t.Error("a node that nobody knows departs")
	}
}

func TestAPodDepartsWhenAnotherNodeCouldTakeIt(t *testing.T) {
	gone := node("old", cordoned)
	in := func(zone string) corev1.NodeSelectorRequirement {
		return require("zone", corev1.NodeSelectorOpIn, zone)
	}
	tests := map[string]struct {
		others []corev1.Node
		pod    *corev1.Pod
		want   fleet.NodeOutlook
	}{
		"another node is there":                    {[]corev1.Node{node("new")}, here(), fleet.NodeDeparting},
		"no other node is there":                   {nil, here(), fleet.NodeHolding},
		"the others leave too":                     {[]corev1.Node{node("new", cordoned), node("newer", tainted("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule))}, here(), fleet.NodeHolding},
		"its own node does not leave":              {[]corev1.Node{node("new", cordoned)}, &corev1.Pod{Spec: corev1.PodSpec{NodeName: "stays"}}, fleet.NodeStaying},
		"it has no node yet":                       {[]corev1.Node{node("new")}, &corev1.Pod{}, fleet.NodeStaying},
		"the other is dead":                        {[]corev1.Node{node("new", tainted("node.kubernetes.io/unreachable", corev1.TaintEffectNoSchedule))}, here(), fleet.NodeStaying},
		"the other is for the control plane":       {[]corev1.Node{node("new", tainted("node-role.kubernetes.io/control-plane", corev1.TaintEffectNoSchedule))}, here(), fleet.NodeStaying},
		"the other would rather not":               {[]corev1.Node{node("new", tainted("example.test/x", corev1.TaintEffectPreferNoSchedule))}, here(), fleet.NodeDeparting},
		"it tolerates what the other has":          {[]corev1.Node{node("new", tainted("example.test/x", corev1.TaintEffectNoSchedule))}, here(tolerating(corev1.Toleration{Key: "example.test/x", Operator: corev1.TolerationOpExists})), fleet.NodeDeparting},
		"it tolerates one of two":                  {[]corev1.Node{node("new", tainted("example.test/x", corev1.TaintEffectNoSchedule), tainted("example.test/y", corev1.TaintEffectNoExecute))}, here(tolerating(corev1.Toleration{Key: "example.test/x", Operator: corev1.TolerationOpExists})), fleet.NodeStaying},
		"it tolerates another value":               {[]corev1.Node{node("new", tainted("example.test/x", corev1.TaintEffectNoSchedule))}, here(tolerating(corev1.Toleration{Key: "example.test/x", Value: "no"})), fleet.NodeStaying},
		"the other has its label":                  {[]corev1.Node{node("new", labelled("pool", "games"))}, here(selecting("games")), fleet.NodeDeparting},
		"the other has another value":              {[]corev1.Node{node("new", labelled("pool", "web"))}, here(selecting("games")), fleet.NodeStaying},
		"the other lacks an empty label":           {[]corev1.Node{node("new")}, here(selecting("")), fleet.NodeStaying},
		"it must be near, and the other is":        {[]corev1.Node{node("new", labelled("zone", "a"))}, here(requiring(in("a"))), fleet.NodeDeparting},
		"it must be near, and the other is not":    {[]corev1.Node{node("new", labelled("zone", "b"))}, here(requiring(in("a"))), fleet.NodeStaying},
		"one of two terms is enough":               {[]corev1.Node{node("new", labelled("zone", "b"))}, here(requiring(in("a"), in("b"))), fleet.NodeDeparting},
		"not in a zone":                            {[]corev1.Node{node("new", labelled("zone", "b"))}, here(requiring(require("zone", corev1.NodeSelectorOpNotIn, "b"))), fleet.NodeStaying},
		"more than a number":                       {[]corev1.Node{node("new", labelled("cores", "8"))}, here(requiring(require("cores", corev1.NodeSelectorOpGt, "4"))), fleet.NodeDeparting},
		"less than a number":                       {[]corev1.Node{node("new", labelled("cores", "8"))}, here(requiring(require("cores", corev1.NodeSelectorOpLt, "4"))), fleet.NodeStaying},
		"a label it must not have":                 {[]corev1.Node{node("new", labelled("spot", ""))}, here(requiring(require("spot", corev1.NodeSelectorOpDoesNotExist))), fleet.NodeStaying},
		"a selector without terms selects no node": {[]corev1.Node{node("new")}, here(requiring()), fleet.NodeStaying},
		"a term without a requirement neither": {[]corev1.Node{node("new")}, here(func(p *corev1.Pod) {
			requiring()(p)
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = make([]corev1.NodeSelectorTerm, 1)
		}), fleet.NodeStaying},
		"a node by its name": {[]corev1.Node{node("new")}, here(func(p *corev1.Pod) {
			requiring(in("a"))(p)
			term := &p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
			term.MatchFields, term.MatchExpressions = []corev1.NodeSelectorRequirement{require("metadata.name", corev1.NodeSelectorOpIn, "new")}, nil
		}), fleet.NodeDeparting},
		"only one of many could": {[]corev1.Node{node("a", cordoned), node("b", labelled("pool", "web")), node("c", labelled("pool", "games"))}, here(selecting("games")), fleet.NodeDeparting},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := nodes.Look(append(tt.others, gone), nil).Outlook(tt.pod); got != tt.want {
				t.Errorf("outlook = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAPodGoesWhereItsVolumesAre(t *testing.T) {
	view := nodes.Look([]corev1.Node{node("old", cordoned), node("new", labelled("zone", "b"))}, nil)
	bound := func(zone string) *corev1.VolumeNodeAffinity {
		return &corev1.VolumeNodeAffinity{Required: terms(require("zone", corev1.NodeSelectorOpIn, zone))}
	}
	tests := map[string]struct {
		volumes []*corev1.VolumeNodeAffinity
		want    fleet.NodeOutlook
	}{
		"one that is anywhere":     {[]*corev1.VolumeNodeAffinity{nil}, fleet.NodeDeparting},
		"one in the other's zone":  {[]*corev1.VolumeNodeAffinity{bound("b")}, fleet.NodeDeparting},
		"one in another zone":      {[]*corev1.VolumeNodeAffinity{bound("a")}, fleet.NodeHolding},
		"two of which one is away": {[]*corev1.VolumeNodeAffinity{bound("b"), bound("a")}, fleet.NodeHolding},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := view.Outlook(here(), tt.volumes...); got != tt.want {
				t.Errorf("outlook = %v, want %v", got, tt.want)
			}
		})
	}
}
