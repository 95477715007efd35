#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Generates what is generated.
#
#   hack/generate.sh code       deep copies, apply configurations, the channel
#   hack/generate.sh manifests  CRDs and roles
#   hack/generate.sh docs       docs/reference
#   hack/generate.sh bundle     bundle, with make's BUNDLE_SETTINGS
#   hack/generate.sh catalog    the catalog of the stored bundles
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false'
bin=$PWD/${BIN:-bin}

code() {
	"$bin/controller-gen" object:headerFile=hack/boilerplate.go.txt paths=./api/v1alpha1
	"$bin/controller-gen" applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./api/v1alpha1

	local generated=(api/agent/v1alpha1/*.pb.go)
	PATH=$bin:$PATH protoc --go_out=. --go_opt=paths=source_relative \
		--go-grpc_out=. --go-grpc_opt=paths=source_relative api/agent/v1alpha1/*.proto
	# Debian's and Ubuntu's compilers differ in nothing but the version they print.
	sed -i -E '/^\/\/ [-\t ]*protoc +v[0-9.]+$/d' "${generated[@]}"
}

manifests() {
	"$bin/controller-gen" crd paths=./api/v1alpha1 output:crd:dir=config/crd/bases
	go run ./hack/trim-crds config/crd/bases/*.yaml
	"$bin/controller-gen" rbac:roleName=spawnery-manager-role paths=./controllers/... output:rbac:dir=config/rbac
}

docs() {
	local log
	log=$(mktemp)
	"$bin/crd-ref-docs" --source-path=api/v1alpha1 --config=hack/crd-ref-docs/config.yaml \
		--templates-dir=hack/crd-ref-docs/templates --renderer=markdown --max-depth=20 \
		--output-path=docs/reference/api.md >"$log" 2>&1 || { cat "$log" >&2; return 1; }
	rm -f "$log"
	go run ./hack/reference-docs docs/reference
	go run ./hack/lifecycle-docs docs/reference/server-lifecycle.md
}

bundle() { env $BUNDLE_SETTINGS hack/bundle.sh; }

# Where the released bundles are is no setting.
catalog() { IMAGE_TAG_BASE=ghcr.io/spawnery/spawnery-operator hack/catalog.sh catalog >/dev/null; }

for part in "$@"; do "$part"; done
