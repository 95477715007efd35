// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var sampleProfile = Profile{
	ID:   uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef"),
	Name: "Notch",
	Properties: []Property{
		{Name: "textures", Value: "ZmFrZQ==", Signature: "c2ln"},
		{Name: "unsigned", Value: "x"},
	},
}

func TestHandshakeKeepsTheRawHostAndCleansACopy(t *testing.T) {
	for name, tc := range map[string]struct{ raw, clean string }{
		"plain":                {"play.example.net", "play.example.net"},
		"upper case":           {"Play.Example.NET", "play.example.net"},
		"dot of an SRV record": {"play.example.net.", "play.example.net"},
		"Forge":                {"play.example.net\x00FORGE1", "play.example.net"},
		"bridge data":          {"play.example.net.\x00^Floodgate^>data", "play.example.net"},
		"protection service":   {"play.example.net///203.0.113.7:1234///99", "play.example.net"},
		"international":        {"Bücher.example", "xn--bcher-kva.example"},
		"already encoded":      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
		"an address":           {"192.0.2.1", "192.0.2.1"},
		"an IPv6 address":      {"2001:db8::1", "2001:db8::1"},
		"empty":                {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := Handshake{Protocol: 769, RawHost: tc.raw, Port: 25565, Intent: IntentLogin}
			got, err := ParseHandshake(want.Payload())
			if err != nil || got != want {
				t.Fatalf("got %+v, %v", got, err)
			}
			if got.CleanHost() != tc.clean {
				t.Fatalf("got %q, want %q", got.CleanHost(), tc.clean)
			}
		})
	}
}

