// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

const patience = time.Minute

// versions are those most tests run with, and their protocols.
var versions = map[string]int32{"1.20.6": 766, "1.21.4": 769, "1.21.11": 774, "26.1": 775}

// clientVersions are one for each protocol that the client from npm speaks.
var clientVersions = []string{"1.20.6", "1.21.1", "1.21.3", "1.21.4", "1.21.5", "1.21.6", "1.21.8", "1.21.9", "1.21.11", "26.1"}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func startDouble(t *testing.T, settings mctest.Settings) *mctest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := mctest.Start(ctx, settings)
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

func startClient(t *testing.T, address, version, name string, env ...string) *Peer {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := StartClient(context.Background(), ClientSettings{Host: host, Port: port, Version: version, Name: name, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func startServer(t *testing.T, env ...string) (*Peer, string) {
	t.Helper()
	p, err := StartServer(context.Background(), append([]string{"SERVER_PORT=0", "SERVER_IP=127.0.0.1", "SERVER_NAME=npm-1"}, env...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	listening := sees(t, p, "listening", "")
	return p, fmt.Sprintf("127.0.0.1:%d", listening.Port)
}

func sees(t *testing.T, p *Peer, kind, contains string) Event {
	t.Helper()
	event, err := p.WaitKind(testContext(t), kind, contains)
	if err != nil {
		t.Fatalf("%s %q: %v", kind, contains, err)
	}
	return event
}

func TestTheirClientPlaysOnOurDouble(t *testing.T) {
	for _, version := range clientVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startDouble(t, mctest.Settings{Name: "lobby-1", KeepAlive: 50 * time.Millisecond})
			client := startClient(t, s.Address(), version, "npmplayer")
			sees(t, client, "chat", mctest.WelcomePrefix+"lobby-1")
			login := sees(t, client, "login", "")
			if want := mcproto.OfflineUUID("npmplayer").String(); login.UUID != want {
				t.Errorf("the client is %s, want %s", login.UUID, want)
			}
			if err := client.Send("/list"); err != nil {
				t.Fatal(err)
			}
			sees(t, client, "chat", "There are 1 of a max of 20 players online: npmplayer")
			says(t, client, "hello everybody", "<npmplayer> hello everybody")
			for round := range 2 {
				if err := s.Reconfigure("npmplayer"); err != nil {
					t.Fatal(err)
				}
				welcome := func(e Event) bool { return e.Text == mctest.WelcomePrefix+"lobby-1" }
				if _, err := client.WaitNth(testContext(t), round+2, welcome); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Kick("npmplayer", mcproto.Text{Translate: "spawnery.test", Fallback: "bye %s", With: []mcproto.Text{mcproto.Plain("now")}}); err != nil {
				t.Fatal(err)
			}
			sees(t, client, "disconnect", "bye now")
			if v := s.Violations(); len(v) > 0 {
				t.Errorf("violations: %+v", v)
			}
			for _, e := range client.Events() {
				if e.Kind == "error" {
					t.Errorf("the client reports %s", e.Message)
				}
			}
		})
	}
}

func TestTheirClientAuthenticatesOnOurDouble(t *testing.T) {
	sessions, err := mctest.StartSessionServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	who := mcproto.Profile{ID: uuid.New(), Name: "Premium", Properties: []mcproto.Property{{Name: "textures", Value: "ZmFrZQ=="}}}
	token := sessions.Register(who)
	s := startDouble(t, mctest.Settings{Authentication: mctest.Online, SessionServer: sessions.URL()})
	client := startClient(t, s.Address(), "1.21.4", who.Name,
		"SESSION_SERVER="+sessions.URL(), "ACCESS_TOKEN="+token, "PROFILE_ID="+strings.ReplaceAll(who.ID.String(), "-", ""))
	if login := sees(t, client, "login", ""); login.UUID != who.ID.String() {
		t.Fatalf("the client is %s", login.UUID)
	}
}

func TestOurBotPlaysOnTheirServer(t *testing.T) {
	for version, protocol := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server, address := startServer(t, "VERSION="+version)
			status, err := slp.Ping(testContext(t), address, protocol)
			if err != nil || status.Protocol != protocol || status.Max != 20 || status.Description.String() != "npm-1" {
				t.Fatalf("got %+v, %v", status, err)
			}
			b, err := mctest.Join(testContext(t), mctest.BotSettings{Address: address, Name: "gobot", Protocol: protocol})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Leave()
			if _, err := b.WaitServer(testContext(t), "npm-1"); err != nil {
				t.Fatalf("%v; the server saw %s", err, server.Story())
			}
			if err := b.Command("ping me"); err != nil {
				t.Fatal(err)
			}
			sees(t, server, "command", "ping me")
			if _, err := b.WaitLine(testContext(t), func(line string) bool { return line == "You ran /ping me" }); err != nil {
				t.Fatal(err)
			}
			server.Stop()
			<-b.Done()
			if reason := b.Err().Error(); !strings.Contains(reason, "Server closed") {
				t.Fatalf("got %s", reason)
			}
		})
	}
}

