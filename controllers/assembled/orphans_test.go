// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

var updateOrphans = flag.Bool("update-orphans", false, "write what is printed into "+orphansPage)

const (
	orphansPage = "docs/how-to/find-and-remove-orphans.md"
	alertsPage  = "docs/how-to/answer-alerts.md"
	prompt      = "```\n$ "
	listOrphans = "kubectl spawnery orphans -n minecraft"
)

// TestTheWayToFindAndRemoveOrphansWorksAsWritten types every command of the
// page, in its order, and compares what is printed with what the page shows.
// Played are pods, and the provisioner that gives claims their volumes; who
// uses a claim is watched by Kubernetes' own controller.
func TestTheWayToFindAndRemoveOrphansWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.hasPlugin()
	p.StartControllers(t, "persistentvolumeclaim-protection-controller")
	for _, sample := range []string{"network.yaml", "servergroup_survival.yaml"} {
		p.types("kubectl apply -f " + testenv.Path(t, "config/samples/"+sample))
	}
	p.Eventually(p.survivors).Should(gomega.Equal([]string{"survival-0", "survival-1"}))
	p.provisions("survival-0-data", "survival-1-data")
	p.awaitsUse("survival-1-data", "False")

	page := readConsole(t, orphansPage)
	for at, follows := range []func(){
		func() { // fewer replicas
			p.Eventually(p.survivors, 2*patience).Should(gomega.Equal([]string{"survival-0"}))
			p.awaitsUse("survival-1-data", "True")
			p.Eventually(p.orphanSeries).Should(gomega.Equal(`{group="survival",namespace="minecraft"} 1`))
		},
		func() { p.listsForMachines() },
		func() { // replicas again
			p.Eventually(p.survivors, 2*patience).Should(gomega.Equal([]string{"survival-0", "survival-1"}))
			p.Eventually(p.orphanSeries).Should(gomega.Equal(`{group="survival",namespace="minecraft"} 0`))
		},
		func() {
			p.types(page.lines[0])
			p.Eventually(p.survivors, 2*patience).Should(gomega.Equal([]string{"survival-0"}))
			p.awaitsUse("survival-1-data", "True")
		},
		func() {
			p.Expect(page.printed[4]).To(gomega.ContainSubstring(page.lines[5]+"\n"), "what is printed is what is typed next")
		},
		func() { // the world is gone
			p.Eventually(p.orphanSeries).Should(gomega.Equal(`{group="survival",namespace="minecraft"} 0`))
		},
		func() {},
	} {
		page.printed[at] = p.types(page.lines[at])
		follows()
	}
	p.Expect(page.lines).To(gomega.HaveLen(7), "every command is typed")
	page.compare(t)

	_, complaint := p.tries(listOrphans + " --as anna")
	p.Expect(complaint).To(gomega.ContainSubstring("error: you may not look at everything it takes: whoever has the ClusterRole view in namespace minecraft may"))
	_, complaint = p.tries("kubectl spawnery orphans -n nowhere")
	p.Expect(complaint).To(gomega.ContainSubstring("error: there is no namespace nowhere\n"))
	p.Expect(p.types("kubectl spawnery orphans -A")).To(gomega.Equal("no orphans in any namespace\n"))
}

// hasPlugin builds the plugin and puts it where kubectl looks.
func (p *person) hasPlugin() {
	p.t.Helper()
	build := exec.CommandContext(p.t.Context(), "go", "build", "-o", p.folder, "./cmd/kubectl-spawnery")
	build.Dir = testenv.Path(p.t)
	out, err := build.CombinedOutput()
	p.Expect(err).NotTo(gomega.HaveOccurred(), string(out))
	p.env = append(p.env, "PATH="+p.folder+string(os.PathListSeparator)+testenv.Assets(p.t)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func (p *person) survivors() []string { return p.serversOf("survival") }

// provisions binds claims, each to as much as it asks for.
func (p *person) provisions(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.Eventually(func() error {
			var claim corev1.PersistentVolumeClaim
			if err := p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, &claim); err != nil {
				return err
			}
			claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
			return p.Client.Status().Update(p.t.Context(), &claim)
		}).Should(gomega.Succeed())
	}
}

