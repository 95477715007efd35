// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// BotSettings describe a client. Name (or Account) and Address are needed.
type BotSettings struct {
	Address  string // host:port to dial
	Host     string // what the client believes to have dialled; that of Address if empty
	Name     string
	Account  *Account           // for online mode; nil: a name is all there is
	Protocol int32              // 769 (1.21.4) if 0
	Rows     *mcproto.Protocols // known beside the built-in table; none if nil
	Intent   mcproto.Intent
	Cookies  map[string][]byte // from before a transfer

	Latency time.Duration // added to each round trip
	Locale  string        // en_us if empty
	Packs   PackAnswer
	Moves   int // packets sent per second in play

	Clock clock.WithTicker

	// intercept sees each packet first and may handle it alone.
	intercept func(b *Bot, state mcproto.State, id int32, payload []byte) (bool, error)
}

// Account is what a client needs to join in online mode.
type Account struct {
	Profile       mcproto.Profile
	Token         string
	SessionServer string // base URL
}

// PackAnswer is what a client does with resource packs.
type PackAnswer int

// The answers.
const (
	LoadPacks PackAnswer = iota
	DeclinePacks
)

// Disconnected is the end of a bot that was told why.
type Disconnected struct {
	State  mcproto.State
	Reason mcproto.Text
}

func (d *Disconnected) Error() string {
	return fmt.Sprintf("disconnected in %s: %s", d.State, d.Reason)
}

// Transferred is the end of a bot that was sent elsewhere. Joining there with
// IntentTransfer and these cookies is what the game's client does.
type Transferred struct {
	To      mcproto.Transfer
	Cookies map[string][]byte
}

func (t *Transferred) Error() string {
	return "transferred to " + net.JoinHostPort(t.To.Host, strconv.Itoa(int(t.To.Port)))
}

// Follow waits until the bot is transferred and joins where it was sent, as the
// game's client does: with the intent to transfer and its cookies. Any other end
// of the bot is an error.
func (b *Bot) Follow(ctx context.Context) (*Bot, error) {
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("bot %s waits for a transfer: %w", b.Name(), context.Cause(ctx))
	}
	sent, ok := errors.AsType[*Transferred](b.Err())
	if !ok {
		return nil, fmt.Errorf("bot %s was not transferred: %w", b.Name(), b.Err())
	}
	settings := b.settings
	settings.Address = net.JoinHostPort(sent.To.Host, strconv.Itoa(int(sent.To.Port)))
	settings.Host, settings.Intent, settings.Cookies = "", mcproto.IntentTransfer, sent.Cookies
	return Join(ctx, settings)
}

// ErrLeft is the end of a bot that was told to leave.
var ErrLeft = errors.New("left")

// errUnfaithful is wrapped when the server sent what makes the game's client
// disconnect.
var errUnfaithful = errors.New("the game's client would have disconnected")

// BotStats are measurements of one bot.
type BotStats struct {
	Join     time.Duration   // from dialling to play; 0 before
	Switches []time.Duration // from leaving play to being back, each
	Packets  int
	Bytes    int
}

// Bot is a client that behaves as the game's: it keeps its connection alive,
// answers what it is asked, follows switches, and is as easily offended.
type Bot struct {
	settings BotSettings
	conn     *mcproto.Conn
	protocol *mcproto.Protocol
	dialled  time.Time
	done     chan struct{}

	// Used by the reading goroutine alone.
	frame      mcproto.Frame
	registries map[string]struct{}
	configured bool // has been through one configuration
	introduced bool // has sent its information, which happens once
	inBundle   bool

	mu          sync.Mutex
	changed     chan struct{} // closed and replaced at every change
	state       mcproto.State
	profile     mcproto.Profile
	cookies     map[string][]byte
	server      string // from the welcome; empty while on none
	lines       []string
	heard       []mcproto.PluginMessage
	suggestions map[int32]mcproto.Suggestions
	commands    []string
	nextAsk     int32
	left        time.Time // when play was left for a switch
	stats       BotStats
	err         error
}

