// SPDX-License-Identifier: Apache-2.0

// Package podspec renders what runs a network: pods, claims, Services, budgets,
// policies and the objects each namespace needs. API types go in, Kubernetes
// objects come out; it has no client, no clock and no random source of its own.
//
// It also says which of the owner's choices reach a pod (Inputs) and whether
// two pods were made from the same ones (Digest).
package podspec
