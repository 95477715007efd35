// SPDX-License-Identifier: Apache-2.0

package bungee

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// said is what Java's DataOutputStream writes for the words.
func said(words ...string) []byte {
	w := mcproto.NewWriter()
	for _, word := range words {
		w.JavaString(word)
	}
	return w.Bytes()
}

func TestWhatPluginsWriteIsRead(t *testing.T) {
	payload := []byte("\x00\x02my\x00\x03abc")
	for name, tt := range map[string]struct {
		data []byte
		want Request
	}{
		"ForwardToPlayer":      {append(said("ForwardToPlayer", "Ada"), payload...), Request{Subchannel: ForwardToPlayer, Player: "Ada", Payload: payload}},
		"Forward":              {append(said("Forward", "ALL"), payload...), Request{Subchannel: Forward, Target: All, Payload: payload}},
		"Connect":              {said("Connect", "lobby"), Request{Subchannel: Connect, Target: "lobby"}},
		"ConnectOther":         {said("ConnectOther", "Ada", "lobby"), Request{Subchannel: ConnectOther, Player: "Ada", Target: "lobby"}},
		"IP":                   {said("IP"), Request{Subchannel: IP}},
		"IPOther":              {said("IPOther", "Ada"), Request{Subchannel: IPOther, Player: "Ada"}},
		"PlayerCount":          {said("PlayerCount", "ALL"), Request{Subchannel: PlayerCount, Target: All}},
		"PlayerList":           {said("PlayerList", "lobby"), Request{Subchannel: PlayerList, Target: "lobby"}},
		"GetServers":           {said("GetServers"), Request{Subchannel: GetServers}},
		"GetServer":            {said("GetServer"), Request{Subchannel: GetServer}},
		"Message":              {said("Message", "ALL", "§chi"), Request{Subchannel: Message, Player: All, Text: "§chi"}},
		"MessageRaw":           {said("MessageRaw", "Ada", `{"text":"hi"}`), Request{Subchannel: MessageRaw, Player: "Ada", Text: `{"text":"hi"}`}},
		"UUID":                 {said("UUID"), Request{Subchannel: UUID}},
		"UUIDOther":            {said("UUIDOther", "Ada"), Request{Subchannel: UUIDOther, Player: "Ada"}},
		"ServerIP":             {said("ServerIP", "lobby"), Request{Subchannel: ServerIP, Target: "lobby"}},
		"KickPlayer":           {said("KickPlayer", "Ada", "out"), Request{Subchannel: KickPlayer, Player: "Ada", Text: "out"}},
		"KickPlayerRaw":        {said("KickPlayerRaw", "Ada", `"out"`), Request{Subchannel: KickPlayerRaw, Player: "Ada", Text: `"out"`}},
		"more than is needed":  {said("IP", "and more"), Request{Subchannel: IP}},
		"NUL and a clef":       {[]byte("\x00\x07Connect\x00\x08\xc0\x80\xed\xa0\xb4\xed\xb4\x9e"), Request{Subchannel: Connect, Target: "\x00𝄞"}},
		"a name without bytes": {said("Connect", ""), Request{Subchannel: Connect}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tt.data)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		want error
		says string
	}{
		"nothing":              {nil, mcproto.ErrMalformed, "reading the subchannel"},
		"half a length":        {[]byte{0}, mcproto.ErrMalformed, "reading the subchannel"},
		"half a word":          {[]byte("\x00\x09Connec"), mcproto.ErrMalformed, "reading the subchannel"},
		"a field too few":      {said("ConnectOther", "Ada"), mcproto.ErrMalformed, "reading ConnectOther"},
		"half a field":         {append(said("Connect"), 0, 9, 'x'), mcproto.ErrMalformed, "reading Connect"},
		"another case":         {said("connect", "lobby"), ErrUnknown, `"connect"`},
		"what nobody knows":    {said("GetPlayerServer", "Ada"), ErrUnknown, `no such subchannel: "GetPlayerServer"`},
		"the name of nothing":  {said("unknown"), ErrUnknown, `"unknown"`},
		"more than is allowed": {append(said("Forward", "ALL"), make([]byte, maxRequest)...), mcproto.ErrMalformed, "at most 163840"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(tt.data); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnswersAreAsBungeeCordAndVelocityWriteThem(t *testing.T) {
	id := uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef")
	from := netip.MustParseAddrPort("203.0.113.7:54321")
	for name, tt := range map[string]struct {
		got  []byte
		want string
	}{
		"IP":                  {AnswerIP(from), "\x00\x02IP\x00\x0b203.0.113.7\x00\x00\xd4\x31"},
		"IP of nobody":        {AnswerIP(netip.AddrPort{}), "\x00\x02IP\x00\x00\x00\x00\x00\x00"},
		"IPOther":             {AnswerIPOther("Ada", from), "\x00\x07IPOther\x00\x03Ada\x00\x0b203.0.113.7\x00\x00\xd4\x31"},
		"PlayerCount":         {AnswerPlayerCount("ALL", 258), "\x00\x0bPlayerCount\x00\x03ALL\x00\x00\x01\x02"},
		"PlayerList":          {AnswerPlayerList("lobby", []string{"Ada", "Ben"}), "\x00\x0aPlayerList\x00\x05lobby\x00\x08Ada, Ben"},
		"PlayerList, nobody":  {AnswerPlayerList("lobby", nil), "\x00\x0aPlayerList\x00\x05lobby\x00\x00"},
		"GetServers":          {AnswerGetServers([]string{"a", "b"}), "\x00\x0aGetServers\x00\x04a, b"},
		"GetServer":           {AnswerGetServer("a"), "\x00\x09GetServer\x00\x01a"},
		"UUID without dashes": {AnswerUUID(id), "\x00\x04UUID\x00\x200123456789abcdef0123456789abcdef"},
		"UUIDOther":           {AnswerUUIDOther("Ada", id), "\x00\x09UUIDOther\x00\x03Ada\x00\x200123456789abcdef0123456789abcdef"},
		"ServerIP":            {AnswerServerIP("a", "10.0.0.1", 25565), "\x00\x08ServerIP\x00\x01a\x00\x0810.0.0.1\x63\xdd"},
	} {
		if string(tt.got) != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
}

// A server disconnects the player over whose connection a longer message comes.
func TestALongListEndsBeforeServersTakeNoMore(t *testing.T) {
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("player_number_%d", i))
	}
	for what, got := range map[string][]byte{"players": AnswerPlayerList(All, names), "servers": AnswerGetServers(names)} {
		if len(got) > MaxMessage || len(got) < MaxMessage-40 {
			t.Errorf("%s: %d bytes", what, len(got))
		}
		r := mcproto.NewReader(got)
		r.JavaString()
		list := r.JavaString()
		if what == "players" {
			list = r.JavaString()
		}
		last := list[strings.LastIndex(list, " ")+1:]
		if r.Err() != nil || r.Len() != 0 || !strings.HasPrefix(list, "player_number_0, player_number_1, ") || !strings.HasPrefix(last, "player_number_") {
			t.Errorf("%s: %v, ends with %q", what, r.Err(), last)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range Subchannels() {
		f.Add(said(s.String(), "Ada", "lobby", "more"))
		f.Add(said(s.String()))
	}
	f.Add([]byte("\x00\x07Connect\x00\x02\xc0\xed"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrUnknown) && !errors.Is(err, mcproto.ErrMalformed) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		if r.Subchannel == Unknown || len(r.Payload) > len(data) || len(r.Payload) > 0 && !strings.HasSuffix(string(data), string(r.Payload)) {
			t.Errorf("%+v of %q", r, data)
		}
	})
}