const (
	defaultProtocol = 769
	maxLines        = 4096
	clientTimeout   = 30 * time.Second
)

// Join dials and begins to log in. Failing to connect is an error; whatever
// happens afterwards is the bot's.
func Join(ctx context.Context, settings BotSettings) (*Bot, error) {
	settings.Protocol = cmp.Or(settings.Protocol, defaultProtocol)
	settings.Intent = cmp.Or(settings.Intent, mcproto.IntentLogin)
	settings.Locale = cmp.Or(settings.Locale, "en_us")
	if settings.Clock == nil {
		settings.Clock = clock.RealClock{}
	}
	table, err := tableWith(settings.Rows)
	if err != nil {
		return nil, err
	}
	protocol, ok := table.Lookup(settings.Protocol)
	if !ok {
		return nil, fmt.Errorf("bot %s: protocol %d is unknown", settings.Name, settings.Protocol)
	}
	b := &Bot{
		settings:    settings,
		protocol:    protocol,
		dialled:     settings.Clock.Now(),
		done:        make(chan struct{}),
		changed:     make(chan struct{}),
		state:       mcproto.StateLogin,
		profile:     mcproto.Profile{Name: settings.Name, ID: mcproto.OfflineUUID(settings.Name)},
		cookies:     maps.Clone(settings.Cookies),
		suggestions: make(map[int32]mcproto.Suggestions),
	}
	if settings.Account != nil {
		b.profile = settings.Account.Profile
	}
	if b.cookies == nil {
		b.cookies = make(map[string][]byte)
	}
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", settings.Address)
	if err != nil {
		return nil, fmt.Errorf("bot %s: %w", b.profile.Name, err)
	}
	if settings.Latency > 0 {
		nc = delayed(nc, settings.Latency/2, settings.Clock)
	}
	b.conn = mcproto.NewConn(nc)
	go b.run(context.WithoutCancel(ctx))
	return b, nil
}

func (b *Bot) run(ctx context.Context) {
	err := b.hello()
	for err == nil || writeFailed(err) {
		// The reason may still wait to be read when the other side is gone.
		err = b.step(ctx)
	}
	_ = b.conn.Close()
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	b.server = ""
	b.signal()
	b.mu.Unlock()
	close(b.done)
}

func writeFailed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "write"
}

func (b *Bot) hello() error {
	host, portText, err := net.SplitHostPort(b.settings.Address)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return err
	}
	hello := mcproto.Handshake{
		Protocol: b.protocol.Number, RawHost: cmp.Or(b.settings.Host, host), Port: uint16(port), Intent: b.settings.Intent,
	}
	if err := b.conn.QueuePacket(mcproto.HandshakeIntention, hello.Payload()); err != nil {
		return err
	}
	return b.conn.WritePacket(mcproto.LoginStart, mcproto.LoginStartPayload(b.profile))
}

// step reads and handles one packet.
func (b *Bot) step(ctx context.Context) error {
	now := b.settings.Clock.Now()
	_ = b.conn.NetConn().SetDeadline(now.Add(clientTimeout))
	if err := b.conn.ReadFrame(&b.frame); err != nil {
		return err
	}
	b.mu.Lock()
	state := b.state
	b.stats.Packets++
	b.stats.Bytes += b.frame.WireLen()
	b.mu.Unlock()
	id := b.frame.ID
	if state == mcproto.StatePlay && !b.minds(id) {
		return nil
	}
	payload, err := b.frame.Payload()
	if err != nil {
		return err
	}
	if b.settings.intercept != nil {
		if handled, err := b.settings.intercept(b, state, id, payload); handled || err != nil {
			return err
		}
	}
	switch state {
	case mcproto.StateLogin:
		return b.login(ctx, id, payload)
	case mcproto.StateConfiguration:
		return b.configuration(id, payload)
	case mcproto.StatePlay:
		return b.play(id, payload)
	case mcproto.StateHandshake, mcproto.StateStatus:
	}
	return fmt.Errorf("bot in state %s", state)
}

