// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/msmp"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

const patience = 20 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func startServer(t testing.TB, settings Settings) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := Start(ctx, settings)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		<-s.Done()
	})
	return s
}

func joinBot(t testing.TB, settings BotSettings) *Bot {
	t.Helper()
	b, err := Join(testContext(t), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Leave)
	return b
}

func onServer(t testing.TB, b *Bot, wanted ...string) {
	t.Helper()
	if _, err := b.WaitServer(testContext(t), wanted...); err != nil {
		t.Fatal(err)
	}
}

// eventually awaits a condition of the other side.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx := testContext(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

func TestBotsOfEveryVersionJoinTheStrictServer(t *testing.T) {
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, Settings{Name: "lobby-1", KeepAlive: 20 * time.Millisecond})
	for _, protocol := range table.Numbers() {
		t.Run(strconv.Itoa(int(protocol)), func(t *testing.T) {
			b := joinBot(t, BotSettings{Address: s.Address(), Name: fmt.Sprintf("bot%d", protocol), Protocol: protocol, Locale: "de_de"})
			onServer(t, b, "lobby-1")
			if err := b.Command("list"); err != nil {
				t.Fatal(err)
			}
			if _, err := b.WaitLine(testContext(t), func(line string) bool {
				return strings.HasPrefix(line, "There are ") && strings.HasSuffix(line, b.Name())
			}); err != nil {
				t.Fatal(err)
			}
			if err := b.Chat("hello"); err != nil {
				t.Fatal(err)
			}
			if _, err := b.WaitLine(testContext(t), func(line string) bool { return line == "<"+b.Name()+"> hello" }); err != nil {
				t.Fatal(err)
			}
			client, err := s.ClientOf(b.Name())
			if err != nil || client.Brand != "vanilla" || client.Locale != "de_de" {
				t.Fatalf("got %+v, %v", client, err)
			}
			b.Leave()
			eventually(t, "the server forgets the player", func() bool { return len(s.Players()) == 0 })
		})
	}
	if v := s.Violations(); len(v) > 0 {
		t.Fatalf("violations: %+v", v)
	}
}

func TestPlayersStayConnectedByAnsweringKeepAlives(t *testing.T) {
	s := startServer(t, Settings{KeepAlive: 5 * time.Millisecond, Timeout: 500 * time.Millisecond})
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "alive"})
	onServer(t, b)
	eventually(t, "a hundred packets", func() bool { return b.Stats().Packets > 120 })
	if err := b.Err(); err != nil || len(s.Violations()) > 0 {
		t.Fatalf("%v, %+v", err, s.Violations())
	}
}

func TestPlayerWhoDoesNotAnswerTimesOut(t *testing.T) {
	s := startServer(t, Settings{KeepAlive: 10 * time.Millisecond, Timeout: time.Second})
	mute := func(b *Bot, state mcproto.State, id int32, _ []byte) (bool, error) {
		return state == mcproto.StatePlay && id == b.protocol.PlayClient.KeepAlive, nil
	}
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "mute", Moves: 50, intercept: mute})
	<-b.Done()
	var gone *Disconnected
	if err := b.Err(); !errors.As(err, &gone) || gone.Reason.String() != "Timed out" {
		t.Fatalf("got %v", err)
	}
}

func TestRefusalReachesThePlayerInTheStateOfItsStage(t *testing.T) {
	for name, tc := range map[string]struct {
		at   Stage
		want mcproto.State
	}{
		"at login":            {AtLogin, mcproto.StateLogin},
		"in configuration":    {AtConfiguration, mcproto.StateConfiguration},
		"after registries":    {AfterRegistries, mcproto.StateConfiguration},
		"at its end, in play": {AtConfigurationEnd, mcproto.StatePlay},
		"in play":             {AtPlay, mcproto.StatePlay},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Settings{})
			s.Refuse(tc.at, mcproto.Text{Text: "not today", Color: "red"})
			b := joinBot(t, BotSettings{Address: s.Address(), Name: "unwanted"})
			<-b.Done()
			want := &Disconnected{State: tc.want, Reason: mcproto.Text{Text: "not today", Color: "red"}}
			var got *Disconnected
			if err := b.Err(); !errors.As(err, &got) || !cmp.Equal(want, got) {
				t.Fatalf("got %v", err)
			}
			if (tc.at >= AfterRegistries) != (len(b.registries) > 0) {
				t.Fatalf("the client has %d registries", len(b.registries))
			}
			s.Admit()
			onServer(t, joinBot(t, BotSettings{Address: s.Address(), Name: "unwanted"}))
		})
	}
}

func TestFullServerRefusesAtLogin(t *testing.T) {
	s := startServer(t, Settings{MaxPlayers: 1})
	onServer(t, joinBot(t, BotSettings{Address: s.Address(), Name: "first"}))
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "second"})
	<-b.Done()
	var got *Disconnected
	if err := b.Err(); !errors.As(err, &got) || got.Reason.Translate != "multiplayer.disconnect.server_full" {
		t.Fatalf("got %v", err)
	}
}

