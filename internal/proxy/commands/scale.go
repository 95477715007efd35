// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const (
	refusedColor = "red"
	resetWord    = "reset"
	forWord      = "for"
)

// Usages, as they are typed.
const (
	usageScale    = "/cloud scale <group> <servers> [for <duration, such as 90m or 2d>], /cloud scale <group> reset"
	usageStart    = "/cloud start <group> <servers> [for <duration, such as 90m or 2d>]"
	usageStop     = "/cloud stop <group>"
	usageRetire   = "/cloud retire <server>"
	usageUnretire = "/cloud unretire <server>"
)

func usage(words string) Reply {
	return says(messages.Text(messages.CommandUsage, mcproto.Plain(words)))
}

// scale holds a group at a number of servers, or ends that.
func (c *Console) scale(by Asker, arguments []string) Reply {
	if len(arguments) == 2 && arguments[1] == resetWord {
		ask := &agentv1alpha1.CloudAsk_ResetGroup{ResetGroup: &agentv1alpha1.GroupName{Group: arguments[0]}}
		return c.put(by, &agentv1alpha1.CloudAsk{Ask: ask}, ends(arguments[0]))
	}
	wish, ok := servers(arguments)
	if !ok {
		return usage(usageScale)
	}
	return c.put(by, &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_ScaleGroup{ScaleGroup: wish}},
		func(answer *agentv1alpha1.CloudAnswer) []mcproto.Text {
			return made(messages.CommandScaled, wish, answer, "/cloud scale "+wish.GetGroup()+" "+resetWord)
		})
}

// start adds servers to a group.
func (c *Console) start(by Asker, arguments []string) Reply {
	wish, ok := servers(arguments)
	if !ok {
		return usage(usageStart)
	}
	return c.put(by, &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_StartServers{StartServers: wish}},
		func(answer *agentv1alpha1.CloudAnswer) []mcproto.Text {
			return made(messages.CommandStarted, wish, answer, "/cloud stop "+wish.GetGroup())
		})
}

// stop ends the boosts of a group.
func (c *Console) stop(by Asker, arguments []string) Reply {
	if len(arguments) != 1 {
		return usage(usageStop)
	}
	ask := &agentv1alpha1.CloudAsk_StopBoosts{StopBoosts: &agentv1alpha1.GroupName{Group: arguments[0]}}
	return c.put(by, &agentv1alpha1.CloudAsk{Ask: ask}, ends(arguments[0]))
}

// servers reads a group, a number and for how long.
func servers(arguments []string) (*agentv1alpha1.ScaleGroup, bool) {
	if len(arguments) != 2 && (len(arguments) != 4 || arguments[2] != forWord) {
		return nil, false
	}
	replicas, err := strconv.ParseInt(arguments[1], 10, 32)
	if err != nil {
		return nil, false
	}
	wish := &agentv1alpha1.ScaleGroup{Group: arguments[0], Replicas: int32(replicas)}
	if len(arguments) == 4 {
		lasts, ok := duration(arguments[3])
		if !ok {
			return nil, false
		}
		wish.Seconds = int64(lasts / time.Second)
	}
	return wish, true
}

// duration reads what Go does, and whole days.
func duration(text string) (time.Duration, bool) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil && n > 0
	}
	lasts, err := time.ParseDuration(text)
	return lasts, err == nil && lasts >= time.Second
}

// made says what a boost does, until when, and how to end it.
func made(key messages.Key, wish *agentv1alpha1.ScaleGroup, answer *agentv1alpha1.CloudAnswer, end string) []mcproto.Text {
	var boost *agentv1alpha1.OwnBoost
	if boosts := answer.GetBoosts(); len(boosts) > 0 {
		boost = boosts[0]
	}
	lines := []mcproto.Text{
		messages.Text(key, mcproto.Plain(wish.GetGroup()), number(int(wish.GetReplicas())), instant(boost.GetExpiresAt().AsTime())),
		messages.Text(messages.CommandBoostMade, mcproto.Plain(boost.GetName()), clickable(end)),
	}
	if answer.GetDetail() != "" {
		lines = append(lines, mcproto.Plain(sentence(answer.GetDetail())))
	}
	return lines
}

