#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Changes the tree to that of a release: version, changelog and all that is
# generated. Commits nothing. docs/development/release.md tells what follows.
#
#   hack/release.sh 1.2.3    with make's BUNDLE_SETTINGS of that version
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$1

go run ./hack/release check "$version"
go run ./hack/release cut "$version" "$(date -u +%F)"
hack/generate.sh manifests code bundle docs
go run ./hack/release channel "$version"
cat <<END

The tree is that of $version. Look at it, then commit it and put the commit on main:

    git diff
    git add api/agent/v1alpha1/released
    git commit -am 'Release $version'

Then, at that commit: make release-bundle
END
