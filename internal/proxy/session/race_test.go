// SPDX-License-Identifier: Apache-2.0

//go:build race

package session

// The race detector makes pools forget at random, so nothing can be counted.
const countsAllocations = false
