#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs one kind of test and leaves go test's own report in bin/reports. A kind
# of which no test ran fails: it would prove nothing.
#
#   hack/run-tests.sh unit|race|env|peers|scorecard|operatorhub|released
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}
kind=$1
flags=(-timeout 15m)

case $kind in
race)
	flags+=(-race)
	export CGO_ENABLED=1
	;;&
unit | race | env) mapfile -t packages < <(hack/packages.sh "$kind") ;;
peers)
	(cd test/peers && npm ci --no-audit --no-fund --silent)
	packages=(./test/peers/...)
	;;
scorecard | operatorhub | released)
	# These read what lies in bin/: the result of an earlier run proves nothing.
	export SPAWNERY_TEST_BIN=$bin
	flags+=(-count=1)
	packages=("./test/$kind")
	;;
esac

mkdir -p "$bin/reports"
report=$bin/reports/$kind.json
"$bin/gotestsum" --format pkgname --format-hide-empty-pkg --hide-summary=skipped,output \
	--jsonfile "$report" --raw-command -- go test -json "${flags[@]}" "${packages[@]}"
go build -o "$bin/test-report" ./hack/test-report
"$bin/test-report" "$report"
