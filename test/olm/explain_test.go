// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds of OLM.
const (
	apiOfOLM = "operators.coreos.com/v1alpha1"
	csvKind  = "ClusterServiceVersion"
	planKind = "InstallPlan"
	subKind  = "Subscription"
)

// explain shows a failed test's reader what OLM says.
func (w *world) explain() {
	if !w.t.Failed() {
		return
	}
	// The test's own context is over.
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	for _, name := range []string{"olm-operator", "catalog-operator", "opm"} {
		w.explainLog(name)
	}
	w.explainKind(ctx, "batch/v1", "Job")
	w.explainKind(ctx, "v1", "Pod")
	for _, kind := range []string{"CatalogSource", planKind, csvKind, subKind} {
		w.explainKind(ctx, apiOfOLM, kind)
	}
	for _, broken := range w.node.brokenContainers() {
		w.t.Logf("a container ended: %s", broken)
	}
	w.t.Logf("logs of everything: %s", w.logs)
}

func (w *world) explainKind(ctx context.Context, apiVersion, kind string) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind + "List")
	if err := w.Client.List(ctx, list, client.InNamespace(operatorNamespace)); err != nil {
		w.t.Logf("%s: %v", kind, err)
	}
	for _, object := range list.Items {
		w.t.Logf("%s %s: %s", kind, object.GetName(), summary(object))
	}
}

// summary is what a status says, in a line for each condition.
func summary(object unstructured.Unstructured) string {
	var all strings.Builder
	for _, field := range []string{"phase", "reason", "message", "state", "currentCSV", "installedCSV"} {
		if value := text(object, "status."+field); value != "" {
			fmt.Fprintf(&all, "%s %s, ", field, value)
		}
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		// A ClusterServiceVersion keeps a history of phases here.
		if condition, ok := each.(map[string]any); ok && condition["type"] != nil {
			fmt.Fprintf(&all, "\n    %v is %v: %v %v", condition["type"], condition["status"], condition["reason"], condition["message"])
		}
	}
	steps, _, _ := unstructured.NestedSlice(object.Object, "status", "plan")
	for _, each := range steps {
		step := unstructured.Unstructured{Object: each.(map[string]any)}
		if state := text(step, "status"); state != "Created" && state != "Present" {
			fmt.Fprintf(&all, "\n    step %s %s is %s", text(step, "resource.kind"), text(step, "resource.name"), state)
		}
	}
	return all.String()
}

// explainLog shows what a program complained about last.
func (w *world) explainLog(name string) {
	const most = 10
	content, err := os.ReadFile(filepath.Join(w.logs, name+".log"))
	if err != nil {
		w.t.Logf("%s: %v", name, err)
		return
	}
	var complaints []string
	for line := range strings.Lines(string(content)) {
		// OLM is often late, and tries again.
		if complaint.MatchString(line) && !strings.Contains(line, "the object has been modified") {
			complaints = append(complaints, strings.TrimSpace(line))
		}
	}
	if len(complaints) > 0 {
		w.t.Logf("%s complained last:\n%s", name, strings.Join(complaints[max(0, len(complaints)-most):], "\n"))
	}
}

// complaint is a line of a log that tells of an error, in the formats of klog,
// logrus and zap, or a panic.
var complaint = regexp.MustCompile(`^E\d|level=(error|fatal)|"level":"error"|^panic`)
