# SPDX-License-Identifier: Apache-2.0

##@ Kubernetes from source

BIN ?= bin

KUBE_API_BINARIES = etcd kube-apiserver kube-controller-manager kubectl
KUBE_NODE_BINARIES = kube-scheduler kubelet kube-proxy coredns local-path-provisioner \
	containerd containerd-shim-runc-v2 ctr ptp host-local portmap mkimage pause

.PHONY: kube-api-binaries
kube-api-binaries: ## Build etcd, the API server, its controllers and kubectl (for API tests).
	@BIN=$(BIN) hack/binaries.sh $(KUBE_API_BINARIES)

.PHONY: kube-binaries
kube-binaries: ## Build everything that a cluster needs; about 15 CPU minutes at first, then cached.
	@BIN=$(BIN) hack/binaries.sh $(KUBE_API_BINARIES) $(KUBE_NODE_BINARIES)
