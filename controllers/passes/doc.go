// SPDX-License-Identifier: Apache-2.0

// Package passes tests the reconcilers one pass at a time: against a real API
// server, with a clock that only the test moves.
package passes