// awaitsUse awaits what Kubernetes says of a claim by the condition Unused.
func (p *person) awaitsUse(name string, unused corev1.ConditionStatus) {
	p.t.Helper()
	p.Eventually(func(g gomega.Gomega) {
		var claim corev1.PersistentVolumeClaim
		g.Expect(p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, &claim)).To(gomega.Succeed())
		g.Expect(claim.Status.Conditions).To(gomega.ContainElement(gomega.SatisfyAll(
			gomega.HaveField("Type", corev1.PersistentVolumeClaimUnused), gomega.HaveField("Status", unused))))
	}, 2*patience).Should(gomega.Succeed())
}

// orphanSeries are the labels and values of the manager's count of orphans.
func (p *person) orphanSeries() string { return p.series("spawnery_orphaned_claims") }

// series are the labels and values of one of the manager's metrics.
func (p *person) series(name string) string {
	families, err := p.metrics.Gather()
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			lines = append(lines, fmt.Sprintf("{%s} %.0f", strings.Join(labels, ","), metric.GetGauge().GetValue()))
		}
	}
	return strings.Join(lines, "\n")
}

// listsForMachines reads the one orphan there is in every other format.
func (p *person) listsForMachines() {
	p.t.Helper()
	var listing struct {
		Orphans []struct{ Claim, Group, Capacity string }
	}
	p.Expect(json.Unmarshal([]byte(p.types(listOrphans+" -o json")), &listing)).To(gomega.Succeed())
	p.Expect(listing.Orphans).To(gomega.HaveLen(1))
	p.Expect(listing.Orphans[0]).To(gomega.HaveField("Claim", "survival-1-data"))
	p.Expect(listing.Orphans[0]).To(gomega.HaveField("Capacity", "10Gi"))
	p.Expect(p.types(listOrphans + " -o yaml")).To(gomega.ContainSubstring("- capacity: 10Gi\n  claim: survival-1-data\n"))
	p.Expect(p.types(listOrphans + " -o name")).To(gomega.Equal("persistentvolumeclaim/survival-1-data\n"))
}

// console is a page with commands after a prompt, and what they print.
type console struct {
	page                  string
	parts                 []string
	lines, shown, printed []string
}

func readConsole(t *testing.T, page string) *console {
	t.Helper()
	content, err := os.ReadFile(testenv.Path(t, page))
	if err != nil {
		t.Fatal(err)
	}
	c := &console{page: page, parts: strings.Split(string(content), prompt)}
	for _, part := range c.parts[1:] {
		block, _, _ := strings.Cut(part, "```\n")
		line, shown, _ := strings.Cut(block, "\n")
		c.lines, c.shown = append(c.lines, line), append(c.shown, shown)
	}
	c.printed = make([]string, len(c.lines))
	return c
}

var (
	ages   = regexp.MustCompile(`\b(\d+[dhms])+\b`)
	spaces = regexp.MustCompile(` +`)
)

// timeless is a text without what is another at each run.
func timeless(text string) string {
	return spaces.ReplaceAllString(ages.ReplaceAllString(text, "AGE"), " ")
}