func TestSecondLoginOfANameEndsTheFirst(t *testing.T) {
	s := startServer(t, Settings{})
	older := joinBot(t, BotSettings{Address: s.Address(), Name: "twin"})
	onServer(t, older)
	newer := joinBot(t, BotSettings{Address: s.Address(), Name: "TWIN"})
	onServer(t, newer)
	<-older.Done()
	var got *Disconnected
	if err := older.Err(); !errors.As(err, &got) || got.Reason.Translate != "multiplayer.disconnect.duplicate_login" {
		t.Fatalf("got %v", err)
	}
	if n := len(s.Players()); n != 1 {
		t.Fatalf("%d players", n)
	}
}

func TestReconfiguredPlayerComesBack(t *testing.T) {
	s := startServer(t, Settings{Name: "lobby-1", KeepAlive: 5 * time.Millisecond})
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "roundtrip"})
	onServer(t, b)
	for range 3 {
		b.ForgetLines()
		if err := s.Reconfigure("roundtrip"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.WaitLine(testContext(t), func(line string) bool { return line == WelcomePrefix+"lobby-1" }); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "three switches", func() bool { return len(b.Stats().Switches) == 3 })
	if v := s.Violations(); len(v) > 0 {
		t.Fatalf("violations: %+v", v)
	}
}

func TestOnlineModeKnowsWhoJoined(t *testing.T) {
	sessions, err := StartSessionServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	who := mcproto.Profile{
		ID: uuid.New(), Name: "Premium",
		Properties: []mcproto.Property{{Name: "textures", Value: "ZmFrZQ==", Signature: "c2ln"}},
	}
	account := &Account{Profile: who, Token: sessions.Register(who), SessionServer: sessions.URL()}
	s := startServer(t, Settings{Authentication: Online, SessionServer: sessions.URL()})

	b := joinBot(t, BotSettings{Address: s.Address(), Account: account})
	onServer(t, b)
	if diff := cmp.Diff([]mcproto.Profile{who}, s.Players()); diff != "" {
		t.Fatal(diff)
	}
	b.Leave()

	thief := *account
	thief.Token = "stolen"
	b = joinBot(t, BotSettings{Address: s.Address(), Account: &thief})
	if <-b.Done(); b.Err() == nil || !strings.Contains(b.Err().Error(), "403") {
		t.Fatalf("got %v", b.Err())
	}

	sessions.Fail(429)
	b = joinBot(t, BotSettings{Address: s.Address(), Account: account})
	if <-b.Done(); b.Err() == nil || !strings.Contains(b.Err().Error(), "429") {
		t.Fatalf("got %v", b.Err())
	}
	sessions.Fail(0)
	onServer(t, joinBot(t, BotSettings{Address: s.Address(), Account: account}))
	if n := sessions.Asked(); n != 2 {
		t.Fatalf("asked %d times", n)
	}
}

func TestOnlineModeWithoutASessionServerLetsNobodyIn(t *testing.T) {
	sessions, err := StartSessionServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	who := mcproto.Profile{ID: uuid.New(), Name: "Premium"}
	account := &Account{Profile: who, Token: sessions.Register(who), SessionServer: sessions.URL()}
	s := startServer(t, Settings{Authentication: Online})
	b := joinBot(t, BotSettings{Address: s.Address(), Account: account})
	<-b.Done()
	var got *Disconnected
	if err := b.Err(); !errors.As(err, &got) || got.Reason.Translate != "multiplayer.disconnect.unverified_username" {
		t.Fatalf("got %v", err)
	}
}

func TestWorldRemembersItsJoins(t *testing.T) {
	directory := t.TempDir()
	for run := range 3 {
		s := startServer(t, Settings{Directory: directory})
		b := joinBot(t, BotSettings{Address: s.Address(), Name: "builder"})
		want := fmt.Sprintf("This world has seen %d joins", run+1)
		if _, err := b.WaitLine(testContext(t), func(line string) bool { return line == want }); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(t.Context(), Settings{Directory: directory}); err == nil {
			t.Fatal("a second server opened the same world")
		}
		s.Stop()
		<-s.Done()
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		<-b.Done()
		var got *Disconnected
		if err := b.Err(); !errors.As(err, &got) || got.Reason.String() != "Server closed" {
			t.Fatalf("got %v", err)
		}
	}
}

func TestStatusPingIsAnsweredOnceTheWorldIsLoaded(t *testing.T) {
	s := startServer(t, Settings{Name: "lobby-1", MaxPlayers: 7, StartupDelay: 50 * time.Millisecond})
	for range 2 {
		status, err := slp.Ping(testContext(t), s.Address(), 769)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.Started():
		default:
			t.Fatal("answered before the start")
		}
		want := slp.Status{Max: 7, Version: "Double 1.21.4", Protocol: 769, Description: mcproto.Plain("lobby-1"), Sample: []slp.Player{}}
		if diff := cmp.Diff(want, status); diff != "" {
			t.Fatal(diff)
		}
	}
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "counted"})
	onServer(t, b)
	status, err := slp.Ping(testContext(t), s.Address(), 775)
	if err != nil || status.Online != 1 || status.Sample[0].Name != "counted" || status.Protocol != 775 {
		t.Fatalf("got %+v, %v", status, err)
	}
}

