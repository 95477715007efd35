#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Renders a file-based catalog from its template, validates it, and writes the
# Dockerfile of its image beside it.
#
#   hack/catalog.sh catalog    the stored bundles
#   hack/catalog.sh bin/catalog VERSION    these, and bundle/ as that version
#
# IMAGE_TAG_BASE is where the bundles' images are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}
catalog=$1 version=${2:-}

log=$(mktemp) template=$(mktemp)
trap 'rm -f "$log" "$template"' EXIT

bundles=()
for record in bundles/*.json; do
	stored=$(basename "$record" .json)
	bundles+=("$IMAGE_TAG_BASE-bundle:v$stored=bundles/$stored")
done
# Between two versions the tree is that of the last stored one.
if [[ $version && ! -d bundles/$version ]]; then
	bundles+=("$IMAGE_TAG_BASE-bundle:v$version=bundle")
	tree="s|WORKING_TREE|$IMAGE_TAG_BASE-bundle:v$version|"
else
	tree='/WORKING_TREE/d'
fi
sed "s|IMAGE_TAG_BASE|$IMAGE_TAG_BASE|; $tree" config/operatorhub/catalog-template.yaml >"$template"

rm -rf "$catalog" "$catalog.Dockerfile"
mkdir -p "$catalog/spawnery-operator"
"$bin/render-catalog" "$template" "${bundles[@]}" >"$catalog/spawnery-operator/catalog.yaml" 2>"$log" ||
	{ cat "$log" >&2; exit 1; }
"$bin/opm" validate "$catalog"
opm=quay.io/operator-framework/opm:$(cd tools/olm && go list -m -f '{{.Version}}' github.com/operator-framework/operator-registry)
"$bin/opm" generate dockerfile --base-image "$opm" --builder-image "$opm" "$catalog"
awk '/^entries:/ {channel = 1} channel && /^name: / {print "channel " $2 ":" entries; channel = 0; entries = ""}
	channel && /^- name: / {entries = entries " " $3}' "$catalog/spawnery-operator/catalog.yaml"
