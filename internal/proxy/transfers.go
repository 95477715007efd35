// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"maps"
	"time"

	"golang.org/x/time/rate"

	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

const (
	// DefaultTransferRate is how many players a proxy sends to others each
	// second: each costs a login there.
	DefaultTransferRate = 50

	// transferLook is how often a proxy looks whether it has to send players to
	// another one.
	transferLook = 250 * time.Millisecond
	// maxHops bounds how often one player is passed on by proxies that must go.
	// Whoever comes back so often has no other way in, and stays.
	maxHops = 3
	// hopAgain is how long a player who came to a withdrawn proxy stays before
	// they are sent on; it doubles with each hop, so that load balancers get
	// time to notice.
	hopAgain = 10 * time.Second
)

// sendOn sends players to other proxies while this one must go.
func (p *Proxy) sendOn(ctx context.Context) {
	ticker := p.config.Clock.NewTicker(transferLook)
	defer ticker.Stop()
	pace := rate.NewLimiter(rate.Limit(p.config.TransferRate), 1)
	var since time.Time // when it was withdrawn
	var sent map[*session.Player]bool
	for {
		switch {
		case !p.withdrawn():
			since = time.Time{}
		case since.IsZero():
			since, sent = p.config.Clock.Now(), map[*session.Player]bool{}
		default:
			p.sendAllOn(ctx, since, pace, sent)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

func (p *Proxy) sendAllOn(ctx context.Context, since time.Time, pace *rate.Limiter, sent map[*session.Player]bool) {
	maps.DeleteFunc(sent, func(player *session.Player, _ bool) bool {
		select {
		case <-player.Gone():
			return true
		default:
			return false
		}
	})
	for _, player := range p.roster.all() {
		if !p.hasTaker(since) {
			return
		}
		if sent[player] || !p.mayGoOn(player, since) {
			continue
		}
		if err := pace.Wait(ctx); err != nil {
			return
		}
		sent[player] = true
		player.Depart(session.Departure{Hops: hopsOf(player, since) + 1})
	}
}

// hasTaker reports whether players may be sent away now: another proxy of the
// group takes them, and no load balancer leads back here any more.
func (p *Proxy) hasTaker(since time.Time) bool {
	transfer := p.store.View().Settings.GetTransfer()
	waited := p.config.Clock.Since(since)
	return p.withdrawn() && transfer.GetTakers() > 0 && waited >= time.Duration(transfer.GetWithdrawSeconds())*time.Second
}

// mayGoOn leaves those alone for a while who have just come, perhaps back.
func (p *Proxy) mayGoOn(player *session.Player, since time.Time) bool {
	if player.Came().Before(since) {
		return true
	}
	hops := hopsOf(player, since)
	return hops < maxHops && p.config.Clock.Since(player.Came()) >= hopAgain<<hops
}

// hopsOf counts from a proxy that was to stay: nobody was passed on by it.
func hopsOf(player *session.Player, since time.Time) int {
	if player.Came().Before(since) {
		return 0
	}
	return player.Hops()
}
