// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// operators are the players who may stop the server, kept where a real server
// keeps them.
type operators struct {
	path string // of ops.json; empty: nothing is kept

	mu   sync.Mutex
	list []operator
}

// operator is an entry of ops.json.
type operator struct {
	UUID  uuid.UUID `json:"uuid"`
	Name  string    `json:"name"`
	Level int       `json:"level"`
}

// stopLevel is the level from which on a player may stop the server.
const stopLevel = 4

func readOperators(path string) (*operators, error) {
	o := &operators{path: path}
	if path == "" {
		return o, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o.list)
	}
	if err != nil {
		return nil, fmt.Errorf("read the operators: %w", err)
	}
	return o, nil
}

func (o *operators) has(id uuid.UUID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.list, func(entry operator) bool { return entry.UUID == id && entry.Level >= stopLevel })
}

func (o *operators) add(entry operator) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(slices.DeleteFunc(o.list, func(old operator) bool { return old.UUID == entry.UUID }), entry)
	if o.path == "" {
		return nil
	}
	data, err := json.MarshalIndent(o.list, "", "  ")
	if err == nil {
		err = os.WriteFile(o.path, append(data, '\n'), 0o664)
	}
	if err != nil {
		return fmt.Errorf("write the operators: %w", err)
	}
	return nil
}

// makeOperator lets a player in play stop the server, for ever.
func (s *Server) makeOperator(name string) error {
	player, err := s.player(name)
	if err != nil {
		return err
	}
	entry := operator{UUID: player.profile.ID, Name: player.profile.Name, Level: stopLevel}
	if err := s.operators.add(entry); err != nil {
		return err
	}
	s.logf("Made %s a server operator", player.profile.Name)
	return player.send(mcproto.StatePlay, player.protocol.PlayClient.Commands, commandTree(player.commands()...))
}