func TestBadHandshakesAreErrors(t *testing.T) {
	for name, payload := range map[string][]byte{
		"empty":           nil,
		"intent 0":        Handshake{Intent: 0}.Payload(),
		"intent 4":        Handshake{Intent: 4}.Payload(),
		"host too long":   Handshake{RawHost: strings.Repeat("a", maxRawHost+1), Intent: IntentLogin}.Payload(),
		"host not UTF-8":  Handshake{RawHost: "\xff\xfe", Intent: IntentLogin}.Payload(),
		"trailing bytes":  append(Handshake{Intent: IntentLogin}.Payload(), 0),
		"cut in the port": NewWriter().VarInt(769).String("h").Raw(1).Bytes(),
	} {
		if _, err := ParseHandshake(payload); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOfflineUUIDIsTheOneTheGameMakes(t *testing.T) {
	// Taken from a vanilla server in offline mode.
	if got := OfflineUUID("Notch").String(); got != "b50ad385-829d-3141-a216-7e7d7539ba7f" {
		t.Fatalf("got %s", got)
	}
}

func TestServerHashIsTheSignedDigest(t *testing.T) {
	for name, want := range map[string]string{
		"Notch": "4ed1f46bbe04bc756bcb17c0c7ce3e4632f06a48",
		"jeb_":  "-7c9d5b0044c130109a5d7b5fb5c317c02b4e28c1",
		"simon": "88e16a1019277b15d58faf0541e11910eb756f6",
	} {
		if got := ServerHash(name, nil, nil); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestLoginSuccessEndsAsTheVersionHasIt(t *testing.T) {
	table, err := DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	session := uuid.MustParse("ffffffff-0000-4000-8000-000000000000")
	tails := map[int32]int{766: 1, 767: 1, 768: 0, 775: 0, 776: 16, 777: 16}
	for number, tail := range tails {
		p, _ := table.Lookup(number)
		payload := LoginSuccessPayload(p, sampleProfile, session)
		plain, _ := table.Lookup(769)
		if got := len(payload) - len(LoginSuccessPayload(plain, sampleProfile, session)); got != tail {
			t.Errorf("%d: %d bytes at the end, want %d", number, got, tail)
		}
		who, err := ParseLoginSuccess(p, payload)
		if diff := cmp.Diff(sampleProfile, who); diff != "" || err != nil {
			t.Errorf("%d: %v %s", number, err, diff)
		}
	}
}

func TestLoginStartRefusesNamesTheGameRefuses(t *testing.T) {
	for name, good := range map[string]bool{
		"Notch": true, "a": true, ".bedrock": true, "sixteen_letters_": true,
		"": false, "seventeen_letters": false, "with space": false, "umläut": false, "tab\t": false, "nul\x00": false,
	} {
		_, err := ParseLoginStart(LoginStartPayload(Profile{Name: name}))
		if (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestForwardedPlayerIsBelievedOnlyWithTheSecret(t *testing.T) {
	want := Forwarded{Address: "203.0.113.7", Profile: sampleProfile}
	data := want.Sign([]byte("secret"))
	got, err := VerifyForwarded([]byte("secret"), data)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v %s", err, diff)
	}
	if _, err := VerifyForwarded([]byte("other"), data); !errors.Is(err, ErrForwardingSignature) {
		t.Fatalf("with another secret: %v", err)
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		if _, err := VerifyForwarded([]byte("secret"), changed); !errors.Is(err, ErrForwardingSignature) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	if _, err := VerifyForwarded([]byte("secret"), data[:31]); !errors.Is(err, ErrMalformed) {
		t.Fatalf("cut: %v", err)
	}
}

// tree is a command tree as servers write it: a root with the literal "help".
func commandTree() []byte {
	w := NewWriter().VarInt(2)
	w.Raw(nodeRoot).VarInt(1).VarInt(1)
	w.Raw(nodeLiteral | nodeExecutable).VarInt(0).String("help")
	return w.VarInt(0).Bytes()
}

func TestInjectedCommandsAreChildrenOfTheRoot(t *testing.T) {
	got, err := InjectCommands(commandTree(), "cloud", "hub")
	if err != nil {
		t.Fatal(err)
	}
	want := NewWriter().VarInt(6)
	want.Raw(nodeRoot).VarInt(3).VarInt(1).VarInt(2).VarInt(4)
	want.Raw(nodeLiteral | nodeExecutable).VarInt(0).String("help")
	for i, literal := range []string{"cloud", "hub"} {
		want.Raw(nodeLiteral | nodeExecutable).VarInt(1).VarInt(int32(3 + 2*i)).String(literal)
		want.Raw(nodeArgument | nodeExecutable | nodeHasSuggestions).VarInt(0).String("args")
		want.VarInt(parserString).VarInt(stringGreedy).String(suggestionsServer)
	}
	want.VarInt(0)
	if diff := cmp.Diff(want.Bytes(), got); diff != "" {
		t.Fatal(diff)
	}
	if again, err := InjectCommands(got); err != nil || !bytes.Equal(again, got) {
		t.Fatalf("without literals the tree changes: %v", err)
	}
}

func TestTreesThatDoNotBeginWithTheRootAreRefused(t *testing.T) {
	for name, tree := range map[string][]byte{
		"empty":                 nil,
		"no nodes":              {0, 0, 0, 0},
		"a literal first":       {1, nodeLiteral, 0, 1, 'x', 0},
		"a root that redirects": {1, nodeRoot | nodeRedirect, 0, 0, 0},
		"the root is elsewhere": {2, nodeRoot, 0, nodeRoot, 0, 1},
		"more nodes than bytes": {0x80, 0x80, 0x40, nodeRoot, 0, 0},
	} {
		if _, err := InjectCommands(tree, "cloud"); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseHandshake(f *testing.F) {
	f.Add(Handshake{Protocol: 769, RawHost: "play.example.net\x00FML3", Port: 25565, Intent: IntentLogin}.Payload())
	f.Add(Handshake{Protocol: 777, RawHost: "Bücher.example.///1", Intent: IntentTransfer}.Payload())
	f.Fuzz(func(t *testing.T, payload []byte) {
		h, err := ParseHandshake(payload)
		if err != nil {
			return
		}
		clean := h.CleanHost()
		if strings.ContainsRune(clean, 0) || strings.Contains(clean, "///") {
			t.Fatalf("%q is not clean", clean)
		}
		if again, err := ParseHandshake(h.Payload()); err != nil || again != h {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
	})
}

func FuzzVerifyForwarded(f *testing.F) {
	secret := []byte("secret")
	f.Add(Forwarded{Address: "203.0.113.7", Profile: sampleProfile}.Sign(secret)[32:])
	f.Add([]byte{4, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		data := signedBody(secret, body)
		got, err := VerifyForwarded(secret, data)
		if err != nil {
			return
		}
		if again, err := VerifyForwarded(secret, got.Sign(secret)); err != nil || !cmp.Equal(again, got) {
			t.Fatalf("%+v became %+v, %v", got, again, err)
		}
	})
}

func FuzzInjectCommands(f *testing.F) {
	f.Add(commandTree())
	f.Fuzz(func(t *testing.T, tree []byte) {
		got, err := InjectCommands(tree, "cloud")
		if err != nil {
			return
		}
		if _, err := InjectCommands(got, "hub"); err != nil {
			t.Fatalf("the result is no tree: %v", err)
		}
	})
}

func FuzzParseLogin(f *testing.F) {
	table, err := DefaultProtocols()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(int32(769), LoginSuccessPayload(table.Newest(), sampleProfile, uuid.Nil))
	f.Add(int32(766), LoginStartPayload(sampleProfile))
	f.Add(int32(777), EncryptionRequest{PublicKey: []byte{1}, VerifyToken: []byte{2}, Authenticate: true}.Payload())
	f.Fuzz(func(t *testing.T, number int32, payload []byte) {
		if who, err := ParseLoginStart(payload); err == nil && !ValidName(who.Name) {
			t.Fatalf("name %q", who.Name)
		}
		if p, ok := table.Lookup(number); ok {
			if who, err := ParseLoginSuccess(p, payload); err == nil && len(who.Properties) > maxProperties {
				t.Fatalf("%d properties", len(who.Properties))
			}
		}
		_, _ = ParseEncryptionRequest(payload)
		_, _ = ParseEncryptionResponse(payload)
	})
}
