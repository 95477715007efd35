// SPDX-License-Identifier: Apache-2.0

// Package session is one player's stay on the proxy: their connection, the
// server they are on, and the ways from one server to the next.
//
// Three goroutines serve a player. The client's reader takes what the client
// sends to the attached server. The server's reader takes what that server
// sends to the client, and ends with it. The director alone decides where the
// player is: it finds places, attaches servers and leaves them.
package session

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/commands"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// Commands answers what players type at the proxy.
type Commands interface {
	// Literals are the names the proxy takes from this player.
	Literals(who permissions.Player) []string
	// Run answers a command line without its slash; false: it is not ours.
	Run(by commands.Asker, line string) (commands.Reply, bool)
	// Suggest completes a command line with its slash; false: it is not ours.
	Suggest(who permissions.Player, line string) ([]string, bool)
}

// Grants answers what a player's permissions add.
type Grants interface {
	// Privilege is what they add to joining a group.
	Privilege(who permissions.Player, group string) routing.Privilege
	// MayJoin reports whether the player may be sent to a group.
	MayJoin(who permissions.Player, group string) bool
}

// Meter counts what happens to players. Its methods must not block.
type Meter interface {
	// Switched is told how long it took a player from one world to the next, or to
	// learn that they stay; err says why they do.
	Switched(took time.Duration, err error)
	// SentAway is told what a player read whom the proxy disconnected.
	SentAway(reason mcproto.Text)
}

// World is what a player's stay needs of the rest of the proxy.
type World struct {
	Clock    clock.WithTicker
	Log      logr.Logger
	Store    *directory.Store
	Finder   *placing.Finder
	Secrets  [][]byte // what is forwarded is signed with one of them
	Tickets  *ticket.Office
	Commands Commands
	Grants   Grants
	// Words are the network's own; nil: there are none.
	Words   Words
	Plugins Plugins
	// Moved is told when a player came, went or moved. It must not block.
	Moved func()
	// Judged is told what forwarding state a login to a server met.
	Judged func(server string, state agentv1alpha1.ForwardingState)
	// Held are the players without a place who wait for one.
	Held *Held
	// Sent are those who were sent away.
	Sent *Sent
	// Traffic counts the bytes of servers; nil: nobody does.
	Traffic *guard.Traffic
	// Meter is told what happens to players.
	Meter Meter
	// Moves bounds how many players are moved off servers at once.
	Moves chan struct{}
}

// Standing is where a player is.
type Standing struct {
	// Server the player is on; empty: none.
	Server string
	// Destination the player is on the way to; empty: none.
	Destination string
	// Waiting is the group a player without a place waits for.
	Waiting string
	// Watches is set when the player came to Server by the permission to join
	// full rounds.
	Watches bool
	// Stuck is set while the player should leave Server and found no seat.
	Stuck bool
}

// Player is one player's stay.
type Player struct {
	world    *World
	client   *login.Client
	conn     *mcproto.Conn
	dialect  *dialect
	identity permissions.Player
	address  netip.Addr
	log      logr.Logger
	came     time.Time
	sent     *ticket.Ticket // what the player was sent here with; nil: they came by themselves

	questions questions
	habits    habits
	screen    screen
	lines     mailbox[mcproto.Text] // of others, for the chat
	route     atomic.Pointer[link]  // the server that gets what the client sends
	state     mcproto.State         // of what the client sends; its reader's own
	rate      *guard.Rate           // of what the client sends; its reader's own

	lost     chan *link // servers that ended by themselves
	orders   chan order
	leaves   chan Departure
	standing atomic.Pointer[Standing]
	current  *link    // the director's own
	journey  *journey // the director's own
	bundled  bool     // the director's own: a bundle is open at the client

	locale atomic.Pointer[string] // nil until the client says it

	pulse pulse // of the client

	carryOn func(work func(context.Context)) // does work beside the client's reader
	atWork  atomic.Int32                     // commands of the player's that are being carried out, or wait
	desk    chan struct{}                    // held by the one that is being carried out

	running atomic.Bool // Run was called
	ending  atomic.Bool // the client was told to go
	endOnce sync.Once
	ended   chan struct{} // closed with the first word to go
	gone    chan struct{}
}

// New begins the stay of a client whose login has been accepted.
func New(world *World, client *login.Client, mode login.Mode, address netip.Addr) *Player {
	p := &Player{
		world: world, client: client, conn: client.Conn, dialect: dialectOf(client.Protocol), address: address,
		identity: permissions.Player{Name: client.Profile.Name, UUID: client.Profile.ID.String(), Authentication: mode.Authentication()},
		log:      world.Log.WithValues("player", client.Profile.Name),
		state:    mcproto.StateConfiguration,
		rate:     guard.NewRate(world.Clock, guard.RateBeforePlay),
		lost:     make(chan *link, 1),
		orders:   make(chan order, 1),
		leaves:   make(chan Departure, 1),
		came:     world.Clock.Now(),
		ended:    make(chan struct{}),
		gone:     make(chan struct{}),
		desk:     make(chan struct{}, 1),
	}
	if p.sent = p.sentWith(); p.sent != nil {
		p.screen.landing = p.sent.Landing
	}
	p.standing.Store(&Standing{})
	p.lines.most, p.lines.mostBytes = maxLines, maxLineBytes
	p.lines.deliver = func(line mcproto.Text) error { p.Tell(line); return nil }
	return p
}

