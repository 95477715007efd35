// SPDX-License-Identifier: Apache-2.0

package msmp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// scripted is a server that answers every call with the same result, after
// sending the notifications.
func scripted(t *testing.T, result string, notifications ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		for {
			_, request, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			for _, n := range notifications {
				_ = ws.Write(r.Context(), websocket.MessageText, []byte(n))
			}
			_, id, _ := strings.Cut(string(request), `"id":`)
			id = id[:strings.IndexAny(id, ",}")]
			_ = ws.Write(r.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":`+id+`,`+result+`}`))
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func dial(t *testing.T, address string, notify func(Notification)) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client, err := Dial(ctx, address, "good", notify)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func TestStatusIsReadAsServersWordIt(t *testing.T) {
	id := uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef")
	for name, tc := range map[string]struct {
		result  string
		started bool
		players []Player
	}{
		"players left out": {`"result":{"started":true,"version":{"name":"1.21.9","protocol":773}}`, true, nil},
		"no players":       {`"result":{"started":true,"players":[],"version":{"name":"1.21.9","protocol":773}}`, true, []Player{}},
		"starting":         {`"result":{"started":false}`, false, nil},
		"a player": {
			`"result":{"started":true,"players":[{"id":"` + id.String() + `","name":"Notch"}]}`, true, []Player{{ID: id, Name: "Notch"}},
		},
		"a UUID without dashes, and a name alone": {
			`"result":{"started":true,"players":[{"id":"0123456789abcdef0123456789abcdef"},{"name":"x"}]}`, true, []Player{{ID: id}, {Name: "x"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, err := dial(t, scripted(t, tc.result), nil).Status(t.Context())
			if err != nil || status.Started != tc.started || !slices.Equal(status.Players, tc.players) {
				t.Fatalf("got %+v, %v", status, err)
			}
		})
	}
}

func TestRefusedCallIsAnErrorThatNamesIt(t *testing.T) {
	client := dial(t, scripted(t, `"error":{"code":-32601,"message":"Method not found"}`), nil)
	err := client.Save(t.Context(), SaveFlush)
	if err == nil || !strings.Contains(err.Error(), "minecraft:server/save") || !strings.Contains(err.Error(), "Method not found") {
		t.Fatalf("got %v", err)
	}
}

func TestWrongSecretIsToldApart(t *testing.T) {
	address := scripted(t, `"result":true`)
	if _, err := Dial(t.Context(), address, "bad", nil); !errors.Is(err, ErrUnauthorized) {
		t.Fatalf("got %v", err)
	}
	if _, err := Dial(t.Context(), "127.0.0.1:1", "good", nil); err == nil || errors.Is(err, ErrUnauthorized) {
		t.Fatalf("without a server: %v", err)
	}
}

func TestNotificationsComeInOrderInEveryForm(t *testing.T) {
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	var got []Notification
	client := dial(t, scripted(t, `"result":true`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/server/started"}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/players/joined","params":[{"id":"`+id+`","name":"a"}]}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/players/left","params":{"player":{"id":"`+id+`","name":"a"}}}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/server/status","params":[{"started":true}]}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/players/joined","params":[]}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/players/joined"}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/gamerules/updated","params":[{}]}`,
	), func(n Notification) { got = append(got, n) })
	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	player := Player{ID: uuid.MustParse(id), Name: "a"}
	want := []Notification{
		{Event: EventStarted},
		{Event: EventJoined, Player: player},
		{Event: EventLeft, Player: player},
		{Event: EventStatus, Status: Status{Started: true}},
		{Event: "minecraft:notification/gamerules/updated"},
	}
	if !slices.EqualFunc(got, want, func(a, b Notification) bool {
		return a.Event == b.Event && a.Player == b.Player && a.Status.Started == b.Status.Started
	}) {
		t.Fatalf("got %+v", got)
	}
}

func TestLostConnectionShows(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err == nil {
			_ = ws.CloseNow()
		}
	}))
	defer server.Close()
	client, err := Dial(t.Context(), strings.TrimPrefix(server.URL, "http://"), "good", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-client.Done()
	if _, err := client.Players(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			_, _, _ = ws.Read(r.Context())
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	client, err := Dial(t.Context(), strings.TrimPrefix(server.URL, "http://"), "good", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := client.Save(ctx, SaveSoon); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestSecretsAreCheckedAsServersDo(t *testing.T) {
	for secret, good := range map[string]bool{
		strings.Repeat("aZ09", 10): true,
		strings.Repeat("a", 39):    false,
		strings.Repeat("a", 41):    false,
		strings.Repeat("a-", 20):   false,
		strings.Repeat("ä", 20):    false,
		strings.Repeat("@[`{", 10): false,
		"":                         false,
	} {
		if err := ValidSecret(secret); (err == nil) != good {
			t.Errorf("%q: %v", secret, err)
		}
	}
}
