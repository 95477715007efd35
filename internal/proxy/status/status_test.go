// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

func TestAPictureForWhichThereIsNoRoomIsLeftOut(t *testing.T) {
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	picture := "data:image/png;base64," + strings.Repeat("A", 22000)
	for name, tc := range map[string]struct {
		motd  string
		shown bool
	}{
		"a text of two lines":         {"<gold>A network<newline><gray>with everything", true},
		"the longest that is plain":   {strings.Repeat("m", 1024), true},
		"as many colours as possible": {strings.Repeat("§am§dn", 170), false},
	} {
		answer := List{MOTD: tc.motd, Favicon: picture, Limit: 500}.json(table, 769)
		if shown := strings.Contains(answer, picture); shown != tc.shown || len(answer) > maxAnswer {
			t.Errorf("%s: shown %t in %d bytes", name, shown, len(answer))
		}
	}
}
