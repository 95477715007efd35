#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Generates bundle/ and bundle.Dockerfile from config/ and the markers in api/.
#
#   VERSION=0.1.0 RELEASE_IMG=name:v0.1.0 CHANNELS=a,b DEFAULT_CHANNEL=a hack/bundle.sh
#
# The same sources make the same files: operator-sdk dates the bundle anew each
# time, and the old date is kept when nothing else changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}

scratch=$(mktemp -d)
api=$(mktemp -d "$bin/api.XXXXXX")
trap 'rm -rf "$scratch" "$api"' EXIT
log=$scratch/log
quietly() { "$@" >"$log" 2>&1 || { cat "$log" >&2; return 1; }; }

# The icon is drawn in its own file; the base holds it in base64.
base=config/manifests/bases/spawnery-operator.clusterserviceversion.yaml
sed -i "s|base64data: .*|base64data: $(base64 -w0 config/manifests/icon.svg)|" $base

# A version replaces the last stored one below it, and may be come to from any.
stored=$(find bundles -mindepth 1 -maxdepth 1 -type d -printf '%f\n' 2>/dev/null || true)
older=$(printf '%s\n' "$stored" "$VERSION" | sed '/^$/d' | sort -Vu | sed "/^${VERSION//./\\.}$/,\$d")
sed -i '/^    olm\.skipRange:/d; /^  replaces:/d' $base
if [[ $older ]]; then
	sed -i "s|^  annotations:$|&\n    olm.skipRange: '>=$(head -1 <<<"$older") <$VERSION'|" $base
	sed -i "s|^  version: 0\.0\.0$|  replaces: spawnery-operator.v$(tail -1 <<<"$older")\n&|" $base
fi

# operator-sdk gives up on a kind without a status, and a ScaleBoost has none:
# it reads a copy in which there is an empty one.
cp api/v1alpha1/*.go "$api/"
rm -f "$api"/*_test.go
sed -i 's|^\tSpec ScaleBoostSpec .*|&\n\tStatus noStatus `json:"status,omitzero"`|; $a type noStatus struct{}' "$api/scaleboost_types.go"
quietly "$bin/operator-sdk" generate kustomize manifests --quiet --interactive=false --apis-dir "${api#"$PWD/"}"

cp -r config "$scratch/"
(cd "$scratch/config/manager" && "$bin/kustomize" edit set image "spawnery-operator=$RELEASE_IMG")

[[ ! -d bundle ]] || cp -r bundle "$scratch/old"
# operator-sdk reads a pipe and no file.
"$bin/kustomize" build "$scratch/config/manifests" |
	quietly "$bin/operator-sdk" generate bundle --quiet --overwrite --version "$VERSION" \
		--channels "$CHANNELS" --default-channel "$DEFAULT_CHANNEL"
if [[ -d $scratch/old ]] && diff -rq -I '^    createdAt: ' "$scratch/old" bundle >/dev/null; then
	rm -rf bundle
	cp -r "$scratch/old" bundle
fi
