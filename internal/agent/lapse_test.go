// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func TestTheNetworkIsForgottenWithTheWishToKnowIt(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	b := newBeyond(clk, make(chan struct{}, 1))
	b.welcomed(&agentv1alpha1.Welcome{Capabilities: []string{agentv1alpha1.CapabilityNetwork}}, nil)
	known := func() bool {
		_, known, _, err := b.look()
		if err != nil {
			t.Fatal(err)
		}
		return known
	}
	if known() {
		t.Error("it is known before it was told")
	}
	b.told(&agentv1alpha1.Directory{Full: true})
	clk.Step(wantedFor)
	b.lapse()
	if !b.wants() || !known() {
		t.Error("it is forgotten while a plugin asks once a minute")
	}
	clk.Step(wantedFor + time.Second)
	if !b.wants() {
		t.Error("the wish ends before a report has said so")
	}
	b.lapse()
	b.told(&agentv1alpha1.Directory{NetworkPlayers: 3})
	if b.wants() || known() {
		t.Error("what is not kept true any more is still told")
	}
	b.told(&agentv1alpha1.Directory{Full: true})
	if !known() {
		t.Error("it is not told again")
	}
	b.lost()
	if _, _, _, err := b.look(); err == nil || !b.wants() {
		t.Errorf("without a manager: %v; the next one has to hear of the wish", err)
	}
}
