// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	fileName = "network.pb"
	// saveDelay gathers the changes of a busy moment into one write.
	saveDelay = time.Second
)

// Load publishes what an earlier process kept in dir; nothing kept is no
// error. Its revision is 0: what changed meanwhile is unknown.
func (s *Store) Load(dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the last directory: %w", err)
	}
	orders, err := decode(content)
	if err != nil {
		return fmt.Errorf("reading the last directory: %w", err)
	}
	for _, order := range orders {
		if settings := order.GetSettings(); settings != nil {
			s.SetSettings(settings)
		}
		if d := order.GetDirectory(); d != nil {
			s.Apply(d)
		}
	}
	s.change(func(v *View) { v.revision = 0 })
	return nil
}

// Keep writes every change to dir until ctx ends. A failed write is logged and
// tried again at the next change.
func (s *Store) Keep(ctx context.Context, dir string, clk clock.WithTicker) {
	log := logr.FromContextOrDiscard(ctx)
	for {
		changed := s.Changed()
		if view := s.View(); view.Complete() {
			if err := save(dir, view); err != nil {
				log.Error(err, "the directory is not kept for a restart")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-clk.After(saveDelay):
		}
	}
}

func save(dir string, v *View) error {
	var content bytes.Buffer
	for _, order := range []*agentv1alpha1.ProxyOrder{
		{Order: &agentv1alpha1.ProxyOrder_Settings{Settings: v.Settings}},
		{Order: &agentv1alpha1.ProxyOrder_Directory{Directory: v.directory()}},
	} {
		if _, err := protodelim.MarshalTo(&content, order); err != nil {
			return fmt.Errorf("writing the directory: %w", err)
		}
	}
	// Renamed into place: a process that dies meanwhile leaves the old file.
	next := filepath.Join(dir, fileName+".next")
	if err := os.WriteFile(next, content.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the directory: %w", err)
	}
	if err := os.Rename(next, filepath.Join(dir, fileName)); err != nil {
		return fmt.Errorf("writing the directory: %w", err)
	}
	return nil
}

func decode(content []byte) ([]*agentv1alpha1.ProxyOrder, error) {
	// A network of ten thousand servers is a few megabytes.
	options := protodelim.UnmarshalOptions{MaxSize: 64 << 20, UnmarshalOptions: proto.UnmarshalOptions{DiscardUnknown: true}}
	reader := bytes.NewReader(content)
	var orders []*agentv1alpha1.ProxyOrder
	for {
		order := &agentv1alpha1.ProxyOrder{}
		err := options.UnmarshalFrom(reader, order)
		if errors.Is(err, io.EOF) {
			return orders, nil
		}
		if err != nil {
			return nil, err
		}
		orders = append(orders, order)
	}
}
