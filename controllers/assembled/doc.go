// SPDX-License-Identifier: Apache-2.0

// Package assembled tests every controller and the channel together, as the
// manager's own ServiceAccount on a real API server. What is missing there is
// played by the test: the kubelet, and the agents in the pods.
package assembled
