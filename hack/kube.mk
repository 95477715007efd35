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

##@ Test cluster

# NODES, NETID (0 to 9) and GRACE (for example 10s) choose what `make cluster` starts.
CLUSTER_FLAGS = -bin $(BIN) -folder $(BIN)/cluster
CLUSTER_UP_FLAGS = $(CLUSTER_FLAGS) $(if $(NODES),-nodes $(NODES)) $(if $(NETID),-network $(NETID)) $(if $(GRACE),-grace $(GRACE))

.PHONY: cluster-tool
cluster-tool: kube-binaries
	@hack/debian-packages.sh iptables nftables conntrack runc iproute2 util-linux busybox-static
	@BIN=$(BIN) hack/kube-images.sh
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -o $(BIN)/testcluster ./test/cluster

.PHONY: cluster
cluster: cluster-tool ## Start a real Kubernetes on this machine (NODES=1), or keep the healthy one.
	@$(BIN)/testcluster $(CLUSTER_UP_FLAGS) up

.PHONY: cluster-down
cluster-down: ## Stop it; leaves no process, namespace, bridge, route, cgroup or mount.
	@if [ -x $(BIN)/testcluster ]; then $(BIN)/testcluster $(CLUSTER_FLAGS) down; else echo "no cluster was started here"; fi

.PHONY: cluster-status
cluster-status: ## Show the cluster's nodes and components.
	@$(BIN)/testcluster $(CLUSTER_FLAGS) status

.PHONY: test-cluster
test-cluster: cluster-tool ## Test the test cluster itself: takeover, refusal, failing nodes; minutes.
	@SPAWNERY_TEST_CLUSTER_BIN=$(abspath $(BIN)) CGO_ENABLED=0 go test -trimpath -buildvcs=false -count=1 -timeout 20m -v ./test/cluster

##@ Images

# `make load` imports every archive in this folder: what tests add is loaded too.
IMAGES = $(BIN)/image
IMG ?= spawnery.test/operator:dev

.PHONY: mkimage
mkimage:
	@BIN=$(BIN) hack/binaries.sh mkimage >/dev/null

.PHONY: image
image: mkimage ## Build the operator's image without Docker, as bin/image/operator.tar.
	@digest=$$(BIN=$(BIN) hack/image.sh $(IMAGES)/operator.tar $(IMG)) && echo "$(IMG) $$digest"

.PHONY: image-check
image-check: mkimage ## Check that two builds of the image have one digest.
	@BIN=$(BIN) hack/image-check.sh

.PHONY: load
load: ## Load the images in bin/image into every running node of the test cluster.
	@$(BIN)/testcluster $(CLUSTER_FLAGS) load $(IMAGES)/*.tar
