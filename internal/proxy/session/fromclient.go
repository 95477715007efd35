// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// commandWithin bounds a command of the player's.
const commandWithin = 10 * time.Second

// clientSilence is how long a client may send nothing. It answers our
// keep-alives or the server's, which come more often.
const clientSilence = 30 * time.Second

const (
	// maxOpened bounds the packets of a client that are decompressed here. The
	// game's own have 32 KiB at most; a few bytes can unfold to megabytes.
	maxOpened = 256 << 10
	// maxInformation bounds what is kept of a client for the next server.
	maxInformation = 1 << 10
)

// readClient takes what the client sends until its stream ends.
func (p *Player) readClient() error {
	patient, _ := p.conn.NetConn().(*guard.Conn)
	var frame mcproto.Frame
	for {
		if p.conn.Buffered() == 0 {
			p.flushServer()
		}
		if patient != nil {
			if err := patient.ReadOn(clientSilence); err != nil {
				return err
			}
		}
		err := p.conn.ReadFrame(&frame)
		if errors.Is(err, mcproto.ErrMalformed) {
			p.Disconnect(messages.Text(messages.LimitProtocol))
		}
		if err != nil {
			return fmt.Errorf("reading from the client: %w", err)
		}
		if p.ending.Load() {
			continue
		}
		if p.rate.Exceeded() {
			p.tooMany()
			continue
		}
		if err := p.fromClient(&frame); err != nil {
			p.Disconnect(messages.Text(messages.LimitProtocol))
			return fmt.Errorf("reading from the client: %w", err)
		}
	}
}

func (p *Player) fromClient(f *mcproto.Frame) error {
	table := &p.dialect.playFromClient
	if p.state == mcproto.StateConfiguration {
		table = &p.dialect.configFromClient
	}
	if handle := table.of(f.ID); handle != nil {
		if f.Size() > maxOpened {
			return fmt.Errorf("%w: packet %#x of %d bytes", mcproto.ErrMalformed, f.ID, f.Size())
		}
		return handle(p, f)
	}
	p.toServer(p.route.Load(), f)
	return nil
}

// toServer passes the client's packet to a server, or to nobody. A server that
// cannot be written to is noticed by its reader.
func (p *Player) toServer(l *link, f *mcproto.Frame) {
	if l == nil {
		return
	}
	if err := l.conn.Relay(f); err != nil {
		l.conn.Close()
	}
}

func (p *Player) flushServer() {
	if l := p.route.Load(); l != nil {
		if err := l.conn.Flush(); err != nil {
			l.conn.Close()
		}
	}
}

// answer passes an answer to whoever asked. Nobody else may see it: to a
// server an answer that it did not ask for is an offence.
func (p *Player) answer(who asker, asked bool, f *mcproto.Frame) {
	if !asked {
		return
	}
	if who.reply != nil {
		payload, err := f.Payload()
		if err != nil {
			payload = nil
		}
		who.reply <- bytes.Clone(payload)
		return
	}
	if who.link != nil && who.link == p.route.Load() {
		p.toServer(who.link, f)
	}
}

func (p *Player) onKeepAliveAnswer(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	id, err := mcproto.ParseKeepAlive(payload)
	if err != nil {
		return err
	}
	who, asked := p.questions.settle(question{topic: topicKeepAlive, number: id})
	p.answer(who, asked, f)
	return nil
}

func (p *Player) onPong(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	id, err := mcproto.ParsePing(payload)
	if err != nil {
		return err
	}
	who, asked := p.questions.settle(question{topic: topicPing, number: int64(id)})
	p.answer(who, asked, f)
	return nil
}

func (p *Player) onCookieResponse(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	cookie, err := mcproto.ParseCookieResponse(payload)
	if err != nil {
		return err
	}
	who, asked := p.questions.settle(question{topic: topicCookie, key: cookie.Key})
	p.answer(who, asked, f)
	return nil
}

// onPackStatus: a pack has several answers, of which the last settles it.
func (p *Player) onPackStatus(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	status, err := mcproto.ParseResourcePackStatus(payload)
	if err != nil {
		return err
	}
	what := question{topic: topicPack, pack: status.ID}
	if status.Result == mcproto.PackAccepted || status.Result == mcproto.PackDownloaded {
		who, asked := p.questions.peek(what)
		p.answer(who, asked, f)
		return nil
	}
	who, asked := p.questions.settle(what)
	p.answer(who, asked, f)
	return nil
}

func (p *Player) onKnownPacks(f *mcproto.Frame) error {
	who, asked := p.questions.settle(question{topic: topicKnownPacks})
	p.answer(who, asked, f)
	return nil
}

