#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints config/default with an image, without touching the tree.
#
#   hack/render-deploy.sh IMAGE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r config "$copy/"
(cd "$copy/config/manager" && "$bin/kustomize" edit set image "spawnery-operator=$1")
"$bin/kustomize" build "$copy/config/default"
