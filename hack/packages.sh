#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Lists the Go packages of a kind of test.
#
#   hack/packages.sh unit     those that need nothing but Go
#   hack/packages.sh race     of these, the concurrent ones without client-go,
#                             which would take minutes to compile again
#   hack/packages.sh env      those that start an API server, and need no more
#   hack/packages.sh changed  those with changes since the main branch
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# tested lists packages with tests, each with what they import. Those in test/
# that need more than an API server have targets of their own.
tested() {
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{join .Imports " "}} | {{join .Deps " "}} {{join .TestImports " "}} {{join .XTestImports " "}}{{end}}' ./...
}
elsewhere='^github.com/spawnery/spawnery-operator/test/'
needs_more='^github.com/spawnery/spawnery-operator/test/(olm|worlds) '
needs_api_server=' github.com/spawnery/spawnery-operator/internal/testenv( |$)'
concurrent='^[^|]* (sync|net|net/http|google.golang.org/grpc)( |\|)'
clients=' (k8s.io/client-go|sigs.k8s.io/controller-runtime)[ /]'

# changed lists the directories of changed Go files that still exist.
changed() {
	local base
	base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
	{
		git diff --name-only "$base"
		git ls-files -o --exclude-standard
	} | grep '\.go$' | grep -v '^tools/' | xargs -r -n1 dirname | sort -u |
		while read -r directory; do
			if compgen -G "$directory/*.go" >/dev/null; then go list "./$directory"; fi
		done
}

case $1 in
unit) tested | { grep -vE "$needs_api_server|$elsewhere" || true; } | cut -d' ' -f1 ;;
race) tested | { grep -vE "$needs_api_server|$elsewhere|$clients" || true; } | { grep -E "$concurrent" || true; } | cut -d' ' -f1 ;;
env) tested | { grep -E "$needs_api_server" || true; } | { grep -vE "$needs_more" || true; } | cut -d' ' -f1 ;;
changed) changed ;;
*)
	echo "packages: no kind $1" >&2
	exit 1
	;;
esac