func TestTheirServerVerifiesOurForwarding(t *testing.T) {
	who := mcproto.Profile{
		ID: uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef"), Name: "Forwarded",
		Properties: []mcproto.Property{{Name: "textures", Value: "ZmFrZQ==", Signature: "c2ln"}},
	}
	data := mcproto.Forwarded{Address: "203.0.113.7", Profile: who}.Sign([]byte("s3cret"))
	server, address := startServer(t, "PAPER_VELOCITY_SECRET=s3cret")
	if id, err := login(t, address, who, data); err != nil || id != mcproto.LoginCompression {
		t.Fatalf("packet %#x, %v; the server saw %s", id, err, server.Story())
	}
	event := sees(t, server, "forwarded", "")
	if event.UUID != who.ID.String() || event.Username != who.Name || event.Address != "203.0.113.7" {
		t.Fatalf("got %+v", event)
	}
	wrong := mcproto.Forwarded{Address: "203.0.113.7", Profile: who}.Sign([]byte("other"))
	for name, answer := range map[string][]byte{"another secret": wrong, "no answer": nil} {
		if id, err := login(t, address, who, answer); err != nil || id != mcproto.LoginDisconnect {
			t.Fatalf("%s: packet %#x, %v", name, id, err)
		}
	}
}

// login answers the forwarding question and returns the id of what follows.
func login(t *testing.T, address string, who mcproto.Profile, answer []byte) (int32, error) {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(patience))
	conn := mcproto.NewConn(nc)
	hello := mcproto.Handshake{Protocol: 769, RawHost: "localhost", Port: 25565, Intent: mcproto.IntentLogin}
	if err := conn.WritePacket(mcproto.HandshakeIntention, hello.Payload()); err != nil {
		return 0, err
	}
	if err := conn.WritePacket(mcproto.LoginStart, mcproto.LoginStartPayload(who)); err != nil {
		return 0, err
	}
	var f mcproto.Frame
	if err := conn.ReadFrame(&f); err != nil {
		return 0, err
	}
	payload, err := f.Payload()
	if err != nil {
		return 0, err
	}
	question, err := mcproto.ParseLoginPluginQuestion(payload)
	if err != nil || f.ID != mcproto.LoginPluginRequest || question.Channel != mcproto.ForwardingChannel {
		return f.ID, fmt.Errorf("question %+v: %w", question, err)
	}
	reply := mcproto.LoginPluginAnswer{ID: question.ID, Data: answer}
	if err := conn.WritePacket(mcproto.LoginPluginResponse, reply.Payload()); err != nil {
		return 0, err
	}
	err = conn.ReadFrame(&f)
	return f.ID, err
}

