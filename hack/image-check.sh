#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the operator's image twice, the second time from a copy of the source
# elsewhere and with another umask, and fails unless both have one digest.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(realpath "${BIN:-bin}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tag=spawnery.test/operator:check
first=$(BIN=$bin hack/image.sh "$work/first.tar" "$tag")

mkdir "$work/copy"
# A file that was deleted and not committed is still listed.
git ls-files -z --cached --others --exclude-standard |
	tar --create --null --files-from=- --ignore-failed-read --warning=none | tar --extract --directory="$work/copy"
second=$(umask 077 && cd "$work/copy" && BIN=$bin hack/image.sh "$work/second.tar" "$tag")

if [[ $first != "$second" ]]; then
	echo "two builds of one source differ: $first and $second" >&2
	exit 1
fi
cmp "$work/first.tar" "$work/second.tar"
echo "two builds, one digest: $first"
