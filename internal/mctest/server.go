// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/msmp"
)

// Server is a running server double.
type Server struct {
	settings  Settings
	protocols *mcproto.Protocols
	listener  net.Listener
	world     *world
	operators *operators
	admin     *management // nil without the management protocol
	key       *rsa.PrivateKey
	since     time.Time

	stopOnce sync.Once
	stopping chan struct{} // closed by Stop
	started  chan struct{} // closed when the world is loaded
	done     chan struct{} // closed when everything is saved and closed
	sessions sync.WaitGroup

	// thread is the game's main thread, which does one thing at a time: whoever
	// asks something while the world is saved waits.
	thread sync.Mutex
	hang   hang

	mu         sync.Mutex
	players    map[string]*session // by lower-case name
	conns      map[net.Conn]struct{}
	refusals   map[Stage]mcproto.Text
	violations []Violation
	most       int // players there ever were at once
	nextEntity int32
	failure    error
}

// Violation is a breach of one of the rules by a peer.
type Violation struct {
	Player string
	Rule   Switch
	Detail string
}

// Start loads the world and serves until ctx ends or Stop is called.
func Start(ctx context.Context, settings Settings) (*Server, error) {
	s := &Server{
		settings: settings.withDefaults(),
		stopping: make(chan struct{}),
		started:  make(chan struct{}),
		done:     make(chan struct{}),
		players:  make(map[string]*session),
		conns:    make(map[net.Conn]struct{}),
		refusals: make(map[Stage]mcproto.Text),
	}
	if err := s.open(ctx); err != nil {
		if s.listener != nil {
			_ = s.listener.Close()
		}
		if s.world != nil {
			s.world.close()
		}
		return nil, err
	}
	go s.accept(ctx)
	go s.run(ctx)
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	s.since = s.settings.Clock.Now()
	s.logf("Starting minecraft server double")
	var err error
	if s.protocols, err = tableWith(s.settings.Rows); err != nil {
		return err
	}
	if s.world, err = openWorld(s.settings.Directory); err != nil {
		return err
	}
	if s.operators, err = readOperators(s.settings.Operators); err != nil {
		return err
	}
	if s.settings.Authentication == Online {
		if s.key, err = rsa.GenerateKey(rand.Reader, 1024); err != nil {
			return fmt.Errorf("make the login key: %w", err)
		}
	}
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.settings.Address); err != nil {
		return fmt.Errorf("listen for players: %w", err)
	}
	s.logf("Starting Minecraft server on %s", s.listener.Addr())
	if s.settings.Management == nil {
		return nil
	}
	if s.admin, err = startManagement(ctx, s, *s.settings.Management); err != nil {
		return err
	}
	s.logf("Management server started on %s", s.admin.address())
	return nil
}

// run is the life of the server after it was opened.
func (s *Server) run(ctx context.Context) {
	defer close(s.done)
	if s.wait(ctx, s.settings.StartupDelay) {
		close(s.started)
		s.logf("Done (%.3fs)! For help, type \"help\"", s.settings.Clock.Since(s.since).Seconds())
		s.notify(msmp.EventStarted)
		select {
		case <-ctx.Done():
		case <-s.stopping:
		}
	}
	s.hang.over()
	s.logf("Stopping the server")
	s.notify(msmp.EventStopping)
	_ = s.listener.Close()
	s.disconnectAll(mcproto.Text{Translate: "multiplayer.disconnect.server_shutdown", Fallback: "Server closed"})
	s.sessions.Wait()
	err := s.save()
	s.world.close()
	if s.admin != nil {
		s.admin.close()
	}
	s.mu.Lock()
	s.failure = err
	s.mu.Unlock()
}

// wait passes the time and reports whether the server goes on.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-s.settings.Clock.After(d):
		return true
	case <-ctx.Done():
	case <-s.stopping:
	}
	return false
}

// Address is where players connect, host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// ManagementAddress is where the management protocol listens; empty without it.
func (s *Server) ManagementAddress() string {
	if s.admin == nil {
		return ""
	}
	return s.admin.address()
}

// Stop begins an orderly stop, as the console's stop does. Done tells its end.
func (s *Server) Stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

// Started is closed when the world is loaded and players can join.
func (s *Server) Started() <-chan struct{} { return s.started }

// Done is closed when the server has saved and ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is what went wrong at the end: a world that could not be saved. Call it
// after Done.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Players lists who is in play, by name.
func (s *Server) Players() []mcproto.Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	var profiles []mcproto.Profile
	for _, name := range slices.Sorted(maps.Keys(s.players)) {
		profiles = append(profiles, s.players[name].profile)
	}
	return profiles
}

// Joins is how many players have ever joined this world.
func (s *Server) Joins() int { return s.world.joins() }

// Most is the most players that were ever there at once.
func (s *Server) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Violations lists the rules that peers have broken, in order.
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Refuse turns every player away at the given stage from now on.
func (s *Server) Refuse(at Stage, reason mcproto.Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[at] = reason
}

