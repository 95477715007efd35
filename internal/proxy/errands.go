// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

const (
	// errandWithin bounds the wait for a result: a move takes a few seconds.
	errandWithin = 8 * time.Second
	// othersFor is how long the list of the other proxies' players is good.
	othersFor = time.Second
	// errandsPerSecond and errandBurst bound what this proxy asks of the others,
	// below what the manager passes on.
	errandsPerSecond = 200
	errandBurst      = 256
)

// errands are what this proxy wants of the network's other proxies, by way of the
// manager.
type errands struct {
	clock  clock.WithTicker
	prefix string // apart from those of an earlier process
	pace   *rate.Limiter
	flight singleflight.Group

	mu sync.Mutex
	// able is true while a manager is connected that passes errands on.
	able    bool
	say     func(*agentv1alpha1.ProxyMessage)
	number  int
	waiting map[string]chan *agentv1alpha1.ErrandResult
	// others are the other proxies' players as of othersAt.
	others   []*agentv1alpha1.RosterEntry
	othersAt time.Time
}

func newErrands(clk clock.WithTicker) *errands {
	return &errands{
		clock: clk, prefix: uuid.NewString() + "-", pace: rate.NewLimiter(errandsPerSecond, errandBurst),
		waiting: map[string]chan *agentv1alpha1.ErrandResult{},
	}
}

// welcomed takes in what the manager of a new session can do.
func (e *errands) welcomed(manager *agentv1alpha1.Welcome, say func(*agentv1alpha1.ProxyMessage)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.able, e.say = slices.Contains(manager.GetCapabilities(), agentv1alpha1.CapabilityErrands), say
}

func (e *errands) lost() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.able = false
}

func (e *errands) answered(result *agentv1alpha1.ErrandResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if waits := e.waiting[result.GetId()]; waits != nil {
		delete(e.waiting, result.GetId())
		waits <- result
	}
}

// run has an errand carried out and waits for its result.
func (e *errands) run(ctx context.Context, errand *agentv1alpha1.Errand) *agentv1alpha1.ErrandResult {
	waits, why := e.begin(errand)
	if waits == nil {
		return why
	}
	return e.await(ctx, errand, waits)
}

// await waits for the result of an errand that was begun.
func (e *errands) await(
	ctx context.Context, errand *agentv1alpha1.Errand, waits <-chan *agentv1alpha1.ErrandResult,
) *agentv1alpha1.ErrandResult {
	defer e.forget(errand)
	timer := e.clock.NewTimer(errandWithin)
	defer timer.Stop()
	select {
	case result := <-waits:
		return result
	case <-timer.C():
	case <-ctx.Done():
	}
	return &agentv1alpha1.ErrandResult{
		Verdict: agentv1alpha1.Verdict_VERDICT_FAILED, Detail: "the manager has not answered in time",
	}
}

func (e *errands) forget(errand *agentv1alpha1.Errand) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, errand.GetId())
}

// begin sends an errand, in the order of the calls, or says why it cannot be.
func (e *errands) begin(errand *agentv1alpha1.Errand) (<-chan *agentv1alpha1.ErrandResult, *agentv1alpha1.ErrandResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.able {
		return nil, &agentv1alpha1.ErrandResult{
			Verdict: agentv1alpha1.Verdict_VERDICT_FAILED, Detail: "no manager is connected that reaches the other proxies",
		}
	}
	if !e.pace.AllowN(e.clock.Now(), 1) {
		return nil, &agentv1alpha1.ErrandResult{
			Verdict: agentv1alpha1.Verdict_VERDICT_TOO_OFTEN,
			Detail:  fmt.Sprintf("the servers of this proxy ask too often: %d times a second in the long run", errandsPerSecond),
		}
	}
	e.number++
	errand.Id = e.prefix + strconv.Itoa(e.number)
	waits := make(chan *agentv1alpha1.ErrandResult, 1)
	e.waiting[errand.GetId()] = waits
	e.say(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Errand{Errand: errand}})
	return waits, nil
}

