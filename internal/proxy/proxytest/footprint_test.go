// SPDX-License-Identifier: Apache-2.0

package proxytest

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The judge of a soak is shown what it must find.
func TestAFootprintTellsWhatWasKept(t *testing.T) {
	begin := Measure()
	judge := func(patience time.Duration) string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := begin.Kept(begin.Settled(ctx)); err != nil {
			return err.Error()
		}
		return ""
	}
	if said := judge(10 * time.Second); said != "" {
		t.Fatalf("nothing was kept: %s", said)
	}
	end := make(chan struct{})
	go func() { <-end }()
	if said := judge(200 * time.Millisecond); !strings.Contains(said, "goroutines") || strings.Contains(said, "bytes") {
		t.Errorf("a goroutine was kept: %q", said)
	}
	close(end)
	kept := [][]byte{make([]byte, HeapTolerance+1<<20)}
	if said := judge(10 * time.Second); strings.Contains(said, "goroutines") || !strings.Contains(said, "bytes") {
		t.Errorf("memory was kept: %q", said)
	}
	kept[0] = nil
	if said := judge(10 * time.Second); said != "" {
		t.Errorf("everything was let go: %s", said)
	}
	runtime.KeepAlive(kept)
}
