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
