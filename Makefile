# SPDX-License-Identifier: Apache-2.0
#
# `make` or `make help` lists what can be done. Tools, Kubernetes and the test
# cluster are in hack/*.mk. Nothing is downloaded but Go modules, Debian
# packages and npm packages.

SHELL = /usr/bin/env bash
.SHELLFLAGS = -euo pipefail -c
.DEFAULT_GOAL = help

BIN ?= bin
IMG ?= spawnery.test/operator:dev
CONTAINER_TOOL ?= docker
KUBECTL ?= $(firstword $(wildcard $(BIN)/kubectl) kubectl)

# The flags of every build and test: other flags would compile everything again.
export CGO_ENABLED = 0
export GOFLAGS = -trimpath -buildvcs=false

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; print "\nmake TARGET"} \
		/^[a-zA-Z0-9_-]+:.*##/ {printf "  \033[36m%-18s\033[0m %s\n", $$1, $$2} \
		/^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

##@ Everyday

.PHONY: check
check: tools ## Format, build, vet, lint and unit-test what changed; before every commit.
	@hack/check.sh

.PHONY: test
test: ## Everything that needs no real node, and the bundle.
	@hack/stages.sh verify lint bundle-validate scorecard-local catalog operatorhub test-released test-olm test-unit test-env test-worlds test-soak test-java test-peers

.PHONY: verify
verify: tools protoc olm-tools ## Fail when generated files differ from what their sources make.
	@hack/verify.sh

.PHONY: lint
lint: tools ## Lint the whole tree.
	@$(BIN)/lint run --allow-serial-runners ./...
	@cd tools && ../$(BIN)/lint run --allow-serial-runners --config ../.golangci.yml ./...

.PHONY: test-unit
test-unit: tools ## Unit tests; those of concurrent packages again with the race detector.
	@hack/debian-packages.sh gcc libc6-dev
	@hack/run-tests.sh unit
	@hack/run-tests.sh race

.PHONY: test-env
test-env: tools kube-api-binaries ## Tests against our own API server.
	@hack/run-tests.sh env

# TRIALS and SEED (0 draws one) choose what `make test-worlds` plays.
TRIALS ?= 50
SEED ?= 0

.PHONY: test-worlds
test-worlds: tools kube-api-binaries ## Random trials in which no world may be lost (TRIALS=50, SEED=…).
	@TRIALS=$(TRIALS) SEED=$(SEED) hack/run-tests.sh worlds

# The long form, make soak, takes TIME.
.PHONY: test-soak
test-soak: tools ## 200 players who come and go at random for a minute; nothing may stay behind (SEED=…).
	@TIME=60s SEED=$(SEED) hack/run-tests.sh soak

.PHONY: soak
soak: TIME ?= 10m
soak: tools ## The same for ten minutes; before a release (TIME=10m, SEED=…).
	@TIME=$(TIME) SEED=$(SEED) hack/run-tests.sh soak

.PHONY: test-java
test-java: tools ## Compile the Java API and test it against an agent.
	@hack/debian-packages.sh default-jdk-headless junit5
	@hack/run-tests.sh javasdk

.PHONY: test-peers
test-peers: tools ## Tests against clients and servers that nobody here wrote.
	@hack/debian-packages.sh nodejs npm
	@hack/promtool.sh
	@hack/run-tests.sh peers

.PHONY: simulate
simulate: ## Live a hundred weeks of a network in a minute or two (make test lives 25).
	@go test ./internal/simulate -run EveryWeek -seeds 100

# TIME is for each target; RUN chooses targets by package and name.
.PHONY: fuzz
fuzz: TIME ?= 30s
fuzz: ## Fuzz the parsers of what others send (TIME=30s, RUN=mcproto); seeds run in test-unit.
	@hack/fuzz.sh $(TIME) '$(RUN)'

.PHONY: bench
bench: ## Benchmarks of every package that has some; RUN=proxy: the proxy's figures (five minutes, alone).
	@if [ '$(RUN)' = proxy ]; then \
		go test -run '^$$' -bench . -benchmem ./internal/proxy/... ./internal/mcproto && \
		SPAWNERY_EVIDENCE=1 go test -count=1 -v -run 'AThousandPlayers|ARushThroughTwoProxies' ./internal/proxy | grep -v '"level"'; \
	else go test -run '^$$' -bench . -benchmem ./internal/...; fi

##@ Generated code

.PHONY: generate
generate: tools protoc ## Generate deep copies, apply configurations and the channel's code.
	@hack/generate.sh code

.PHONY: manifests
manifests: tools ## Generate CRDs and roles.
	@hack/generate.sh manifests

.PHONY: docs
docs: tools ## Generate the reference in docs/reference.
	@hack/generate.sh docs

##@ Build and run

.PHONY: fmt
fmt: tools ## Format the code.
	@$(BIN)/lint fmt ./...

.PHONY: vet
vet: ## Run go vet.
	@go vet ./...

.PHONY: build
build: ## Build manager, agent, proxy and kubectl plugin to bin/.
	@go build -o $(BIN)/manager .
	@go build -o $(BIN)/ ./cmd/...

.PHONY: run
run: install ## Run the manager here, against the cluster of the current kubeconfig.
	@go run .

.PHONY: docker-build
docker-build: ## Build the image with Docker, as IMG.
	@$(CONTAINER_TOOL) build -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push IMG with Docker.
	@$(CONTAINER_TOOL) push $(IMG)

##@ Deploy to the cluster of the current kubeconfig

.PHONY: install
install: manifests ## Install the CRDs.
	@$(BIN)/kustomize build config/crd | $(KUBECTL) apply -f -

.PHONY: uninstall
uninstall: tools ## Remove the CRDs, and with them every Network; claims stay.
	@$(BIN)/kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: manifests ## Install the operator, from the image IMG.
	@BIN=$(BIN) hack/render-deploy.sh $(IMG) | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: tools ## Remove the operator and the CRDs; claims stay.
	@BIN=$(BIN) hack/render-deploy.sh $(IMG) | $(KUBECTL) delete --ignore-not-found -f -

include hack/tools.mk hack/olm.mk
-include hack/kube.mk hack/demo.mk