// signal wakes everybody who waits; b.mu is held.
func (b *Bot) signal() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// wait blocks until ok, called with b.mu held, is true.
func (b *Bot) wait(ctx context.Context, what string, ok func() bool) error {
	for {
		b.mu.Lock()
		good, changed, ended := ok(), b.changed, b.err
		b.mu.Unlock()
		switch {
		case good:
			return nil
		case ended != nil:
			return fmt.Errorf("bot %s waits for %s: %w", b.Name(), what, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("bot %s waits for %s: %w", b.Name(), what, context.Cause(ctx))
		}
	}
}

// Name is the player's name.
func (b *Bot) Name() string { return b.Profile().Name }

// Profile is who the player is: as claimed, and as told once logged in.
func (b *Bot) Profile() mcproto.Profile {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.profile
}

// State is the phase of the connection.
func (b *Bot) State() mcproto.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// Server is the name of the server that greeted the player; empty while the
// player is on none.
func (b *Bot) Server() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server
}

// WaitServer waits until the player is on a server of the wanted names, or on
// any if there are none, and returns its name.
func (b *Bot) WaitServer(ctx context.Context, wanted ...string) (string, error) {
	name := ""
	err := b.wait(ctx, fmt.Sprintf("a server of %q", wanted), func() bool {
		name = b.server
		return name != "" && (len(wanted) == 0 || slices.Contains(wanted, name))
	})
	return name, err
}

// WaitState waits until the connection is in the state.
func (b *Bot) WaitState(ctx context.Context, state mcproto.State) error {
	return b.wait(ctx, state.String(), func() bool { return b.state == state })
}

// Lines are the chat lines so far, without formatting.
func (b *Bot) Lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lines)
}

// WaitLine waits for a chat line that fits, among those already there too.
func (b *Bot) WaitLine(ctx context.Context, fits func(line string) bool) (string, error) {
	for seen := 0; ; {
		var fresh []string
		err := b.wait(ctx, "a chat line", func() bool {
			seen = min(seen, len(b.lines))
			fresh = slices.Clone(b.lines[seen:])
			return len(fresh) > 0
		})
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(fresh, fits); i >= 0 {
			return fresh[i], nil
		}
		seen += len(fresh)
	}
}

// ForgetLines drops the chat lines so far: what is waited for next is new.
func (b *Bot) ForgetLines() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = nil
}

// Command runs a command, given without its slash.
func (b *Bot) Command(line string) error {
	return b.send(mcproto.StatePlay, b.protocol.PlayServer.ChatCommand, mcproto.NewWriter().String(line).Bytes())
}

// CommandSigned runs a command as the game's client does when one of its
// arguments is a message, which it signs.
func (b *Bot) CommandSigned(line string) error {
	w := mcproto.NewWriter().String(line)
	w.Int64(b.settings.Clock.Now().UnixMilli()).Int64(0).VarInt(0)
	w.VarInt(0).Raw(make([]byte, seenMessages)...)
	if b.protocol.Number >= chatChecksumSince {
		w.Raw(0)
	}
	return b.send(mcproto.StatePlay, b.protocol.PlayServer.ChatCommandSigned, w.Bytes())
}

// Commands are the names that the server last told the client it may run.
func (b *Bot) Commands() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.commands)
}

// Suggest asks how a line, given with its slash, may go on.
func (b *Bot) Suggest(ctx context.Context, line string) (mcproto.Suggestions, error) {
	b.mu.Lock()
	b.nextAsk++
	ask := mcproto.SuggestionsRequest{ID: b.nextAsk, Text: line}
	b.mu.Unlock()
	if err := b.send(mcproto.StatePlay, b.protocol.PlayServer.Suggestions, ask.Payload()); err != nil {
		return mcproto.Suggestions{}, err
	}
	var answer mcproto.Suggestions
	err := b.wait(ctx, "suggestions", func() bool {
		var ok bool
		answer, ok = b.suggestions[ask.ID]
		return ok
	})
	return answer, err
}

