// SPDX-License-Identifier: Apache-2.0

// Package worlds plays people, crashes and a failing API server against the
// whole operator, at random, and watches that no world is lost meanwhile.
//
// The API server, the garbage collector, the namespace controller and the
// manager with its generated permissions are real. Scheduler, kubelet, volume
// provisioner, volume resizer and the agents in the pods are played; so is time,
// which runs faster for the manager than for the cluster.
package worlds
