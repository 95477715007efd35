// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"sync"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// The files are written by test/peers/gamedata.js from published data of the
// game; see there for their form.
//
//go:embed gamedata/*.json.gz
var gameFiles embed.FS

// newestGameData is the newest version whose packets are known byte for byte.
// Later ones are served with them: nothing here can tell the difference.
const newestGameData = 775

// gameData is what a server of one version sends while a player joins.
type gameData struct {
	Packs      []knownPack    `json:"packs"`
	Features   hexBytes       `json:"features"`
	Registries []registryData `json:"registries"`
	Tags       hexBytes       `json:"tags"`
	Login      hexBytes       `json:"login"`
	Position   hexBytes       `json:"position"`
}

// registryData is one registry: in full, and as it is sent to a client that
// knows the pack its entries come from.
type registryData struct {
	ID    string   `json:"id"`
	Full  hexBytes `json:"full"`
	Known hexBytes `json:"known"`
}

// knownPack names a data pack both sides may have.
type knownPack struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	Version   string `json:"version"`
}

type hexBytes []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hexBytes) UnmarshalText(text []byte) error {
	decoded, err := hex.DecodeString(string(text))
	*h = decoded
	return err
}

var gameCache sync.Map // protocol number → *gameData

func gameDataFor(p *mcproto.Protocol) (*gameData, error) {
	if cached, ok := gameCache.Load(p.Number); ok {
		return cached.(*gameData), nil
	}
	game, err := readGameData(min(p.Number, newestGameData))
	if err != nil {
		return nil, fmt.Errorf("game data of protocol %d: %w", p.Number, err)
	}
	if p.Number > newestGameData {
		game.Packs = []knownPack{{Namespace: "minecraft", ID: "core", Version: p.Versions[len(p.Versions)-1]}}
	}
	gameCache.Store(p.Number, game)
	return game, nil
}

func readGameData(protocol int32) (*gameData, error) {
	compressed, err := gameFiles.ReadFile(path.Join("gamedata", fmt.Sprintf("%d.json.gz", protocol)))
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	game := &gameData{}
	if err := json.NewDecoder(unzipped).Decode(game); err != nil {
		return nil, err
	}
	return game, nil
}

const maxKnownPacks = 64

func knownPacksPayload(packs []knownPack) []byte {
	w := mcproto.NewWriter().VarInt(int32(len(packs)))
	for _, p := range packs {
		w.String(p.Namespace).String(p.ID).String(p.Version)
	}
	return w.Bytes()
}

func parseKnownPacks(payload []byte) ([]knownPack, error) {
	r := mcproto.NewReader(payload)
	n := r.Count(3)
	if n > maxKnownPacks {
		return nil, fmt.Errorf("%w: %d known packs", mcproto.ErrMalformed, n)
	}
	var packs []knownPack
	for range n {
		packs = append(packs, knownPack{
			Namespace: r.String(mcproto.MaxStringChars),
			ID:        r.String(mcproto.MaxStringChars),
			Version:   r.String(mcproto.MaxStringChars),
		})
	}
	return packs, r.Err()
}
