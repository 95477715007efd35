#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stages what a pull request to the community catalogs adds, in
# bin/operatorhub: the bundle of this tree, with our image by its digest.
#
#   VERSION=0.1.0 IMAGE_TAG_BASE=name RELEASE_IMG=name:v0.1.0 hack/operatorhub.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}
operator=$bin/operatorhub/operators/spawnery-operator

mkdir -p "$bin/release"
digest=$(BIN=$bin hack/image.sh "$bin/release/operator.tar" "$RELEASE_IMG")
rm -rf "$bin/operatorhub"
mkdir -p "$operator"
cp config/operatorhub/ci.yaml "$operator/"
cp -r bundle "$operator/$VERSION"
sed -i "s|$RELEASE_IMG|$IMAGE_TAG_BASE@$digest|" "$operator/$VERSION"/manifests/*.clusterserviceversion.yaml
echo "${operator#"$PWD/"}/$VERSION names $digest"
