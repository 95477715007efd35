#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes an image of a Node.js program from this machine's own Node.js, the
# libraries it is linked with, and a folder that holds the program and its
# node_modules.
#
#   hack/image-node.sh OUT.tar NAME:TAG FOLDER SCRIPT [WORKDIR]
#
# FOLDER becomes /app, and `node /app/SCRIPT` the entrypoint; SCRIPT may have
# arguments. It runs in WORKDIR, /app if none is given.
set -euo pipefail

out=$1 tag=$2 folder=$3 script=$4 workdir=${5:-/app}
bin=${BIN:-$(dirname "${BASH_SOURCE[0]}")/../bin}
node=$(readlink -f "$(command -v node)")

files=("$node=/usr/bin/node" "$folder=/app")
# ldd prints `NAME => FILE (ADDRESS)`, and for the loader just `FILE (ADDRESS)`.
while read -r library; do
	files+=("$library=$library")
done < <(ldd "$node" | grep -o '/[^ ]*')

mkdir -p "$(dirname "$out")"
"$bin/mkimage" -o "$out" -t "$tag" -workdir "$workdir" -user 65532:65532 \
	-env NODE_ENV=production -entrypoint "/usr/bin/node /app/$script" "${files[@]}"
