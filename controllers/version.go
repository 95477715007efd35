// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"
)

// versionFor is how long an answer is good for: an API server that was upgraded
// is noticed without a restart.
const versionFor = time.Minute

// kubernetesVersion is what the API server says of itself at /version. That is
// open to everybody who is authenticated, and no right of the manager's.
type kubernetesVersion struct {
	clock clock.PassiveClock
	ask   func() (*version.Info, error)

	mu     sync.Mutex
	asked  time.Time
	answer string
}

func (k *kubernetesVersion) read(context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	if k.answer != "" && now.Sub(k.asked) < versionFor {
		return k.answer, nil
	}
	info, err := k.ask()
	if err != nil {
		return "", fmt.Errorf("ask the API server for its version: %w", err)
	}
	k.asked, k.answer = now, info.GitVersion
	return k.answer, nil
}
