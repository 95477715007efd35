// SPDX-License-Identifier: Apache-2.0

// Package configmaps reads what an owner gives proxies in ConfigMaps. The
// kubelet mounts them and follows their edits; what cannot be used is said, and
// done without.
package configmaps

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// lookEvery is the time between two looks at the files. The kubelet takes up to
// a minute or so to write an edit, so more often would be no faster.
const lookEvery = 2 * time.Second

// Content is what the ConfigMaps hold, as far as it can be used. It and all in it
// are shared and never changed.
type Content struct {
	// Favicon is the picture of the server list as a data URL; empty: none.
	Favicon string
	// Protocols is the built-in table with the owner's rows.
	Protocols *mcproto.Protocols
	// Translations are the network's own words; never nil.
	Translations *messages.Translations
	// Problems are what cannot be used, bounded in number and length.
	Problems []*agentv1alpha1.ConfigProblem
}

// Reader follows the files. Content may be called from any goroutine.
type Reader struct {
	dir     string
	builtIn *mcproto.Protocols
	current atomic.Pointer[Content]

	// What the last look found; of whoever looks alone.
	favicon   picture
	protocols rows
	words     words
}

// New reads the ConfigMaps below dir, each in the directory named by what it
// holds: favicon, protocols, messages. One without a directory is not given, and none
// is where dir is empty. The picture is not shown before Follow has learned its key.
func New(dir string) (*Reader, error) {
	builtIn, err := mcproto.DefaultProtocols()
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir, builtIn: builtIn}
	r.look(Settings{})
	return r, nil
}

// Content is what was found at the last look; never nil.
func (r *Reader) Content() *Content { return r.current.Load() }

// Settings are what the group says beside the names of its ConfigMaps.
type Settings struct {
	// FaviconKey is the key of the picture, empty for none.
	FaviconKey string
	// FallbackLocale is that of players for whom there are no words.
	FallbackLocale string
}

// Follow looks again and again until ctx ends, and calls changed when something
// else was found.
func (r *Reader) Follow(ctx context.Context, clk clock.WithTicker, settings func() Settings, changed func()) {
	log := logr.FromContextOrDiscard(ctx)
	told := []*agentv1alpha1.ConfigProblem{}
	ticker := clk.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if r.look(settings()) {
			changed()
		}
		if now := r.Content().Problems; !sameProblems(told, now) {
			told = now
			for _, problem := range now {
				log.Info("a ConfigMap holds something that cannot be used", "config", fieldOf(problem.GetPart()),
					"key", problem.GetKey(), "reason", problem.GetReason())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// look reads what changed, and reports whether anything did.
func (r *Reader) look(now Settings) bool {
	favicon := r.favicon.look(r.dir, now.FaviconKey)
	protocols := r.protocols.look(r.dir, r.builtIn)
	words := r.words.look(r.dir, now.FallbackLocale)
	if r.Content() != nil && !favicon && !protocols && !words {
		return false
	}
	r.current.Store(&Content{
		Favicon: r.favicon.url, Protocols: r.protocols.table, Translations: r.words.table,
		Problems: bounded(slices.Concat(r.favicon.problems, r.protocols.problems, r.words.problems)),
	})
	return true
}

func sameProblems(a, b []*agentv1alpha1.ConfigProblem) bool {
	return slices.EqualFunc(a, b, func(x, y *agentv1alpha1.ConfigProblem) bool { return proto.Equal(x, y) })
}

// fieldOf is a part as an owner knows it.
func fieldOf(part agentv1alpha1.ConfigPart) string {
	switch part {
	case agentv1alpha1.ConfigPart_CONFIG_PART_FAVICON:
		return "favicon"
	case agentv1alpha1.ConfigPart_CONFIG_PART_PROTOCOLS:
		return "protocols"
	case agentv1alpha1.ConfigPart_CONFIG_PART_MESSAGES:
		return "messages"
	case agentv1alpha1.ConfigPart_CONFIG_PART_UNSPECIFIED:
	}
	return ""
}

// sorted lists keys.
func sorted[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