// SendPluginMessage sends a message on a channel, in play.
func (b *Bot) SendPluginMessage(message mcproto.PluginMessage) error {
	return b.send(mcproto.StatePlay, b.protocol.PlayServer.PluginMessage, message.Payload())
}

// Stats are the measurements so far.
func (b *Bot) Stats() BotStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	stats := b.stats
	stats.Switches = slices.Clone(stats.Switches)
	return stats
}

// Done is closed when the connection has ended.
func (b *Bot) Done() <-chan struct{} { return b.done }

// Err tells why the connection has ended: a *Disconnected, a *Transferred,
// ErrLeft, or what went wrong. It is nil before.
func (b *Bot) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Leave closes the connection and waits for the end. It does nothing to a bot
// that has ended.
func (b *Bot) Leave() {
	b.mu.Lock()
	if b.err == nil {
		b.err = ErrLeft
	}
	b.mu.Unlock()
	_ = b.conn.Close()
	<-b.done
}

// send writes a packet of the state; in another one it is an error.
func (b *Bot) send(state mcproto.State, id int32, payload []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != state {
		return fmt.Errorf("bot %s is in %s, not in %s", b.profile.Name, b.state, state)
	}
	return b.conn.WritePacket(id, payload)
}

// advance sends the last packet of a state and is in the next, in one step: no
// other packet can come between.
func (b *Bot) advance(id int32, next mcproto.State) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.conn.WritePacket(id, nil)
	b.state = next
	b.signal()
	return err
}

func unfaithful(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errUnfaithful}, args...)...)
}

// packStatus answers the push of a pack.
func (b *Bot) packStatuses(payload []byte, state mcproto.State, answer int32) error {
	push, err := mcproto.ParseResourcePackPush(payload)
	if err != nil {
		return err
	}
	results := []mcproto.PackResult{mcproto.PackAccepted, mcproto.PackDownloaded, mcproto.PackLoaded}
	if b.settings.Packs == DeclinePacks {
		results = []mcproto.PackResult{mcproto.PackDeclined}
	}
	return b.answerPack(push.ID, results, state, answer)
}

func (b *Bot) answerPack(pack uuid.UUID, results []mcproto.PackResult, state mcproto.State, answer int32) error {
	for _, result := range results {
		status := mcproto.ResourcePackStatus{ID: pack, Result: result}
		if err := b.send(state, answer, status.Payload()); err != nil {
			return err
		}
	}
	return nil
}

// cookie answers a request in any state.
func (b *Bot) cookie(payload []byte, state mcproto.State, answer int32) error {
	key, err := mcproto.ParseCookieRequest(payload)
	if err != nil {
		return err
	}
	b.mu.Lock()
	cookie := mcproto.Cookie{Key: key, Value: b.cookies[key]}
	b.mu.Unlock()
	return b.send(state, answer, cookie.ResponsePayload())
}

func (b *Bot) storeCookie(payload []byte) error {
	cookie, err := mcproto.ParseStoreCookie(payload)
	if err != nil {
		return unfaithful("a cookie that cannot be kept: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cookies[cookie.Key] = cookie.Value
	return nil
}

func (b *Bot) transferred(payload []byte) error {
	to, err := mcproto.ParseTransfer(payload)
	switch {
	case err != nil:
		return err
	case b.inBundle:
		// It is looked at when the bundle ends, which is never.
		return unfaithful("transferred inside a bundle")
	case to.Host == "" || to.Port < 1 || to.Port > math.MaxUint16:
		return unfaithful("transferred to %q port %d", to.Host, to.Port)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return &Transferred{To: to, Cookies: maps.Clone(b.cookies)}
}
