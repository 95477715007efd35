// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// FuzzReadAsk takes the question of a proxy, once its signature is known.
func FuzzReadAsk(f *testing.F) {
	for _, seed := range []string{
		`{"server":"lobby-a","player":{"uuid":"11111111-2222-3333-4444-555555555555","name":"Ada"},"way":"Choice"}`,
		`{"player":{"name":"Ada"},"way":"Named","bypass":true}`,
		`{"player":{"name":"A da"},"way":"Choice"}`,
		`{"player":{"uuid":"1"}}`,
		`null`, `[]`, ``,
	} {
		f.Add(seed, "seat-1")
	}
	f.Fuzz(func(t *testing.T, body, id string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, seats.Path, strings.NewReader(body))
		r.SetPathValue("id", id)
		w := httptest.NewRecorder()
		ask, ok := readAsk(w, r)
		switch {
		case ok && (!mcproto.ValidName(ask.Player.Name) || ask.Way != seats.ByChoice && ask.Way != seats.ByName || len(id) > maxSeatID):
			t.Fatalf("taken: %+v", ask)
		case !ok && w.Code != http.StatusBadRequest:
			t.Fatalf("refused with %d", w.Code)
		}
	})
}
