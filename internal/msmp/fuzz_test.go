// SPDX-License-Identifier: Apache-2.0

package msmp

import (
	"encoding/json"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// FuzzNotification takes a message as the stream hands it over.
func FuzzNotification(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","method":"minecraft:notification/players/joined","params":[{"id":"11111111-2222-3333-4444-555555555555","name":"Ada"}]}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/players/left","params":{"player":{"name":"Ada"}}}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/server/status","params":[{"started":true,"players":[{}],"version":{"name":"26.1","protocol":775}}]}`,
		`{"jsonrpc":"2.0","method":"minecraft:notification/server/saving"}`,
		`{"method":"minecraft:notification/players/joined","params":[]}`,
		`{"method":"minecraft:notification/players/joined","params":null}`,
		`{"method":"minecraft:notification/players/joined","params":{}}`,
		`{"id":1,"method":"x","params":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		var request jsonrpc2.Request
		if json.Unmarshal(message, &request) != nil {
			return
		}
		heard := 0
		notifier(func(Notification) { heard++ }).Handle(t.Context(), nil, &request)
		if heard > 1 || heard == 1 && !request.Notif {
			t.Fatalf("heard %d times", heard)
		}
	})
}

// FuzzAnswers reads what a server answers.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"started":true,"players":[{"id":"11111111-2222-3333-4444-555555555555","name":"Ada"}],"version":{"name":"26.1","protocol":775}}`))
	f.Add([]byte(`[{"name":"Ada"},{}]`))
	f.Add([]byte(`{"players":[{"id":""}]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var status Status
		if err := json.Unmarshal(answer, &status); err == nil {
			if _, err := json.Marshal(status); err != nil {
				t.Fatal(err)
			}
		}
		var players []Player
		_ = json.Unmarshal(answer, &players)
	})
}
