// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"os"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// TestTheWayToBoostForAnEventWorksAsWritten types every command of the page, in
// its order, and looks at what the page says comes of it.
func TestTheWayToBoostForAnEventWorksAsWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, sample := range []string{"network.yaml", "servergroup_hub.yaml"} {
		p.types("kubectl apply -f " + testenv.Path(t, "config/samples/"+sample))
	}
	p.sees(getHub, map[string]string{"PHASE": "Ready", "READY": "2"})
	var first string
	for at, follows := range []func(typed string){
		func(string) {
			p.sees(getHub, map[string]string{"READY": "4", "PLAYERS": "0", "BOOSTED": "2"})
		},
		func(typed string) { p.Expect(typed).To(gomega.Equal("the group has what it wants\n")) },
		func(string) { p.sees(getHub, map[string]string{"BOOSTED": "0"}) },
		func(string) {
			p.Eventually(p.hubPin).Should(gomega.HaveValue(gomega.BeEquivalentTo(3)))
			p.Eventually(p.hubs).Should(gomega.HaveLen(3), "one empty server goes at once")
			first = p.hubs()[0]
			p.join(first, 5)
			p.sees(getHub, map[string]string{"PLAYERS": "5"})
		},
		func(string) {
			p.sees("kubectl get servers -n minecraft -l spawnery.cloud/group=hub", map[string]string{"NAME": first, "PHASE": "Retiring", "PLAYERS": "5"})
			p.Eventually(func() []string { return p.serversOf("hub") }).Should(gomega.Equal([]string{first}), "the empty ones are gone")
		},
		func(string) {
			p.Expect(p.group("hub").Spec.Update.MaxStaleSeconds).To(gomega.HaveValue(gomega.BeEquivalentTo(1800)))
		},
		func(string) {
			p.Eventually(func() v1alpha1.ServerPhase { return p.server(first).Status.Phase }).Should(gomega.Equal(v1alpha1.ServerReady))
			p.Eventually(p.hubPin).Should(gomega.BeNil())
			p.sees(getHub, map[string]string{"READY": "2", "PLAYERS": "5", "BOOSTED": "0"})
		},
	} {
		follows(p.types(commands(t, "docs/how-to/boost-for-an-event.md")[at]))
	}
	p.Expect(commands(t, "docs/how-to/boost-for-an-event.md")).To(gomega.HaveLen(7), "every command is typed")
}

func (p *person) hubPin() *int32 { return p.group("hub").Status.PinnedReplicas }

// commands are the blocks of a page that are to be typed.
func commands(t *testing.T, page string) []string {
	t.Helper()
	content, err := os.ReadFile(testenv.Path(t, page))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split(string(content), "```\n") {
		if i%2 == 1 {
			blocks = append(blocks, part)
		}
	}
	return blocks
}
