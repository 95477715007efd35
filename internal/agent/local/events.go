// SPDX-License-Identifier: Apache-2.0

package local

import (
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

// serveEvents sends the server as server-sent events: at once, and whenever it
// has changed. A listener that is slow misses what is in between, never the
// last.
func serveEvents(a *api, w http.ResponseWriter, r *http.Request) {
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
	var told Self
	for first := true; ; first = false {
		self, changed := a.host.Self()
		if first || !reflect.DeepEqual(told, self) {
			told = self
			data, err := json.Marshal(self)
			if err != nil || !send("event: self\ndata: "+string(data)+"\n\n") {
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