func dialManagement(t *testing.T, s *Server) (*msmp.Client, <-chan msmp.Notification) {
	t.Helper()
	events := make(chan msmp.Notification, 100)
	client, err := msmp.Dial(testContext(t), s.ManagementAddress(), s.settings.Management.Secret, func(n msmp.Notification) { events <- n })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, events
}

func TestManagementTellsWhoComesAndGoes(t *testing.T) {
	s := startServer(t, Settings{Management: &ManagementSettings{Secret: strings.Repeat("a1B2", 10)}, StartupDelay: 100 * time.Millisecond})
	client, events := dialManagement(t, s)
	if status, err := client.Status(testContext(t)); err != nil || status.Started || status.Players != nil {
		t.Fatalf("before the start: %+v, %v", status, err)
	}
	wantEvent(t, events, msmp.EventStarted)
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "visitor"})
	want := msmp.Player{ID: mcproto.OfflineUUID("visitor"), Name: "visitor"}
	if got := wantEvent(t, events, msmp.EventJoined); got.Player != want {
		t.Fatalf("got %+v", got)
	}
	status, err := client.Status(testContext(t))
	if err != nil || !status.Started || !slices.Equal(status.Players, []msmp.Player{want}) {
		t.Fatalf("got %+v, %v", status, err)
	}
	if players, err := client.Players(testContext(t)); err != nil || !slices.Equal(players, []msmp.Player{want}) {
		t.Fatalf("got %+v, %v", players, err)
	}
	b.Leave()
	if got := wantEvent(t, events, msmp.EventLeft); got.Player != want {
		t.Fatalf("got %+v", got)
	}
}

func TestManagementSavesAndStops(t *testing.T) {
	s := startServer(t, Settings{Management: &ManagementSettings{Secret: strings.Repeat("a1B2", 10)}})
	client, events := dialManagement(t, s)
	<-s.Started()
	if err := client.Save(testContext(t), msmp.SaveFlush); err != nil {
		t.Fatal(err)
	}
	for event := range events {
		if event.Event == msmp.EventSaving {
			break
		}
	}
	wantEvent(t, events, msmp.EventSaved)
	if err := client.Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	<-client.Done()
	wantEvent(t, events, msmp.EventStopping)
	if _, err := client.Status(testContext(t)); err == nil {
		t.Fatal("a stopped server answered")
	}
}

func wantEvent(t *testing.T, events <-chan msmp.Notification, want msmp.Event) msmp.Notification {
	t.Helper()
	select {
	case got := <-events:
		if got.Event != want {
			t.Fatalf("got %+v, want %s", got, want)
		}
		return got
	case <-testContext(t).Done():
		t.Fatalf("no %s", want)
	}
	return msmp.Notification{}
}

func TestManagementRefusesAnotherSecret(t *testing.T) {
	s := startServer(t, Settings{Management: &ManagementSettings{Secret: strings.Repeat("a", 40)}})
	_, err := msmp.Dial(testContext(t), s.ManagementAddress(), strings.Repeat("b", 40), nil)
	if !errors.Is(err, msmp.ErrUnauthorized) {
		t.Fatalf("got %v", err)
	}
	if _, err := Start(t.Context(), Settings{Management: &ManagementSettings{Secret: "short"}}); err == nil {
		t.Fatal("started with a secret of five characters")
	}
}

func TestServerThatNobodyStartedToTalkToIsQuiet(t *testing.T) {
	s := startServer(t, Settings{})
	nc, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Close(); err != nil {
		t.Fatal(err)
	}
	garbage, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := garbage.Write([]byte("GET / HTTP/1.1\r\n" + strings.Repeat("x", 100))); err != nil {
		t.Fatal(err)
	}
	_ = garbage.SetReadDeadline(time.Now().Add(patience))
	if n, err := garbage.Read(make([]byte, 1)); n != 0 || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("read %d, %v", n, err)
	}
	if v := s.Violations(); len(v) > 0 {
		t.Fatalf("violations: %+v", v)
	}
}

func TestHundredsOfBotsFitInOneProcess(t *testing.T) {
	const n = 300
	s := startServer(t, Settings{MaxPlayers: n, Traffic: Traffic{Small: 20}})
	bots := make([]*Bot, n)
	for i := range bots {
		bots[i] = joinBot(t, BotSettings{Address: s.Address(), Name: fmt.Sprintf("bot%d", i), Moves: 20})
	}
	for _, b := range bots {
		onServer(t, b)
	}
	if got := len(s.Players()); got != n {
		t.Fatalf("%d players", got)
	}
	eventually(t, "traffic for everybody", func() bool { return bots[n-1].Stats().Packets > 60 })
	for _, b := range bots {
		if err := b.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLatencyDelaysEachRoundTrip(t *testing.T) {
	s := startServer(t, Settings{})
	const latency = 100 * time.Millisecond
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "faraway", Latency: latency})
	onServer(t, b)
	// Cookie, success, known packs, pack, ping and finish are a round trip
	// each.
	if took := b.Stats().Join; took < 6*latency || took > 60*latency {
		t.Fatalf("joined after %s", took)
	}
}
