// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

const (
	// maxRoster bounds the body that names who is online, in bytes.
	maxRoster = 256 << 10
	// longestName is more than any game allows.
	longestName = 64
)

// Roster is the body of PUT /v1/players.
type Roster struct {
	// Players are all who are online.
	Players []Person `json:"players"`
}

// Person is one player, as the game knows them.
type Person struct {
	Name string `json:"name"`
	// UUID may be absent: players are matched by name then.
	UUID string `json:"uuid,omitempty"`
}

func servePlayers(a *api, w http.ResponseWriter, r *http.Request) {
	var body Roster
	if !readUpTo(maxRoster, w, r, &body) {
		return
	}
	if err := body.check(); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if err := a.host.Count(body.Players); err != nil {
		fail(w, err)
		return
	}
	serveSelf(a, w, r)
}

func (r *Roster) check() error {
	for _, one := range r.Players {
		if one.Name == "" || len(one.Name) > longestName {
			return fmt.Errorf("%q is no player's name: it has to have 1 to %d characters", one.Name, longestName)
		}
		if one.UUID == "" {
			continue
		}
		if _, err := uuid.Parse(one.UUID); err != nil {
			return fmt.Errorf("the uuid of %s is %q, which is none: leave it out when it is not known", one.Name, one.UUID)
		}
	}
	return nil
}
