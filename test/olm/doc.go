// SPDX-License-Identifier: Apache-2.0

// Package olm tests an installation and an upgrade by the Operator Lifecycle
// Manager on an API server alone: `make test-olm` builds what it needs and runs
// it, as root.
//
// Real, that is not written by this test: etcd, the API server and the
// controllers of Kubernetes for Deployments, ReplicaSets, Jobs, accounts and
// garbage; OLM's two operators; `opm serve` over a catalog rendered like the
// one that is shipped; the unpacking of a bundle by `opm alpha bundle extract`
// under the account of its Job; the managers of both versions, each with the
// command, arguments and environment of the Deployment that OLM made, and a
// token of the account that OLM made.
//
// Played by this test: the scheduler and the kubelet, for the pods in the
// namespace of the operator and no others. A container is a process in a root
// folder and a network of its own, under the user of its image. An image is a
// binary that is put there, in place of a pull; the two containers that copy a
// bundle out of its image are a copy of its folder. OLM's operators are
// processes with an administrator's kubeconfig and not pods, and the catalog
// has an address in place of a pod.
//
// Servers and proxies stay Pending: no node runs them. What becomes of players
// in an upgrade is for the tests on real nodes.
package olm
