// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"net/netip"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
)

// errTooOften: an address did something more often than it may.
var errTooOften = errors.New("too often from this address")

// rates bound what single addresses may do, before anybody is authenticated.
type rates struct {
	logins, lists *guard.Turnstile
}

func newRates(clk clock.PassiveClock) rates {
	return rates{logins: guard.NewTurnstile(clk), lists: guard.NewTurnstile(clk)}
}

// login counts one login, and returns 0; or how long to wait for the next.
func (r rates) login(from netip.Addr, limits *agentv1alpha1.RateLimits) time.Duration {
	if guard.ParseRanges(limits.GetExemptCidrs()).Contain(from) {
		return 0
	}
	return r.logins.Pass(from, guard.DefaultLogins().Or(int(limits.GetLoginsPerSecond()), int(limits.GetLoginBurst())))
}

// list counts one request of the server list like a login.
func (r rates) list(from netip.Addr, limits *agentv1alpha1.RateLimits) time.Duration {
	if guard.ParseRanges(limits.GetExemptCidrs()).Contain(from) {
		return 0
	}
	return r.lists.Pass(from, guard.DefaultStatuses().Or(int(limits.GetStatusPerSecond()), int(limits.GetStatusBurst())))
}