// Protocol is the number of the version that the client speaks.
func (p *Player) Protocol() int32 { return p.client.Protocol.Number }

// Identity is the player as permissions know them.
func (p *Player) Identity() permissions.Player { return p.identity }

// Profile is who the player is.
func (p *Player) Profile() mcproto.Profile { return p.client.Profile }

// Address is where the player comes from.
func (p *Player) Address() netip.Addr { return p.address }

// Standing is where the player is now.
func (p *Player) Standing() Standing { return *p.standing.Load() }

// Server is the one the player is on; empty: none.
func (p *Player) Server() string { return p.Standing().Server }

// Gone is closed when the stay is over and nothing of it is left.
func (p *Player) Gone() <-chan struct{} { return p.gone }

// Dismissed is closed when the player was told to go.
func (p *Player) Dismissed() <-chan struct{} { return p.ended }

// Leaving reports whether the player was told to go, and is about to be gone.
func (p *Player) Leaving() bool { return p.ending.Load() }

// errOver is why everything of a stay ends when its client has gone.
var errOver = errors.New("the player has gone")

// Run serves the player until they leave or ctx ends, and returns why.
func (p *Player) Run(ctx context.Context) error {
	p.running.Store(true)
	ctx = logr.NewContext(ctx, p.log)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, func() { p.conn.Close() })
	defer stop()

	p.carryOn = func(work func(context.Context)) { go work(ctx) }
	directed := make(chan struct{})
	go func() {
		defer close(directed)
		p.direct(ctx)
	}()
	err := p.readClient()
	cancel(errOver)
	p.conn.Close()
	<-directed
	close(p.gone)
	p.world.Moved()
	return err
}

// Abandon ends a stay that never began to run.
func (p *Player) Abandon() { close(p.gone) }

// stand changes where the player is. Only the director calls it.
func (p *Player) stand(change func(*Standing)) {
	next := p.Standing()
	change(&next)
	if next != p.Standing() {
		p.standing.Store(&next)
		p.world.Moved()
	}
}

const (
	// goodbye is how long a client has to read why it was sent away.
	goodbye = 2 * time.Second
	// aliveWithin is how long a client has to answer a question of ours.
	aliveWithin = 5 * time.Second
)

// Disconnect sends the client away and tells it why. The stay ends soon after.
func (p *Player) Disconnect(reason mcproto.Text) {
	p.endOnce.Do(func() {
		p.ending.Store(true)
		close(p.ended)
		p.world.Meter.SentAway(reason)
		if !p.running.Load() {
			// Its login is not finished: no reason can be told there.
			p.conn.Close()
			return
		}
		if l := p.route.Swap(nil); l != nil {
			l.leave()
		}
		if nc, ok := p.conn.NetConn().(*guard.Conn); ok {
			nc.Hurry(goodbye)
			p.screen.show(p, func(s *screen) error { return s.disconnect(p, reason) })
			// Half-closed and then read to its end: a close with unread input
			// would take the reason with it.
			_ = nc.CloseWrite()
			return
		}
		p.conn.Close()
	})
}

// pulse is one question for a sign of life, shared by all who want to know:
// one for each of them would push the questions of servers out.
type pulse struct {
	mu   sync.Mutex
	open *beat
}

type beat struct {
	felt  chan struct{} // closed when alive is known
	alive bool
}

// Alive asks the client for an answer and reports whether one came in time.
// When ctx ends before that is known nobody is called dead.
func (p *Player) Alive(ctx context.Context) bool {
	if !p.running.Load() {
		return true
	}
	p.pulse.mu.Lock()
	b := p.pulse.open
	if b == nil {
		b = &beat{felt: make(chan struct{})}
		p.pulse.open = b
		// It outlives the one who happened to ask first.
		go p.feel(context.WithoutCancel(ctx), b)
	}
	p.pulse.mu.Unlock()
	select {
	case <-b.felt:
		return b.alive
	case <-ctx.Done():
		return true
	}
}

func (p *Player) feel(ctx context.Context, b *beat) {
	b.alive = p.answers(ctx)
	p.pulse.mu.Lock()
	p.pulse.open = nil
	p.pulse.mu.Unlock()
	close(b.felt)
}

// answers asks the client and waits. Also for the question: a client that is
// dead may take nothing any more.
func (p *Player) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, aliveWithin)
	defer cancel()
	answer, moving := make(chan []byte, 1), make(chan struct{})
	go p.screen.show(p, func(s *screen) error {
		asked, err := s.keepAlive(p, asker{reply: answer})
		if !asked {
			// Between two servers nothing can be asked, and a client that is being
			// moved is not dead.
			close(moving)
		}
		return err
	})
	select {
	case <-answer:
		return true
	case <-moving:
		return true
	case <-p.gone:
		return false
	case <-ctx.Done():
		return false
	}
}

// Tell shows lines in the player's chat, when there is one.
func (p *Player) Tell(lines ...mcproto.Text) {
	p.screen.show(p, func(s *screen) error { return s.tell(p, lines...) })
}

// groupName is a group as players read it.
func (p *Player) groupName(group string) mcproto.Text {
	return mcproto.Plain(p.world.Store.View().DisplayName(group))
}

// tooMany sends a client away that sends too much.
func (p *Player) tooMany() { p.Disconnect(messages.Text(messages.LimitPackets)) }
