# SPDX-License-Identifier: Apache-2.0

##@ See it work

# A kubeconfig is only taken from the command line: one that is exported may
# belong to a cluster that nobody wants to see a demo on.
ifeq ($(origin KUBECONFIG),command line)
DEMO_CLUSTER = -given -kubeconfig $(abspath $(KUBECONFIG)) -load "$(LOAD)"
DEMO_NEEDS = kubectl
else
DEMO_CLUSTER = -kubeconfig $(abspath $(BIN))/cluster/kubeconfig
DEMO_NEEDS = cluster-tool
endif
DEMO = $(BIN)/demo -kubectl $(BIN)/kubectl -images $(IMAGES) $(DEMO_CLUSTER)

.PHONY: kubectl
kubectl:
	@BIN=$(BIN) hack/binaries.sh kubectl >/dev/null

.PHONY: demo-program
demo-program:
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -o $(BIN)/demo ./test/demo

.PHONY: test-images
test-images: image ## Build the images of the game servers that run on test clusters.
	@hack/debian-packages.sh nodejs npm busybox-static
	@BIN=$(BIN) hack/test-images.sh $(IMAGES)

.PHONY: demo
demo: $(DEMO_NEEDS) test-images demo-program ## Show everything on a real Kubernetes (KUBECONFIG=... LOAD=...: on that one).
	@$(DEMO)

.PHONY: demo-down
ifeq ($(origin KUBECONFIG),command line)
demo-down: kubectl demo-program ## Take away all that the demo made.
	@$(DEMO) -down
else
demo-down: cluster-down
endif

##@ End-to-end tests

.PHONY: e2e
e2e: cluster-tool test-images ## Test on a cluster of its own (RUN=proxy, persistent, sizing, agent, content or a regexp; KEEP=1 leaves the cluster for the next run).
	@BIN=$(BIN) RUN='$(RUN)' SAVE='$(SAVE)' KEEP='$(KEEP)' hack/e2e.sh
