# SPDX-License-Identifier: Apache-2.0

##@ Bundle and catalog for the Operator Lifecycle Manager

# The one version of everything: VERSION holds it, a release only changes it.
VERSION ?= $(shell cat VERSION)
IMAGE_TAG_BASE ?= ghcr.io/spawnery/spawnery-operator
RELEASE_IMG ?= $(IMAGE_TAG_BASE):v$(VERSION)
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
# A catalog made from a template of versions names its channels like this.
CHANNELS ?= stable-v0,candidate-v0
DEFAULT_CHANNEL ?= stable-v0

OLM_BINARIES = operator-sdk scorecard-test opm render-catalog validate-bundle
OLM_OPERATORS = olm-operator catalog-operator
export BUNDLE_SETTINGS = BIN=$(BIN) VERSION=$(VERSION) IMAGE_TAG_BASE=$(IMAGE_TAG_BASE) RELEASE_IMG=$(RELEASE_IMG) \
	BUNDLE_IMG=$(BUNDLE_IMG) CHANNELS=$(CHANNELS) DEFAULT_CHANNEL=$(DEFAULT_CHANNEL)

.PHONY: olm-tools
olm-tools: ## Build operator-sdk, its scorecard and opm; about seven CPU minutes at first, then cached.
	@BIN=$(BIN) hack/binaries.sh $(OLM_BINARIES)

.PHONY: bundle
bundle: tools olm-tools ## Generate the bundle and bundle.Dockerfile.
	@hack/generate.sh manifests bundle

.PHONY: verify-bundle
verify-bundle: tools olm-tools ## Fail when the bundle differs from what its sources make.
	@hack/verify.sh bundle

.PHONY: bundle-validate
bundle-validate: olm-tools ## Validate the bundle with every suite; a warning fails.
	@BIN=$(BIN) hack/bundle-validate.sh bundle

.PHONY: scorecard-local
scorecard-local: tools olm-tools ## Run the scorecard's built-in tests without a cluster.
	@hack/run-tests.sh scorecard

.PHONY: catalog
catalog: olm-tools ## Render the catalog of the stored bundles, and in bin/catalog with this tree's.
	@hack/generate.sh catalog
	@env $(BUNDLE_SETTINGS) hack/catalog.sh $(BIN)/catalog $(VERSION)

.PHONY: operatorhub
operatorhub: tools mkimage catalog ## Stage the tree of a pull request to OperatorHub, and test its rules.
	@env $(BUNDLE_SETTINGS) hack/operatorhub.sh
	@hack/run-tests.sh operatorhub

.PHONY: test-olm
test-olm: tools olm-tools kube-api-binaries ## Install and upgrade by OLM itself, on an API server alone; as root.
	@hack/debian-packages.sh iproute2
	@BIN=$(BIN) hack/binaries.sh $(OLM_OPERATORS)
	@hack/run-tests.sh olm

.PHONY: bundle-build
bundle-build: ## Build the bundle's image with Docker, as BUNDLE_IMG.
	@$(CONTAINER_TOOL) build -f bundle.Dockerfile -t $(BUNDLE_IMG) .

.PHONY: bundle-push
bundle-push: ## Push BUNDLE_IMG with Docker.
	@$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: catalog-build
catalog-build: catalog ## Build the catalog's image with Docker, as CATALOG_IMG.
	@$(CONTAINER_TOOL) build -f $(BIN)/catalog.Dockerfile -t $(CATALOG_IMG) $(BIN)

.PHONY: catalog-push
catalog-push: ## Push CATALOG_IMG with Docker.
	@$(CONTAINER_TOOL) push $(CATALOG_IMG)

##@ Release

named_version = [[ '$(origin VERSION)' = 'command line' ]] || { echo 'make $@ VERSION=x.y.z: say which version' >&2; exit 1; }

.PHONY: release
release: tools protoc olm-tools ## Change the tree to that of the release VERSION=x.y.z; commits nothing.
	@$(named_version)
	@env $(BUNDLE_SETTINGS) hack/release.sh $(VERSION)

.PHONY: release-bundle
release-bundle: tools olm-tools ## Store the bundle of the release at COMMIT (default HEAD); commits nothing.
	@env $(BUNDLE_SETTINGS) hack/release-bundle.sh $(or $(COMMIT),HEAD)

.PHONY: next-version
next-version: tools protoc olm-tools ## Begin work on VERSION=x.y.z; commits nothing.
	@$(named_version)
	@go run ./hack/release open $(VERSION)
	@hack/generate.sh bundle docs

.PHONY: released
released: ## Build the last stored version again, or RELEASED=x.y.z, in bin/released.
	@BIN=$(BIN) hack/released.sh $(RELEASED)

.PHONY: test-released
test-released: tools ## Build the last stored version again, and compare it with what is stored.
	@hack/run-tests.sh released