// theirNames are the names published data has for the packets of our table.
var theirNames = map[string]map[string]func(*mcproto.Protocol) int32{
	"configuration.toClient": {
		"cookie_request":       func(p *mcproto.Protocol) int32 { return p.ConfigClient.CookieRequest },
		"custom_payload":       func(p *mcproto.Protocol) int32 { return p.ConfigClient.PluginMessage },
		"disconnect":           func(p *mcproto.Protocol) int32 { return p.ConfigClient.Disconnect },
		"finish_configuration": func(p *mcproto.Protocol) int32 { return p.ConfigClient.Finish },
		"keep_alive":           func(p *mcproto.Protocol) int32 { return p.ConfigClient.KeepAlive },
		"ping":                 func(p *mcproto.Protocol) int32 { return p.ConfigClient.Ping },
		"registry_data":        func(p *mcproto.Protocol) int32 { return p.ConfigClient.RegistryData },
		"remove_resource_pack": func(p *mcproto.Protocol) int32 { return p.ConfigClient.ResourcePackPop },
		"add_resource_pack":    func(p *mcproto.Protocol) int32 { return p.ConfigClient.ResourcePackPush },
		"store_cookie":         func(p *mcproto.Protocol) int32 { return p.ConfigClient.StoreCookie },
		"transfer":             func(p *mcproto.Protocol) int32 { return p.ConfigClient.Transfer },
		"feature_flags":        func(p *mcproto.Protocol) int32 { return p.ConfigClient.FeatureFlags },
		"tags":                 func(p *mcproto.Protocol) int32 { return p.ConfigClient.Tags },
		"select_known_packs":   func(p *mcproto.Protocol) int32 { return p.ConfigClient.KnownPacks },
		"show_dialog":          func(p *mcproto.Protocol) int32 { return p.ConfigClient.ShowDialog },
		"clear_dialog":         func(p *mcproto.Protocol) int32 { return p.ConfigClient.ClearDialog },
		"code_of_conduct":      func(p *mcproto.Protocol) int32 { return p.ConfigClient.CodeOfConduct },
	},
	"configuration.toServer": {
		"settings":               func(p *mcproto.Protocol) int32 { return p.ConfigServer.ClientInformation },
		"cookie_response":        func(p *mcproto.Protocol) int32 { return p.ConfigServer.CookieResponse },
		"custom_payload":         func(p *mcproto.Protocol) int32 { return p.ConfigServer.PluginMessage },
		"finish_configuration":   func(p *mcproto.Protocol) int32 { return p.ConfigServer.Finish },
		"keep_alive":             func(p *mcproto.Protocol) int32 { return p.ConfigServer.KeepAlive },
		"pong":                   func(p *mcproto.Protocol) int32 { return p.ConfigServer.Pong },
		"resource_pack_receive":  func(p *mcproto.Protocol) int32 { return p.ConfigServer.ResourcePack },
		"select_known_packs":     func(p *mcproto.Protocol) int32 { return p.ConfigServer.KnownPacks },
		"custom_click_action":    func(p *mcproto.Protocol) int32 { return p.ConfigServer.CustomClick },
		"accept_code_of_conduct": func(p *mcproto.Protocol) int32 { return p.ConfigServer.AcceptCodeOfConduct },
	},
	"play.toClient": {
		"bundle_delimiter":     func(p *mcproto.Protocol) int32 { return p.PlayClient.Bundle },
		"clear_titles":         func(p *mcproto.Protocol) int32 { return p.PlayClient.ClearTitles },
		"tab_complete":         func(p *mcproto.Protocol) int32 { return p.PlayClient.Suggestions },
		"declare_commands":     func(p *mcproto.Protocol) int32 { return p.PlayClient.Commands },
		"cookie_request":       func(p *mcproto.Protocol) int32 { return p.PlayClient.CookieRequest },
		"custom_payload":       func(p *mcproto.Protocol) int32 { return p.PlayClient.PluginMessage },
		"kick_disconnect":      func(p *mcproto.Protocol) int32 { return p.PlayClient.Disconnect },
		"keep_alive":           func(p *mcproto.Protocol) int32 { return p.PlayClient.KeepAlive },
		"login":                func(p *mcproto.Protocol) int32 { return p.PlayClient.Login },
		"ping":                 func(p *mcproto.Protocol) int32 { return p.PlayClient.Ping },
		"position":             func(p *mcproto.Protocol) int32 { return p.PlayClient.PlayerPosition },
		"remove_resource_pack": func(p *mcproto.Protocol) int32 { return p.PlayClient.ResourcePackPop },
		"add_resource_pack":    func(p *mcproto.Protocol) int32 { return p.PlayClient.ResourcePackPush },
		"start_configuration":  func(p *mcproto.Protocol) int32 { return p.PlayClient.StartConfiguration },
		"store_cookie":         func(p *mcproto.Protocol) int32 { return p.PlayClient.StoreCookie },
		"system_chat":          func(p *mcproto.Protocol) int32 { return p.PlayClient.SystemChat },
		"playerlist_header":    func(p *mcproto.Protocol) int32 { return p.PlayClient.TabList },
		"transfer":             func(p *mcproto.Protocol) int32 { return p.PlayClient.Transfer },
		"show_dialog":          func(p *mcproto.Protocol) int32 { return p.PlayClient.ShowDialog },
		"clear_dialog":         func(p *mcproto.Protocol) int32 { return p.PlayClient.ClearDialog },
	},
	"play.toServer": {
		"teleport_confirm":           func(p *mcproto.Protocol) int32 { return p.PlayServer.TeleportConfirm },
		"message_acknowledgement":    func(p *mcproto.Protocol) int32 { return p.PlayServer.ChatAck },
		"chat_command":               func(p *mcproto.Protocol) int32 { return p.PlayServer.ChatCommand },
		"chat_command_signed":        func(p *mcproto.Protocol) int32 { return p.PlayServer.ChatCommandSigned },
		"chat_message":               func(p *mcproto.Protocol) int32 { return p.PlayServer.ChatMessage },
		"settings":                   func(p *mcproto.Protocol) int32 { return p.PlayServer.ClientInformation },
		"tab_complete":               func(p *mcproto.Protocol) int32 { return p.PlayServer.Suggestions },
		"configuration_acknowledged": func(p *mcproto.Protocol) int32 { return p.PlayServer.ConfigurationAck },
		"cookie_response":            func(p *mcproto.Protocol) int32 { return p.PlayServer.CookieResponse },
		"custom_payload":             func(p *mcproto.Protocol) int32 { return p.PlayServer.PluginMessage },
		"keep_alive":                 func(p *mcproto.Protocol) int32 { return p.PlayServer.KeepAlive },
		"flying":                     func(p *mcproto.Protocol) int32 { return p.PlayServer.Move },
		"pong":                       func(p *mcproto.Protocol) int32 { return p.PlayServer.Pong },
		"resource_pack_receive":      func(p *mcproto.Protocol) int32 { return p.PlayServer.ResourcePack },
		"custom_click_action":        func(p *mcproto.Protocol) int32 { return p.PlayServer.CustomClick },
	},
}

