# SPDX-License-Identifier: Apache-2.0

##@ Tools

BIN ?= bin

TOOL_BINARIES = controller-gen crd-ref-docs gotestsum kustomize lint protoc-gen-go protoc-gen-go-grpc

.PHONY: tools
tools: ## Build the pinned tools; about three CPU minutes at first, then cached.
	@BIN=$(BIN) hack/binaries.sh $(TOOL_BINARIES)

.PHONY: protoc
protoc: ## Install Debian's protobuf compiler when it is missing.
	@hack/debian-packages.sh protobuf-compiler libprotobuf-dev
