#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that the named Debian packages are installed; installs the missing
# ones where it may, and otherwise says what to do.
#
#   hack/debian-packages.sh runc conntrack ...
set -euo pipefail

missing=()
for package in "$@"; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[[ $state = installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

# Another package may stand in for one: the Node.js that is not Debian's has npm
# in it, and conflicts with Debian's.
provided=$(dpkg-query -W -f '${db:Status-Status} ${Provides}\n' | sed -n 's/^installed //p' | tr ',' '\n' | awk '{print $1}')
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | grep -vxF "$provided" || true)
((${#missing[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
	echo "missing: ${missing[*]} (Debian's names; install them with your system's package manager)" >&2
	exit 1
fi
if ((EUID)); then
	echo "missing: ${missing[*]}; run: sudo apt-get install -y ${missing[*]}" >&2
	exit 1
fi

echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Another apt-get (unattended upgrades) may hold the lock for a while.
apt=(apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { "${apt[@]}" install "${missing[@]}" >"$log" 2>&1 </dev/null; }
update() { "${apt[@]}" update >"$log" 2>&1 </dev/null; }
# The lists of a fresh machine are empty or old.
if ! install && ! { update && install; }; then
	cat "$log" >&2
	exit 1
fi