// onFinished: the client speaks of a world from here on.
func (p *Player) onFinished(f *mcproto.Frame) error {
	who, asked := p.questions.settle(question{topic: topicFinish})
	if !asked {
		return fmt.Errorf("%w: configuration finished by the client alone", mcproto.ErrMalformed)
	}
	p.state = mcproto.StatePlay
	p.rate.Reset(guard.RateInPlay)
	p.turn(mcproto.StatePlay, who, asked, f)
	return nil
}

// onConfigurationAck: the client is in configuration again. Only now may a
// server be attached, and the director waits for that.
func (p *Player) onConfigurationAck(f *mcproto.Frame) error {
	who, asked := p.questions.settle(question{topic: topicConfiguration})
	if !asked {
		return fmt.Errorf("%w: configuration begun by the client alone", mcproto.ErrMalformed)
	}
	p.state = mcproto.StateConfiguration
	p.rate.Reset(guard.RateBeforePlay)
	p.screen.left()
	p.turn(mcproto.StateConfiguration, who, asked, f)
	return nil
}

func (p *Player) onClientInformation(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	if len(payload) > maxInformation {
		return fmt.Errorf("%w: client information of %d bytes", mcproto.ErrMalformed, len(payload))
	}
	p.habits.mu.Lock()
	defer p.habits.mu.Unlock()
	p.habits.information = bytes.Clone(payload)
	p.heard(payload)
	p.toServer(p.route.Load(), f)
	return nil
}

func (p *Player) onClientPluginMessage(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	message, err := mcproto.ParsePluginMessage(payload)
	if err != nil {
		return err
	}
	said := spoken(message)
	p.habits.mu.Lock()
	defer p.habits.mu.Unlock()
	if !p.habits.hear(said, payload) {
		return nil
	}
	l := p.route.Load()
	if l == nil && p.state == mcproto.StateConfiguration {
		p.habits.keepEarly(message, payload)
	}
	if len(said.Data) == len(message.Data) {
		p.toServer(l, f)
	} else if l != nil && len(said.Data) > 0 {
		p.queueTo(l, f.ID, said.Payload())
	}
	return nil
}

// queueTo has a server get a packet in the place of the client's.
func (p *Player) queueTo(l *link, id int32, payload []byte) {
	if err := l.conn.QueuePacket(id, payload); err != nil {
		l.conn.Close()
	}
}

// onCommand answers our own commands; a signed one never comes here, for to
// swallow it would break the chain of the player's chat.
func (p *Player) onCommand(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	line, err := mcproto.ParseCommand(payload)
	if err != nil {
		return err
	}
	reply, ours := p.world.Commands.Run(p, line)
	if !ours {
		p.toServer(p.route.Load(), f)
		return nil
	}
	p.Tell(reply.Lines...)
	if reply.Later != nil {
		p.finish(reply.Later)
	}
	return nil
}

// finish carries a command out beside the reader. A player has one of them at a
// time and one that waits, however fast they type: whoever has just arrived by
// one may type the next before it has ended.
func (p *Player) finish(command func(context.Context) []mcproto.Text) {
	if p.atWork.Add(1) > 2 {
		p.atWork.Add(-1)
		p.Tell(messages.Text(messages.CommandBusy))
		return
	}
	p.carryOn(func(ctx context.Context) {
		defer p.atWork.Add(-1)
		select {
		case p.desk <- struct{}{}:
		case <-ctx.Done():
			return
		}
		defer func() { <-p.desk }()
		ctx, cancel := context.WithTimeout(ctx, commandWithin)
		defer cancel()
		p.Tell(command(ctx)...)
	})
}

func (p *Player) onSuggestionsRequest(f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	request, err := mcproto.ParseSuggestionsRequest(payload)
	if err != nil {
		return err
	}
	matches, ours := p.world.Commands.Suggest(p.identity, request.Text)
	if !ours {
		p.toServer(p.route.Load(), f)
		return nil
	}
	return p.suggest(request, matches)
}

// suggest completes the word under the cursor. The game counts in UTF-16.
func (p *Player) suggest(request mcproto.SuggestionsRequest, matches []string) error {
	before, word := "", request.Text
	if i := strings.LastIndexByte(request.Text, ' '); i >= 0 {
		before, word = request.Text[:i+1], request.Text[i+1:]
	}
	answer := mcproto.Suggestions{ID: request.ID, Start: units(before), Length: units(word), Matches: matches}
	p.screen.show(p, func(s *screen) error {
		if s.phase != phasePlaying {
			return nil
		}
		return p.conn.WritePacket(p.client.Protocol.PlayClient.Suggestions, answer.Payload())
	})
	return nil
}

func units(s string) int32 { return int32(len(utf16.Encode([]rune(s)))) }