// publishedIDs are the packet ids of published data, by protocol, and by state
// and direction.
func publishedIDs(t *testing.T) map[int32]map[string]map[string]int32 {
	t.Helper()
	directory, err := Directory()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "packetids.js")
	cmd.Dir = directory
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var published map[int32]map[string]map[string]int32
	if err := json.Unmarshal(out, &published); err != nil {
		t.Fatal(err)
	}
	return published
}

func TestOurPacketIDsAreThePublishedOnes(t *testing.T) {
	published := publishedIDs(t)
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range table.Numbers() {
		row, _ := table.Lookup(number)
		ids, known := published[number]
		if said := strings.HasPrefix(row.Source, "minecraft-data "); said != known {
			t.Errorf("the row of protocol %d is from %q; published: %t", number, row.Source, known)
		}
		if known {
			compare(t, row, ids)
		}
	}
	if len(published) < 10 {
		t.Errorf("only %d protocols were compared", len(published))
	}
}

func compare(t *testing.T, row *mcproto.Protocol, published map[string]map[string]int32) {
	t.Helper()
	for group, names := range theirNames {
		for name, ours := range names {
			want, exists := published[group][name]
			if !exists {
				want = mcproto.Absent
			}
			if got := ours(row); got != want {
				t.Errorf("protocol %d: %s %s is %#x, published is %#x", row.Number, group, name, got, want)
			}
		}
	}
}