// elsewhere are the players of the other proxies, at most othersFor old. Without a
// manager there is nobody to know them.
func (e *errands) elsewhere(ctx context.Context) []*agentv1alpha1.RosterEntry {
	e.mu.Lock()
	known, fresh := e.others, e.clock.Since(e.othersAt) < othersFor
	e.mu.Unlock()
	if fresh {
		return known
	}
	list, _, _ := e.flight.Do("others", func() (any, error) {
		result := e.run(ctx, &agentv1alpha1.Errand{
			Errand: &agentv1alpha1.Errand_ListPlayers{ListPlayers: &agentv1alpha1.ListPlayers{}},
		})
		if result.GetVerdict() != agentv1alpha1.Verdict_VERDICT_DONE {
			return []*agentv1alpha1.RosterEntry(nil), nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.others, e.othersAt = result.GetRoster(), e.clock.Now()
		return e.others, nil
	})
	return list.([]*agentv1alpha1.RosterEntry)
}

// runErrand carries out what another proxy wants of this one.
func (p *Proxy) runErrand(ctx context.Context, errand *agentv1alpha1.Errand, answer func(*agentv1alpha1.ProxyMessage)) {
	tell := func(verdict agentv1alpha1.Verdict, detail, address string) {
		answer(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_ErrandResult{ErrandResult: &agentv1alpha1.ErrandResult{
			Id: errand.GetId(), Verdict: verdict, Detail: detail, Address: address,
		}}})
	}
	task := func(ctx context.Context) {
		address, err := p.perform(ctx, errand)
		tell(verdictOf(err), detailOf(err), address)
	}
	if errand.GetSendPlayer() == nil && errand.GetDisconnectPlayer() == nil {
		// It waits for nobody, and the order matters to plugins.
		task(ctx)
		return
	}
	select {
	case p.plugins.tasks <- task:
	default:
		tell(agentv1alpha1.Verdict_VERDICT_TOO_OFTEN, "this proxy has too much to do", "")
	}
}

var (
	errGone      = errors.New("the player is not on this proxy")
	errNoCarrier = errors.New("nobody is there whose connection could carry it")
)

func verdictOf(err error) agentv1alpha1.Verdict {
	switch {
	case err == nil:
		return agentv1alpha1.Verdict_VERDICT_DONE
	case errors.Is(err, errGone), errors.Is(err, errNoCarrier):
		return agentv1alpha1.Verdict_VERDICT_NOT_FOUND
	case errors.Is(err, mcproto.ErrMalformed):
		return agentv1alpha1.Verdict_VERDICT_MALFORMED
	}
	return agentv1alpha1.Verdict_VERDICT_REFUSED
}

func detailOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// perform does what concerns one player, or everybody. It returns where they
// connect from.
func (p *Proxy) perform(ctx context.Context, errand *agentv1alpha1.Errand) (string, error) {
	switch wanted := errand.GetErrand().(type) {
	case *agentv1alpha1.Errand_FindPlayer:
		player, err := p.hosts(wanted.FindPlayer.GetPlayer())
		if err != nil {
			return "", err
		}
		return player.Remote().String(), nil
	case *agentv1alpha1.Errand_SendPlayer:
		player, err := p.hosts(wanted.SendPlayer.GetPlayer())
		if err != nil {
			return "", err
		}
		return "", p.plugins.send(ctx, player, wanted.SendPlayer.GetTo())
	case *agentv1alpha1.Errand_TellPlayers:
		return "", p.tell(wanted.TellPlayers)
	case *agentv1alpha1.Errand_PluginPayload:
		if !p.plugins.deliver(wanted.PluginPayload) {
			return "", errNoCarrier
		}
		return "", nil
	case *agentv1alpha1.Errand_DisconnectPlayer:
		player, err := p.hosts(wanted.DisconnectPlayer.GetPlayer())
		if err != nil {
			return "", err
		}
		reason, err := mcproto.ParseTextJSON(wanted.DisconnectPlayer.GetReason())
		if err != nil {
			return "", err
		}
		player.Disconnect(reason)
		return "", nil
	}
	return "", fmt.Errorf("%w: this proxy does not know what is asked for", mcproto.ErrMalformed)
}

func (p *Proxy) tell(wanted *agentv1alpha1.TellPlayers) error {
	line, err := mcproto.ParseTextJSON(wanted.GetText())
	if err != nil {
		return err
	}
	if wanted.GetPlayer() == nil {
		for _, player := range p.roster.all() {
			player.Hear(line)
		}
		return nil
	}
	player, err := p.hosts(wanted.GetPlayer())
	if err != nil {
		return err
	}
	player.Hear(line)
	return nil
}

// hosts finds a player of this proxy, by UUID where there is one, else by name.
func (p *Proxy) hosts(who *agentv1alpha1.Player) (*session.Player, error) {
	player := p.roster.find(who)
	if player == nil && len(who.GetUuid()) == 0 {
		player = p.roster.named(who.GetName())
	}
	if player == nil {
		return nil, errGone
	}
	return player, nil
}

// remoteOf reads an address that another proxy tells.
func remoteOf(result *agentv1alpha1.ErrandResult) (netip.AddrPort, bool) {
	address, err := netip.ParseAddrPort(result.GetAddress())
	return address, err == nil && result.GetVerdict() == agentv1alpha1.Verdict_VERDICT_DONE
}
