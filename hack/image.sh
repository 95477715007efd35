#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the operator's image without Docker: one image for manager, agent and
# proxy, static and not root, with the programs that the Dockerfile makes.
#
#   hack/image.sh OUT.tar NAME:TAG
#
# Programs and archive are reproducible: one commit and one Go version give one
# digest, which is printed.
set -euo pipefail

out=$1 tag=$2
[[ $out = /* ]] || out=$PWD/$out
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${BIN:-bin}
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false' GOWORK=off
# What else of an environment shows in a program.
export GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT='' GOFIPS140=off

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
files=()
program() {
	local name=$1 package=$2
	if [[ ! -d $package ]]; then
		echo "image: $package does not exist; the image is made without /$name" >&2
		return
	fi
	go build -ldflags "-s -w -X main.version=$(<VERSION)" -o "$programs/$name" "$package"
	files+=("$programs/$name=/$name")
}
program manager .
program agent ./cmd/agent
program proxy ./cmd/proxy

# The proxy asks Mojang's session server, whose certificate has to be checked.
mkdir -p "$(dirname "$out")"
"$bin/mkimage" -o "$out" -t "$tag" -entrypoint /manager -user 65532:65532 \
	-authorities /etc/ssl/certs/ca-certificates.crt "${files[@]}"
