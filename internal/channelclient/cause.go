// SPDX-License-Identifier: Apache-2.0

package channelclient

import (
	"regexp"

	"github.com/go-logr/logr"
)

// changing matches the parts of an error that differ between two occurrences
// of one cause: ports, addresses, durations.
var changing = regexp.MustCompile(`[0-9]+`)

// causes logs the first of a row of equal failures and counts the others, for
// a manager may be away for hours and a pod's log is for people.
type causes struct {
	last    string
	repeats int
}

func (c *causes) failed(log logr.Logger, doing string, err error) {
	cause := doing + changing.ReplaceAllString(err.Error(), "#")
	if cause == c.last {
		c.repeats++
		return
	}
	log.Info("the session with the manager failed, trying on", "while", doing, "cause", err.Error(), "previousCauseRepeated", c.repeats)
	c.last, c.repeats = cause, 0
}

func (c *causes) connected(log logr.Logger) {
	if c.last != "" {
		log.Info("a session with the manager stands again", "lastCauseRepeated", c.repeats)
	}
	*c = causes{}
}
