#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates everything, or the named parts, and fails when a file changed.
# What is not committed yet does not matter: the tree is compared with itself.
#
#   hack/verify.sh [code|manifests|docs|bundle|catalog]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# state lists every file that git does not ignore, with a hash of its content.
state() { git ls-files -co --exclude-standard -z | sort -z | xargs -0 -r sha256sum 2>/dev/null || true; }

(($#)) && parts=("$@") || parts=(code manifests docs bundle catalog)
before=$(state)
hack/generate.sh "${parts[@]}"
after=$(state)
if [[ $before != "$after" ]]; then
	echo "these files differ from what their sources make; run make generate manifests docs bundle catalog:" >&2
	diff <(echo "$before") <(echo "$after") | awk '/^[<>]/ {print "  " $3}' | sort -u >&2
	exit 1
fi
echo "generated files are what their sources make"
