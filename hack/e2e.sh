#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end tests on a cluster of their own, beside the one of
# `make cluster`, and leaves go test's report in bin/reports.
#
#   RUN=name     only the tests of a theme: proxy (or network), persistent, sizing, agent, content
#   RUN=regexp   only the tests whose names match
#   SAVE=100s    how long the save takes that must not be cut short; 50s if unset
#   KEEP=1       leave the cluster up; the next run goes on with it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(realpath "${BIN:-bin}")
folder=$bin/e2e

hack/debian-packages.sh default-jdk-headless
cluster() { "$bin/testcluster" -bin "$bin" -folder "$folder" "$@"; }
if [[ -z ${KEEP:-} ]]; then
	cluster down
	trap 'cluster down' EXIT
fi
cluster -nodes 2 up
cluster load "$bin"/image/*.tar

mkdir -p "$bin/reports"
report=$bin/reports/e2e.json
hack/binaries.sh gotestsum >/dev/null
"$bin/gotestsum" --format testname --hide-summary=skipped --jsonfile "$report" --raw-command -- \
	go test -json -count=1 -timeout 30m ./test/e2e -selection "${RUN:-}" \
	${SAVE:+-save "$SAVE"} \
	-kubeconfig "$folder/kubeconfig" -kubectl "$bin/kubectl" -audit-log "$folder/audit.log"
go build -o "$bin/test-report" ./hack/test-report
"$bin/test-report" "$report"
