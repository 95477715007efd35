// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

func TestLoginsAreCountedByWhatTheirAddressBelongsTo(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(1_000_000_000, 0))
	o := newOrigins(clk)
	cluster := []string{"192.0.2.7/32", "10.244.0.0/16"}
	for _, address := range []string{"192.0.2.7", "10.244.3.1", "::ffff:10.244.3.1", "192.0.2.8", "2001:db8::1"} {
		o.count(netip.MustParseAddr(address), cluster)
	}
	o.count(netip.MustParseAddr("10.244.3.1"), nil)
	o.count(netip.MustParseAddr("198.51.100.1"), []string{"198.51.100.0/24"}) // what the cluster has now
	for _, step := range []struct {
		after time.Duration
		want  *agentv1alpha1.LoginOrigins
	}{
		{0, &agentv1alpha1.LoginOrigins{Logins: 6, FromCluster: 4}},
		{9 * time.Minute, &agentv1alpha1.LoginOrigins{Logins: 6, FromCluster: 4}},
		{time.Minute, &agentv1alpha1.LoginOrigins{}},
	} {
		clk.SetTime(clk.Now().Add(step.after))
		if got := o.report(); !proto.Equal(got, step.want) {
			t.Errorf("%s later: %v, want %v", step.after, got, step.want)
		}
	}
	o.count(netip.MustParseAddr("10.244.3.1"), cluster)
	if got, want := o.report(), (&agentv1alpha1.LoginOrigins{Logins: 1, FromCluster: 1}); !proto.Equal(got, want) {
		t.Errorf("in a slot that was used before: %v, want %v", got, want)
	}
}

func TestAReportSaysWhereLoginsComeFrom(t *testing.T) {
	n := newNetwork(t)
	n.settings.ClusterCidrs = []string{"127.0.0.0/8"}
	n.add("lobby-a", rig{})
	p := n.front()
	n.joined(p, "Ada", "lobby-a")
	if _, err := slp.Ping(n.ctx, p.address(), 769); err != nil {
		t.Fatal(err)
	}
	// A health check connects and says nothing.
	if !closed(t, p, []byte{0xff, 0xff, 0xff, 0xff}) {
		t.Error("a broken handshake was answered")
	}
	if got, want := p.report().GetReport().GetLoginOrigins(), (&agentv1alpha1.LoginOrigins{Logins: 1, FromCluster: 1}); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
