#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Renders the file-based catalog from its template and the bundle of this tree,
# validates it, and writes the Dockerfile of its image beside it.
#
#   BUNDLE_IMG=name:v0.1.0 hack/catalog.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}
catalog=$bin/catalog

rm -rf "$catalog" "$catalog.Dockerfile"
mkdir -p "$catalog/spawnery-operator"
log=$(mktemp) template=$(mktemp)
trap 'rm -f "$log" "$template"' EXIT
sed "s|BUNDLE_IMG|$BUNDLE_IMG|" config/operatorhub/catalog-template.yaml >"$template"
"$bin/render-catalog" "$template" "$BUNDLE_IMG=bundle" >"$catalog/spawnery-operator/catalog.yaml" 2>"$log" ||
	{ cat "$log" >&2; exit 1; }
"$bin/opm" validate "$catalog"
opm=quay.io/operator-framework/opm:$(cd tools/olm && go list -m -f '{{.Version}}' github.com/operator-framework/operator-registry)
"$bin/opm" generate dockerfile --base-image "$opm" --builder-image "$opm" "$catalog"
awk '/^entries:/ {channel = 1} channel && /^name: / {print "channel " $2 ":" entries; channel = 0; entries = ""}
	channel && /^- name: / {entries = entries " " $3}' "$catalog/spawnery-operator/catalog.yaml"