// Admit ends every refusal.
func (s *Server) Admit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refusals)
}

func (s *Server) refusal(at Stage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason, ok := s.refusals[at]; ok {
		return &refused{reason: reason}
	}
	return nil
}

func (s *Server) accept(ctx context.Context) {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[nc] = struct{}{}
		s.mu.Unlock()
		s.sessions.Go(func() {
			s.serve(ctx, nc)
			_ = nc.Close()
			s.mu.Lock()
			delete(s.conns, nc)
			s.mu.Unlock()
		})
	}
}

// disconnectAll tells players why, and drops every connection that is none of
// a player.
func (s *Server) disconnectAll(reason mcproto.Text) {
	s.mu.Lock()
	players := slices.Collect(maps.Values(s.players))
	others := maps.Clone(s.conns)
	s.mu.Unlock()
	for _, player := range players {
		delete(others, player.conn.NetConn())
		player.kick(reason)
	}
	for nc := range others {
		_ = nc.Close()
	}
}

// save writes the world, after every other save: the last one of a server that
// is stopped in the middle of one finds little left to do.
func (s *Server) save() error {
	s.thread.Lock()
	defer s.thread.Unlock()
	s.notify(msmp.EventSaving)
	s.logf("Saving the game (this may take a moment!)")
	takes := s.settings.SaveDelay
	if s.world.hasChanged() {
		takes += s.settings.FlushDelay
	}
	if takes > 0 {
		<-s.settings.Clock.After(takes)
	}
	err := s.world.save()
	if err != nil {
		s.logf("Could not save: %v", err)
		return err
	}
	s.logf("Saved the game")
	s.notify(msmp.EventSaved)
	return nil
}

// enter makes a player known and reports how many have ever joined. A player
// who is known already is refused: displace has to come first.
func (s *Server) enter(player *session) (int, error) {
	key := strings.ToLower(player.profile.Name)
	s.mu.Lock()
	if s.players[key] != nil {
		s.mu.Unlock()
		return 0, &refused{reason: duplicateLogin()}
	}
	s.players[key] = player
	s.most = max(s.most, len(s.players))
	s.mu.Unlock()
	s.logf("%s joined the game", player.profile.Name)
	s.notifyJoined(player.profile)
	return s.world.joined(), nil
}

// displace ends an older connection of the player and waits until it is gone,
// so that nobody sees the newer one join before the older has left.
func (s *Server) displace(name string) error {
	s.mu.Lock()
	older := s.players[strings.ToLower(name)]
	s.mu.Unlock()
	if older == nil {
		return nil
	}
	older.kick(duplicateLogin())
	select {
	case <-older.gone:
		return nil
	case <-s.settings.Clock.After(s.settings.Timeout):
		return &refused{reason: duplicateLogin()}
	}
}

func duplicateLogin() mcproto.Text {
	return mcproto.Text{Translate: "multiplayer.disconnect.duplicate_login", Fallback: "You logged in from another location"}
}

func (s *Server) leave(player *session) {
	s.mu.Lock()
	delete(s.players, strings.ToLower(player.profile.Name))
	s.mu.Unlock()
	s.logf("%s left the game", player.profile.Name)
	s.notifyLeft(player.profile)
	close(player.gone)
}

func (s *Server) online() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.players)
}

// admit is the check a server makes in the login and again when the player is
// about to join.
func (s *Server) admit(who mcproto.Profile) error {
	s.mu.Lock()
	_, present := s.players[strings.ToLower(who.Name)]
	full := len(s.players) >= s.settings.MaxPlayers
	s.mu.Unlock()
	if full && !present {
		return &refused{reason: mcproto.Text{Translate: "multiplayer.disconnect.server_full", Fallback: "The server is full!"}}
	}
	return nil
}

func (s *Server) entity() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextEntity++
	return s.nextEntity
}

func (s *Server) record(v Violation) {
	s.mu.Lock()
	s.violations = append(s.violations, v)
	s.mu.Unlock()
	s.logf("%s broke a rule: %s", v.Player, v.Detail)
}

func (s *Server) player(name string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if player := s.players[strings.ToLower(name)]; player != nil {
		return player, nil
	}
	return nil, fmt.Errorf("no player %s is online", name)
}

// logf writes one line in the form of a server's console.
func (s *Server) logf(format string, args ...any) {
	now := s.settings.Clock.Now().Format("15:04:05")
	_, _ = fmt.Fprintf(s.settings.Log, "[%s INFO]: %s\n", now, fmt.Sprintf(format, args...))
}

// refused ends a session with a reason the player sees.
type refused struct{ reason mcproto.Text }

func (r *refused) Error() string { return r.reason.String() }

// broken is a breach of a rule.
type broken struct {
	rule   Switch
	detail string
}

func (b *broken) Error() string { return b.detail }

var errEnded = errors.New("the session has ended")
