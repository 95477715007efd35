// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"
)

// aliveEvery is when a listener hears something at the latest, so that both
// ends notice when the other is gone.
const aliveEvery = 15 * time.Second

// writeWithin bounds the wait for a listener that reads nothing.
const writeWithin = 10 * time.Second

func serveEvents(a *api, w http.ResponseWriter, r *http.Request) {
	stream(a, w, r, "self", func(context.Context) (Self, <-chan struct{}, error) {
		self, changed := a.host.Self()
		return self, changed, nil
	})
}

// stream sends something as server-sent events: at once, and whenever it has
// changed. A listener that is slow misses what is in between, never the last.
// An error of look ends it.
func stream[T any](a *api, w http.ResponseWriter, r *http.Request, event string, look func(context.Context) (T, <-chan struct{}, error)) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	send := func(text string) bool {
		// Without deadlines a listener would only be waited for longer.
		_ = control.SetWriteDeadline(a.clock.Now().Add(writeWithin))
		_, err := fmt.Fprint(w, text)
		return err == nil && control.Flush() == nil
	}
	alive := a.clock.NewTicker(aliveEvery)
	defer alive.Stop()
	var told T
	for first := true; ; first = false {
		now, changed, err := look(r.Context())
		if err != nil {
			return
		}
		if first || !reflect.DeepEqual(told, now) {
			told = now
			data, err := json.Marshal(now)
			if err != nil || !send("event: "+event+"\ndata: "+string(data)+"\n\n") {
				return
			}
		}
		select {
		case <-changed:
		case <-alive.C():
			if !send(": alive\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
