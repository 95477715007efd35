#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stores the bundle of a release in bundles/, with the record of what it was
# made from, and takes it into the catalog. Commits nothing.
#
#   hack/release-bundle.sh COMMIT    with make's BUNDLE_SETTINGS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

commit=$(git rev-parse --verify "$1^{commit}")
version=$(git show "$commit:VERSION")
go run ./hack/release check-commit "$version" "$commit"

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
hack/rebuild.sh "$commit" "$built"
hack/bundle-validate.sh "$built/bundle"
go run ./hack/release store "$version" "$commit" "$(<"$built/go")" "$built"
sed -i "s|^  - image: WORKING_TREE|  - image: IMAGE_TAG_BASE-bundle:v$version\n&|" config/operatorhub/catalog-template.yaml
hack/generate.sh catalog
cat <<END

bundles/$version holds the bundle of $commit,
with the image $(<"$built/digest"). Commit it:

    git add bundles catalog config/operatorhub
    git commit -m 'Store the bundle of $version'

Then begin the next version: make next-version VERSION=...
END
