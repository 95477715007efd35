// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// operators of node selectors in the words of label selectors.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

// selects is true when the node meets one of the selector's terms.
func selects(selector *corev1.NodeSelector, node *corev1.Node) bool {
	return slices.ContainsFunc(selector.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			return false
		}
		// A node has one field that is selected by: its name.
		fields := labels.Set{"metadata.name": node.Name}
		return meets(term.MatchExpressions, labels.Set(node.Labels)) && meets(term.MatchFields, fields)
	})
}

// meets is true when every requirement is met. One that cannot be read is met
// by nothing.
func meets(requirements []corev1.NodeSelectorRequirement, set labels.Set) bool {
	for _, required := range requirements {
		requirement, err := labels.NewRequirement(required.Key, operators[required.Operator], required.Values)
		if err != nil || !requirement.Matches(set) {
			return false
		}
	}
	return true
}
