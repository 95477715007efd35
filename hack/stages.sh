#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs make targets one after the other, all of them even when one fails, and
# ends with a table of their times and the number of tests.
#
#   hack/stages.sh verify lint test-unit
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}

rm -rf "$bin/reports"
table=() failed=()
for target in "$@"; do
	printf '\n== %s\n' "$target"
	SECONDS=0
	result=ok
	make --no-print-directory "$target" </dev/null || { result=FAILED failed+=("$target"); }
	table+=("$(printf '%-18s %5d s  %s' "$target" $SECONDS "$result")")
done

printf '\n%-18s %7s\n' part time
printf '%s\n' "${table[@]}"
shopt -s nullglob
go build -o "$bin/test-report" ./hack/test-report &&
	"$bin/test-report" -failed-parts ${#failed[@]} "$bin"/reports/*.json
