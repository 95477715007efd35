// SPDX-License-Identifier: Apache-2.0

// Package secret makes and reads the two secrets of a server: the one that
// opens its management protocol and the one it shares with the proxies.
package secret

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// managementFile lies in the volume that prepare and agent share.
const managementFile = "management-secret"

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

var managementPattern = regexp.MustCompile(fmt.Sprintf("^[A-Za-z0-9]{%d}$", gameconfig.ManagementSecretLength))

// MakeManagement returns the pod's management secret and makes it when there
// is none: prepare may run more than once in the life of a pod.
func MakeManagement(runDir string) (string, error) {
	made, err := ReadManagement(runDir)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return made, err
	}
	made = random()
	if err := os.WriteFile(filepath.Join(runDir, managementFile), []byte(made), 0o640); err != nil {
		return "", fmt.Errorf("keeping the management secret for the agent: %w", err)
	}
	return made, nil
}

// ReadManagement returns the pod's management secret. The error is
// fs.ErrNotExist when prepare has not made it.
func ReadManagement(runDir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(runDir, managementFile))
	if err != nil {
		return "", fmt.Errorf("reading the management secret: %w", err)
	}
	if !managementPattern.Match(content) {
		return "", fmt.Errorf("reading the management secret: %s is not what prepare wrote", filepath.Join(runDir, managementFile))
	}
	return string(content), nil
}

// random draws each character with equal probability.
func random() string {
	secret := make([]byte, 0, gameconfig.ManagementSecretLength)
	var drawn [64]byte
	for {
		_, _ = rand.Read(drawn[:]) // never fails, by its documentation
		for _, b := range drawn {
			// 248 is the largest multiple of 62 in a byte.
			if b >= 248 {
				continue
			}
			secret = append(secret, alphabet[b%62])
			if len(secret) == cap(secret) {
				return string(secret)
			}
		}
	}
}

// ReadForwarding returns the forwarding secret in force and, while one is
// being replaced, the one before it. Space around a secret is no part of it.
func ReadForwarding(directory string) ([][]byte, error) {
	current, err := os.ReadFile(filepath.Join(directory, serverspec.ForwardingKey))
	if err != nil {
		return nil, fmt.Errorf("reading the forwarding secret: %w", err)
	}
	current = bytes.TrimSpace(current)
	if len(current) == 0 {
		return nil, fmt.Errorf("the forwarding secret is empty: key %q of the Secret that the Network names", serverspec.ForwardingKey)
	}
	secrets := [][]byte{current}
	previous, err := os.ReadFile(filepath.Join(directory, serverspec.ForwardingPreviousKey))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the forwarding secret before the rotation: %w", err)
	}
	if previous = bytes.TrimSpace(previous); len(previous) > 0 {
		secrets = append(secrets, previous)
	}
	return secrets, nil
}
