// SPDX-License-Identifier: Apache-2.0

package local

import (
	"net/http"
	"strings"
	"testing"
)

func TestAPluginSaysWhoIsOnline(t *testing.T) {
	host, _ := atNoon()
	base := serve(t, host)
	for body, want := range map[string]string{
		`{"players": [{"name": "Ada", "uuid": "aaaaaaaa-0000-0000-0000-000000000000"}, {"name": "Ben"}]}`: `"players":2`,
		`{"players": []}`: `"players":0`,
	} {
		if status, said := ask(t, http.MethodPut, base+PlayersPath, body); status != http.StatusOK || !strings.Contains(said, want) {
			t.Errorf("%s is answered with %d, %s", body, status, said)
		}
	}
	for body, want := range map[string]string{
		`{}`:                                          `players is missing; send a body such as {\"players\": [{\"name\": \"Ada\"}]}, or {\"players\": []} when nobody is online`,
		`{"players": null}`:                           "players is missing",
		`{"players": [null]}`:                         "null in the place of an object",
		`{"players": [{"name": 7}]}`:                  "players.name is a number and has to be a string",
		`{"players": [{"nick": "Ada"}]}`:              `there is no field \"nick\", only name and uuid`,
		`{"players": [{"name": ""}]}`:                 `\"\" is no player's name: it has to have 1 to 64 characters`,
		`{"players": [{"name": "Ada", "uuid": "x"}]}`: `the uuid of Ada is \"x\", which is none: leave it out when it is not known`,
		`{"players": [{"name": "` + strings.Repeat("x", maxRoster) + `"}]}`: "the body is too large, and may have 262144 bytes",
	} {
		if status, said := ask(t, http.MethodPut, base+PlayersPath, body); status != http.StatusBadRequest || !strings.Contains(said, want) {
			t.Errorf("%.60s is answered with %d, %s; want %s", body, status, said, want)
		}
	}
}

func TestWhoIsOnlineIsShownInTheInventedNetworkAndMoved(t *testing.T) {
	host, _ := atNoon()
	base := serve(t, host)
	if status, said := ask(t, http.MethodPut, base+PlayersPath, `{"players": [{"name": "Ada", "uuid": "aaaaaaaa-0000-0000-0000-000000000000"}]}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	status, said := ask(t, http.MethodGet, base+NetworkPath, "")
	network := decoded[Network](t, status, said)
	own := network.Servers[0]
	if network.Players != 1 || network.Groups[0].Players != 1 || network.Proxies[0].Players != 1 || *own.Players != 1 || own.FreeSeats != 11 {
		t.Errorf("the network does not show who is online: %s", said)
	}
	for player, want := range map[string]int{"Ada": 200, "aaaaaaaa-0000-0000-0000-000000000000": 200, "Ben": 404, "bbbbbbbb-0000-0000-0000-000000000000": 404} {
		if status, said := ask(t, http.MethodPost, base+ConnectPath, `{"player": "`+player+`", "to": "arena"}`); status != want {
			t.Errorf("%s is sent elsewhere: %d %s, want %d", player, status, said, want)
		}
	}
}
