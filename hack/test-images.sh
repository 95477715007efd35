#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the images of the game servers that stand in for real ones on test
# clusters, into the folder of image archives:
#
#   spawnery.test/double        our double of Paper, with two tags to change between,
#                               and one that is started by a shell
#   spawnery.test/content       nothing but files
#   spawnery.test/npm-server    the server of the npm package minecraft-protocol
#   spawnery.test/flying-squid  the server of that name from npm, as it is
#
#   hack/test-images.sh FOLDER
set -euo pipefail

folder=$1
[[ $folder = /* ]] || folder=$PWD/$folder
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(realpath "${BIN:-bin}")
export BIN=$bin CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false'
mkdir -p "$folder"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go build -ldflags '-s -w' -o "$work/double" ./test/double
# What the data directory hides of an image, and an image that is nothing but files.
mkdir -p "$work/baked/plugins" "$work/content/plugins"
echo 'from the image of the game' >"$work/baked/plugins/baked.txt"
echo 'from an image of its own' >"$work/content/plugins/image.txt"
for tag in dev next; do
	digest=$("$bin/mkimage" -o "$folder/double-$tag.tar" -t "spawnery.test/double:$tag" -entrypoint /double \
		-workdir /data -user 1000:1000 "$work/double=/double" "$work/baked=/data")
	echo "spawnery.test/double:$tag $digest"
done
rm -f "$folder/double.tar"
digest=$("$bin/mkimage" -o "$folder/content.tar" -t spawnery.test/content:dev "$work/content=/content")
echo "spawnery.test/content:dev $digest"

# A shell that is the first process passes no signal on, as in many an image.
# SAVE_TAKES says how long its save takes.
digest=$("$bin/mkimage" -o "$folder/double-shell.tar" -t spawnery.test/double:shell -entrypoint '/bin/sh /start' \
	-workdir /data -user 1000:1000 -link /bin/sh=busybox -link /bin/cat=busybox -link /bin/ls=busybox \
	"$(command -v busybox)=/bin/busybox" "$work/double=/double" test/double/start.sh=/start)
echo "spawnery.test/double:shell $digest"

# The packages of npm change with the lock file alone; installing and packing
# them takes a while.
peers=test/peers
lock=$(sha256sum <"$peers/package-lock.json")
if [[ $(cat "$bin/peers.lock" 2>/dev/null) != "$lock" || ! -d $peers/node_modules ]]; then
	echo "installing the packages of $peers"
	(cd $peers && npm ci --no-audit --no-fund --silent </dev/null)
	echo "$lock" >"$bin/peers.lock"
fi

inputs=$({
	cat $peers/*.js* hack/image-node.sh hack/test-images.sh
	readlink -f "$(command -v node)" "$bin/mkimage"
	node --version
} | sha256sum)
if [[ $(cat "$bin/npm.inputs" 2>/dev/null) != "$inputs" || ! -f $folder/npm-server.tar || ! -f $folder/flying-squid.tar ]]; then
	node $peers/pack.js "$work/app" 1.21.4
	node_image() {
		local name=$1 digest
		digest=$(hack/image-node.sh "$folder/$name.tar" "spawnery.test/$name:dev" "$work/app" "${@:2}")
		echo "spawnery.test/$name:dev $digest"
	}
	node_image npm-server server.js
	# Its own program takes no port and no settings but these; where it is
	# started, it keeps its world.
	node_image flying-squid 'node_modules/flying-squid/app.js --offline' /data
	echo "$inputs" >"$bin/npm.inputs"
else
	echo "the images of npm are up to date"
fi