// clickable is a command that a click puts into the chat line.
func clickable(command string) mcproto.Text {
	return mcproto.Text{
		Text: command, Format: mcproto.Underlined, Hover: &mcproto.Text{Text: command},
		Click: mcproto.Click{Action: mcproto.SuggestCommand, Value: command},
	}
}

// instant is a time as people read it, wherever they are.
func instant(t time.Time) mcproto.Text { return mcproto.Plain(t.UTC().Format("2006-01-02 15:04 UTC")) }

// ends says which boosts of a group were deleted, and which stay.
func ends(group string) func(*agentv1alpha1.CloudAnswer) []mcproto.Text {
	return func(answer *agentv1alpha1.CloudAnswer) []mcproto.Text {
		var lines []mcproto.Text
		for _, boost := range answer.GetBoosts() {
			lines = append(lines, messages.Text(messages.CommandBoostEnded, mcproto.Plain(boost.GetName()), mcproto.Plain(group)))
		}
		if len(lines) == 0 {
			lines = append(lines, messages.Text(messages.CommandBoostNone, mcproto.Plain(group)))
		}
		for _, name := range answer.GetByHand() {
			lines = append(lines, messages.Text(messages.CommandBoostByHand, mcproto.Plain(name), clickable("kubectl delete scaleboost "+name)))
		}
		return lines
	}
}

func (c *Console) retire(by Asker, arguments []string) Reply {
	if len(arguments) != 1 {
		return usage(usageRetire)
	}
	ask := &agentv1alpha1.CloudAsk_RetireServer{RetireServer: &agentv1alpha1.ServerName{Server: arguments[0]}}
	return c.put(by, &agentv1alpha1.CloudAsk{Ask: ask}, about(
		messages.Text(messages.CommandRetired, mcproto.Plain(arguments[0]), clickable("/cloud unretire "+arguments[0]))))
}

func (c *Console) unretire(by Asker, arguments []string) Reply {
	if len(arguments) != 1 {
		return usage(usageUnretire)
	}
	ask := &agentv1alpha1.CloudAsk_UnretireServer{UnretireServer: &agentv1alpha1.ServerName{Server: arguments[0]}}
	return c.put(by, &agentv1alpha1.CloudAsk{Ask: ask}, about(messages.Text(messages.CommandUnretired, mcproto.Plain(arguments[0]))))
}

// about says what was done, unless the manager has more to say.
func about(line mcproto.Text) func(*agentv1alpha1.CloudAnswer) []mcproto.Text {
	return func(answer *agentv1alpha1.CloudAnswer) []mcproto.Text {
		if answer.GetDetail() != "" {
			return []mcproto.Text{mcproto.Plain(sentence(answer.GetDetail()))}
		}
		return []mcproto.Text{line}
	}
}

// unasked says why there is no answer.
func unasked(err error) mcproto.Text {
	line := messages.Text(messages.CommandNoAnswer)
	switch {
	case errors.Is(err, ErrNoManager):
		line = messages.Text(messages.CommandNoManager)
	case errors.Is(err, ErrOldManager):
		line = messages.Text(messages.CommandOldManager)
	}
	line.Color = refusedColor
	return line
}

// sentence begins with a capital and ends with a stop, unless it begins with a
// name that is written as it is.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(words)
	if name, _, _ := strings.Cut(words, " "); !strings.ContainsAny(name, "-_0123456789") {
		words = string(unicode.ToUpper(first)) + words[size:]
	}
	if strings.HasSuffix(words, ".") {
		return words
	}
	return words + "."
}

func (c *Console) suggestScale(before []string) []string {
	if len(before) == 1 {
		return []string{"0", "1", "2", "3", resetWord}
	}
	return c.suggestStart(before)
}

func (c *Console) suggestStart(before []string) []string {
	switch len(before) {
	case 0:
		return c.groupNames()
	case 1:
		return []string{"1", "2", "3"}
	case 2:
		if before[1] != resetWord {
			return []string{forWord}
		}
	case 3:
		if before[2] == forWord {
			return slices.Clone([]string{"30m", "1h", "2h", "1d"})
		}
	}
	return nil
}
