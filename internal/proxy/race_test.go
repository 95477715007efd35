// SPDX-License-Identifier: Apache-2.0

//go:build race

package proxy

// crowdShare divides the largest crowds: the race detector makes everything slow,
// and looks for something else.
const crowdShare = 5
