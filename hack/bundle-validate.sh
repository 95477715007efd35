#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Validates a bundle with every suite that operator-sdk has for it. A warning
# fails like an error, but for those of `expected`.
#
#   hack/bundle-validate.sh bundle
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${BIN:-bin}
bundle=$1

suites=(
	''
	suite=operatorframework
	name=operatorhub
	name=operatorhubv2
	name=good-practices
	name=capabilities
	name=categories
	name=multiarch
	name=alpha-deprecated-apis
)
# The first two are one: no engine is here that could pull the image. The third
# is about the suite. The last takes any rule on events.k8s.io for one on its
# v1beta1, which is gone; the newest validators, asked at the end, do not.
expected='unable to inspect the image|error/error|The \\"operatorhub\\" validator is deprecated|removed in v1\.25\. .* Migrate the API\(s\) for events: '
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for suite in "${suites[@]}"; do
	status=0
	"$bin/operator-sdk" bundle validate "$bundle" ${suite:+--select-optional "$suite"} >"$log" 2>&1 || status=$?
	findings=$(grep -E 'level=(warning|error|fatal)|^(WARN|ERRO|FATA)' "$log" | grep -vE "$expected" || true)
	if ((status)) || [[ $findings ]]; then
		printf '%-28s FAILED\n' "${suite:-default}" >&2
		cat "$log" >&2
		failed=1
	else
		printf '%-28s ok\n' "${suite:-default}"
	fi
done
if "$bin/validate-bundle" "$bundle" >"$log" 2>&1; then
	printf '%-28s ok\n' 'newest validators'
else
	printf '%-28s FAILED\n' 'newest validators' >&2
	cat "$log" >&2
	failed=1
fi
exit $failed
