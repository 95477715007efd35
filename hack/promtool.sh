#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Puts Prometheus' promtool into bin/: the one in PATH, or that of Debian's
# package prometheus. The package is unpacked and not installed: installed, it
# would serve on this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}

[[ -x $bin/promtool ]] && exit 0
mkdir -p "$bin"
if found=$(command -v promtool); then
	ln -sf "$found" "$bin/promtool"
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "missing: promtool (it comes with Prometheus; put it into PATH)" >&2
	exit 1
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fetch() { apt-get -qq download prometheus >log 2>&1 </dev/null; }
# The lists of a fresh machine are empty or old, and only root renews them.
update() { ((EUID == 0)) && apt-get -qq -o DPkg::Lock::Timeout=300 update >log 2>&1 </dev/null; }
if ! fetch && ! { update && fetch; }; then
	cat log >&2
	echo "missing: promtool; run: sudo apt-get update" >&2
	exit 1
fi
dpkg -x prometheus_*.deb .
mv usr/bin/promtool "$bin/promtool"
