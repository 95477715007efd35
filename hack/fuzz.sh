#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes each target for a while, one after the other, those whose package and
# name match a regular expression. What fails is kept by go test in
# testdata/fuzz of its package, and is a seed from then on.
#
#   hack/fuzz.sh 30s [mcproto|FuzzReadFrame]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=$1 wanted=${2:-.}

count=0 failed=()
while IFS=: read -r file line; do
	target=${line#func }
	target=${target%%(*}
	package=./$(dirname "$file")
	[[ "$package $target" =~ $wanted ]] || continue
	count=$((count + 1))
	printf '\n== %s %s\n' "$package" "$target"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 2s -parallel "${PARALLEL:-$(nproc)}" "$package" || failed+=("$package $target")
done < <(grep -rHo '^func Fuzz[A-Za-z0-9]*(' --include='*_test.go' internal | sort -u)

printf '\n%d targets, %d failed\n' $count ${#failed[@]}
if ((count == 0)); then
	echo "fuzz: no target matches $wanted" >&2
	exit 1
fi
((${#failed[@]} == 0)) || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }
