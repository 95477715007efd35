#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs one kind of test and leaves go test's own report in bin/reports. A kind
# of which no test ran fails: it would prove nothing.
#
#   hack/run-tests.sh unit|race|env|worlds|soak|peers|scorecard|operatorhub|released|olm
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}
kind=$1
flags=(-timeout 15m)
format=pkgname

case $kind in
race)
	flags+=(-race)
	export CGO_ENABLED=1
	;;&
unit | race | env) mapfile -t packages < <(hack/packages.sh "$kind") ;;
worlds)
	# Two seconds of two loaded cores for a trial, and time to build.
	flags=(-timeout $((20 + ${TRIALS:-50} / 15))m -count=1 -parallel 6)
	format=testname
	packages=(./test/worlds -trials "${TRIALS:-50}" -seed "${SEED:-0}")
	;;
soak)
	flags=(-timeout 2h -count=1 -v)
	format=standard-verbose
	packages=(./internal/proxy -run '^TestSoak$' -soak "${TIME:-10m}" -seed "${SEED:-0}")
	;;
peers)
	(cd test/peers && npm ci --no-audit --no-fund --silent)
	export SPAWNERY_TEST_BIN=$bin
	packages=(./test/peers/...)
	;;
javasdk)
	flags+=(-count=1)
	packages=("./test/javasdk")
	;;
scorecard | operatorhub | released)
	# These read what lies in bin/: the result of an earlier run proves nothing.
	export SPAWNERY_TEST_BIN=$bin
	flags+=(-count=1)
	packages=("./test/$kind")
	;;
olm)
	# Both managers are built as for an image. Without the commit of the release
	# there is nothing to upgrade from, and the test says why it skips that.
	export SPAWNERY_TEST_BIN=$bin
	mkdir -p "$bin/olm"
	go build -ldflags "-s -w -X main.version=$(<VERSION)" -o "$bin/olm/manager" .
	status=0
	said=$(hack/released.sh 2>&1) || status=$?
	echo "$said"
	case $status in
	0) SPAWNERY_TEST_RELEASED=$bin/released/$(go run ./hack/release last) && export SPAWNERY_TEST_RELEASED ;;
	3) export SPAWNERY_TEST_NO_RELEASE=$said ;;
	*) exit $status ;;
	esac
	flags+=(-count=1)
	format=testname
	packages=(./test/olm)
	;;
esac

mkdir -p "$bin/reports"
report=$bin/reports/$kind.json
# What a failed test printed is shown once: as it happens, or at the end.
hide=skipped
if [[ $format = testname ]]; then hide+=,output; fi
"$bin/gotestsum" --format $format --format-hide-empty-pkg --hide-summary=$hide \
	--jsonfile "$report" --raw-command -- go test -json "${flags[@]}" "${packages[@]}"
go build -o "$bin/test-report" ./hack/test-report
"$bin/test-report" "$report"
