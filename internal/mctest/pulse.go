// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"errors"
	"fmt"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// keepAlive sends keep-alives until the returned function is called.
func (p *session) keepAlive() func() {
	return p.every(p.server.settings.KeepAlive, func() error {
		if p.server.hang.lasts() {
			return nil
		}
		now := p.server.settings.Clock.Now()
		if p.overdue(now) {
			p.kick(mcproto.Text{Translate: "disconnect.timeout", Fallback: "Timed out"})
			return errEnded
		}
		p.mu.Lock()
		state := p.outbound
		p.lastID++
		id := now.UnixMilli()<<16 | p.lastID&0xffff
		p.mu.Unlock()
		packet := p.protocol.ConfigClient.KeepAlive
		if state == mcproto.StatePlay {
			packet = p.protocol.PlayClient.KeepAlive
		}
		err := p.sendAfter(state, packet, mcproto.KeepAlivePayload(id), func() { p.keepAlives[id] = now })
		if errors.Is(err, errEnded) {
			// Between two states: the next one gets its keep-alive.
			return nil
		}
		return err
	})
}

func (p *session) overdue(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sent := range p.keepAlives {
		if now.Sub(sent) > p.server.settings.Timeout {
			return true
		}
	}
	return false
}

func (p *session) keepAliveAnswer(payload []byte) error {
	id, err := mcproto.ParseKeepAlive(payload)
	if err != nil {
		return err
	}
	p.mu.Lock()
	_, asked := p.keepAlives[id]
	delete(p.keepAlives, id)
	p.mu.Unlock()
	if !asked && p.server.settings.on(UnaskedKeepAlive) {
		return &broken{UnaskedKeepAlive, fmt.Sprintf("Timed out: answer to keep-alive %d, which was not sent", id)}
	}
	return nil
}

// traffic sends what the settings say until the returned function is called.
func (p *session) traffic() func() {
	const ticks = 20 // per second, as the game
	settings := p.server.settings.Traffic
	if settings == (Traffic{}) {
		return func() {}
	}
	filler := p.filler()
	small, large := make([]byte, 20), noise(8<<10)
	tick, smallSent, largeSent := 0, 0, 0
	return p.every(time.Second/ticks, func() error {
		if p.server.hang.lasts() {
			return nil
		}
		tick++
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.outbound != mcproto.StatePlay || p.between || p.kicked {
			return nil
		}
		var err error
		for ; smallSent < tick*settings.Small/ticks && err == nil; smallSent++ {
			err = p.conn.QueuePacket(filler, small)
		}
		for ; largeSent < tick*settings.Large/ticks && err == nil; largeSent++ {
			err = p.conn.QueuePacket(filler, large)
		}
		return errors.Join(err, p.conn.Flush())
	})
}

// worldPiece is about the size of a chunk.
const worldPiece = 16 << 10

// sendWorld sends the world as fast as it is taken.
func (p *session) sendWorld() error {
	world := p.server.settings.World
	piece := noise(worldPiece)
	if world.Content == Terrain {
		// Some bytes of the noise are the beginning of a run.
		const run = 6
		for i := range piece {
			piece[i] = piece[i-i%run]
		}
	}
	for sent := 0; sent < world.Bytes; sent += len(piece) {
		// The bound on a write is for each piece: a line may be slow.
		p.deadline()
		err := p.send(mcproto.StatePlay, p.filler(), piece[:min(len(piece), world.Bytes-sent)])
		if errors.Is(err, errEnded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// filler is the id of a packet that the table does not name and clients skip.
func (p *session) filler() int32 { return p.protocol.PlayClient.Login + 2 }

// every calls do at each interval until it fails or the returned function is
// called, which waits for the end.
func (p *session) every(interval time.Duration, do func() error) func() {
	ticker := p.server.settings.Clock.NewTicker(interval)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C():
				if do() != nil {
					return
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

// noise is the same bytes in every run, and hardly compressible.
func noise(n int) []byte {
	b := make([]byte, n)
	state := uint32(2463534242)
	for i := range b {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		b[i] = byte(state)
	}
	return b
}
