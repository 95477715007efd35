#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The short check before every commit: formats, builds, vets, lints and
# unit-tests the packages with changes since the main branch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}

mapfile -t packages < <(hack/packages.sh changed)
if ((${#packages[@]} == 0)); then
	echo "no Go package changed"
	exit 0
fi
directories=()
for package in "${packages[@]}"; do directories+=(".${package#github.com/spawnery/spawnery-operator}"); done
printf 'checking %d packages\n' ${#packages[@]}

"$bin/lint" fmt "${directories[@]}"
go build ./...
go vet "${packages[@]}"
"$bin/lint" run --allow-serial-runners "${directories[@]}"
mapfile -t unit < <(hack/packages.sh unit | grep -xFf <(printf '%s\n' "${packages[@]}") || true)
if ((${#unit[@]})); then go test "${unit[@]}"; fi