// compare compares what was printed with what the page shows, or writes it
// there.
func (c *console) compare(t *testing.T) {
	t.Helper()
	for i := range c.lines {
		if timeless(c.shown[i]) != timeless(c.printed[i]) && !*updateOrphans {
			t.Errorf("%s: %s prints\n%s\nand the page shows\n%s", c.page, c.lines[i], c.printed[i], c.shown[i])
		}
		_, after, _ := strings.Cut(c.parts[i+1], "```\n")
		c.parts[i+1] = c.lines[i] + "\n" + c.printed[i] + "```\n" + after
	}
	if *updateOrphans {
		if err := os.WriteFile(testenv.Path(t, c.page), []byte(strings.Join(c.parts, prompt)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheRunbookOfTheAlertsWorksAsWritten lets the second world of a group
// fail, and types what the runbook says, in its order.
func TestTheRunbookOfTheAlertsWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.hasPlugin()
	for _, sample := range []string{"network.yaml", "servergroup_survival.yaml"} {
		p.types("kubectl apply -f " + testenv.Path(t, "config/samples/"+sample))
	}
	p.Eventually(func() *int32 { return p.group("survival").Status.ReadyReplicas }).Should(gomega.HaveValue(gomega.BeEquivalentTo(2)))
	p.Expect(p.series("spawnery_servergroup_consecutive_failures")).To(gomega.Equal(`{group="survival",namespace="minecraft",type="Persistent"} 0`))
	p.breaks("survival-1")
	p.Eventually(func() string { return p.series("spawnery_servergroup_consecutive_failures") }).
		Should(gomega.Equal(`{group="survival",namespace="minecraft",type="Persistent"} 1`), "from the first failure on")

	lines := commands(t, alertsPage)
	// Nothing here serves logs or metrics of pods: what is typed has to be right.
	const logs, loginsOfProxies = 4, 9
	for at, follows := range []func(printed string){
		func(printed string) { p.Expect(printed).To(gomega.MatchRegexp(`^1 \d{4}-\d\d-\d\dT`)) },
		func(printed string) {
			p.Expect(table(printed)).To(gomega.ContainElement(gomega.SatisfyAll(hasCells(map[string]string{"NAME": "survival-1", "PHASE": "Failed"})...)))
		},
		func(printed string) { p.Expect(printed).To(gomega.MatchRegexp(`(?m)^Ready=False GameExited: `)) },
		func(printed string) {
			p.Expect(printed).To(gomega.And(gomega.ContainSubstring("survival-1-data"), gomega.MatchRegexp(`Status:\s+Failed`)))
		},
		func(string) {},
		func(string) {
			p.Eventually(func() v1alpha1.ServerPhase { return p.server("survival-1").Status.Phase }, 2*patience).Should(gomega.Equal(v1alpha1.ServerReady))
			p.Eventually(func() string { return p.series("spawnery_servergroup_consecutive_failures") }).
				Should(gomega.HaveSuffix(" 0"), "every required ordinal is Ready")
			p.breaks("survival-1")
			p.Eventually(func() string { return p.series("spawnery_servergroup_consecutive_failures") }).Should(gomega.HaveSuffix(" 1"))
		},
		func(printed string) { p.Expect(printed).To(gomega.Equal("no orphans in namespace minecraft\n")) },
		func(string) {
			p.Eventually(func() string { return p.series("spawnery_servergroup_consecutive_failures") }).
				Should(gomega.HaveSuffix(" 0"), "it starts over")
		},
		func(printed string) { p.Expect(printed).To(gomega.Equal("no orphans in namespace minecraft\n")) },
		func(string) {},
		func(printed string) {
			p.Expect(table(printed)).To(gomega.ContainElement(gomega.SatisfyAll(hasCells(map[string]string{"NAME": "survival"})...)))
		},
		func(printed string) { p.Expect(printed).To(gomega.MatchRegexp(`\S`)) },
		func(printed string) { p.Expect(printed).To(gomega.ContainSubstring("MinimumReplicas")) },
	} {
		if at == logs || at == loginsOfProxies {
			_, complaint := p.tries(lines[at])
			p.Expect(complaint).NotTo(gomega.ContainSubstring("unknown"), "the flags are right")
			continue
		}
		follows(p.types(lines[at]))
	}
	p.Expect(lines).To(gomega.HaveLen(13), "every command is typed")
}

// breaks ends the game of a server, as if its world could not be read.
func (p *person) breaks(name string) {
	p.t.Helper()
	p.Eventually(func() error {
		var pod corev1.Pod
		if err := p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, &pod); err != nil {
			return err
		}
		pod.Status.Phase = corev1.PodFailed
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
			pod.Status.ContainerStatuses[i].Ready = false
		}
		return p.Client.Status().Update(p.t.Context(), &pod)
	}).Should(gomega.Succeed())
	p.Eventually(func() v1alpha1.ServerPhase { return p.server(name).Status.Phase }).Should(gomega.Equal(v1alpha1.ServerFailed))
}
