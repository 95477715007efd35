// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// connection is somebody's connection to the network.
type connection interface {
	// Server is where the player is; empty while on none.
	Server() string
	// Err tells why the connection ended; nil while it lasts.
	Err() error
	Leave()
}

// Crowd is everybody who joins the network through one address. It is used by
// one goroutine.
type Crowd struct {
	Watcher
	// Address is where everybody joins, host:port.
	Address string

	players map[string]connection
}

// JoinBots lets bots join at once, and returns when all are on a server.
func (c *Crowd) JoinBots(ctx context.Context, limit time.Duration, names ...string) error {
	if err := c.SendBots(ctx, names...); err != nil {
		return err
	}
	return c.AwaitPlaying(ctx, limit, names...)
}

// JoinUntilOn lets a bot join and leave until it lands in a group, and returns
// its server: an edit of the routing takes a moment to reach the proxies.
func (c *Crowd) JoinUntilOn(ctx context.Context, limit time.Duration, name, group string) (string, error) {
	server := ""
	err := c.Await(ctx, name+" on a server of "+group, limit, func(ctx context.Context) (string, bool) {
		if err := c.JoinBots(ctx, limit, name); err != nil {
			return err.Error(), false
		}
		server = c.Where(name)
		there := strings.HasPrefix(server, group+"-")
		if !there {
			c.Leave(name)
		}
		return fmt.Sprintf("%s was sent to %s", name, server), there
	})
	return server, err
}

// SendBots lets bots dial, and does not wait for what becomes of them.
func (c *Crowd) SendBots(ctx context.Context, names ...string) error {
	for _, name := range names {
		bot, err := mctest.Join(ctx, mctest.BotSettings{Address: c.Address, Name: name})
		if err != nil {
			return err
		}
		c.add(name, bot)
	}
	return nil
}

// JoinPeer lets a client from npm join, and returns when it is on a server.
func (c *Crowd) JoinPeer(ctx context.Context, limit time.Duration, name string) (*Peer, error) {
	peer, err := joinPeer(ctx, c.Address, name)
	if err != nil {
		return nil, err
	}
	c.add(name, peer)
	return peer, c.AwaitPlaying(ctx, limit, name)
}

func (c *Crowd) add(name string, player connection) {
	if c.players == nil {
		c.players = make(map[string]connection)
	}
	c.players[name] = player
}

// AwaitPlaying waits until the named players are on a server.
func (c *Crowd) AwaitPlaying(ctx context.Context, limit time.Duration, names ...string) error {
	return c.await(ctx, strings.Join(names, ", ")+" on a server", limit, names, func(server string) bool { return server != "" })
}

// AwaitCount waits until so many players, whoever they are, are on a server.
func (c *Crowd) AwaitCount(ctx context.Context, limit time.Duration, count int) error {
	var lost error
	err := c.Await(ctx, fmt.Sprintf("%d players on a server", count), limit, func(context.Context) (string, bool) {
		lost = c.Lost()
		return c.String(), len(c.players)-c.perServer()[""] >= count || lost != nil
	})
	return errors.Join(err, lost)
}

// AwaitOn waits until the named players are on one of the servers.
func (c *Crowd) AwaitOn(ctx context.Context, limit time.Duration, names, servers []string) error {
	what := fmt.Sprintf("%s on %s", strings.Join(names, ", "), strings.Join(servers, " or "))
	return c.await(ctx, what, limit, names, func(server string) bool { return slices.Contains(servers, server) })
}

// AwaitAway waits until the named players are on another server than this one.
func (c *Crowd) AwaitAway(ctx context.Context, limit time.Duration, names []string, server string) error {
	what := fmt.Sprintf("%s on another server than %s", strings.Join(names, ", "), server)
	return c.await(ctx, what, limit, names, func(on string) bool { return on != "" && on != server })
}

func (c *Crowd) await(ctx context.Context, what string, limit time.Duration, names []string, fits func(server string) bool) error {
	var lost error
	err := c.Await(ctx, what, limit, func(context.Context) (string, bool) {
		missing := 0
		for _, name := range names {
			if !fits(c.players[name].Server()) {
				missing++
			}
		}
		lost = c.Lost()
		return fmt.Sprintf("%d of %d are not; %s", missing, len(names), c), missing == 0 || lost != nil
	})
	return errors.Join(err, lost)
}

// Lost is nil unless somebody's connection ended who did not want to leave.
func (c *Crowd) Lost() error {
	var errs []error
	for _, name := range c.Names() {
		if err := c.players[name].Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s was disconnected: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// Names are everybody's, sorted.
func (c *Crowd) Names() []string {
	return slices.Sorted(maps.Keys(c.players))
}

// On are the names of those on a server.
func (c *Crowd) On(server string) []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return c.players[name].Server() != server })
}

// Where says where a player is.
func (c *Crowd) Where(name string) string {
	return c.players[name].Server()
}

// Bot is the bot of that name.
func (c *Crowd) Bot(name string) *mctest.Bot {
	bot, _ := c.players[name].(*mctest.Bot)
	return bot
}

// Fullest is the server with the most of the crowd, among those of a group.
func (c *Crowd) Fullest(group string) string {
	count := c.perServer()
	best := ""
	for _, server := range slices.Sorted(maps.Keys(count)) {
		if strings.HasPrefix(server, group+"-") && (best == "" || count[server] > count[best]) {
			best = server
		}
	}
	return best
}

// String says how many are where.
func (c *Crowd) String() string {
	count := c.perServer()
	var words []string
	for _, server := range slices.Sorted(maps.Keys(count)) {
		word := server
		if server == "" {
			word = "nowhere yet"
		}
		words = append(words, fmt.Sprintf("%d on %s", count[server], word))
	}
	if len(words) == 0 {
		return "nobody is there"
	}
	return strings.Join(words, ", ")
}

func (c *Crowd) perServer() map[string]int {
	count := make(map[string]int)
	for _, player := range c.players {
		count[player.Server()]++
	}
	return count
}

// Leave lets the named players leave; everybody if nobody is named.
func (c *Crowd) Leave(names ...string) {
	if len(names) == 0 {
		names = c.Names()
	}
	for _, name := range names {
		c.players[name].Leave()
		delete(c.players, name)
	}
}
