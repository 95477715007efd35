// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strconv"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

func TestOnlyTheLastLinesWaitForTheNextWorld(t *testing.T) {
	s := &screen{phase: phaseLeaving}
	const told = 10 * maxLanding
	for i := range told {
		if err := s.tell(nil, mcproto.Plain(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.landing) != maxLanding || s.landing[maxLanding-1].Text != strconv.Itoa(told-1) {
		t.Errorf("%d lines wait, the last is %q", len(s.landing), s.landing[len(s.landing)-1].Text)
	}
}
