#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the images that the test cluster itself runs and links them into
# bin/images. They are kept beside the binaries in the user's cache, under a
# name that holds a hash of what is in them.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${BIN:-bin}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/spawnery
busybox=$(command -v busybox)

# image NAME TAG ARGUMENTS... makes one image from the files in the arguments.
image() {
	local name=$1 tag=$2 file arg
	shift 2
	file=$cache/image-$name-$(
		{
			readlink "$bin/mkimage"
			echo "$tag" "$@"
			for arg in "$@"; do
				if [[ -f ${arg%%=*} ]]; then readlink -f "${arg%%=*}"; fi
			done
			sha256sum "$busybox"
		} | sha256sum | cut -c1-16
	).tar
	if [[ ! -f $file ]]; then
		"$bin/mkimage" -o "$file" -t "spawnery.test/$name:$tag" "$@" >/dev/null
		echo "image $name:$tag made"
	fi
	touch "$file"
	ln -sfn "$file" "$bin/images/$name.tar"
}

rm -rf "$bin/images"
mkdir -p "$bin/images" "$cache"
image pause 1 -entrypoint /pause "$bin/pause=/pause"
image coredns 1 -entrypoint /coredns "$bin/coredns=/coredns"
image local-path-provisioner 1 -entrypoint /local-path-provisioner "$bin/local-path-provisioner=/local-path-provisioner"

applets=()
for applet in $("$busybox" --list); do
	[[ $applet = busybox ]] || applets+=(-link "/bin/$applet=busybox")
done
image busybox 1 "${applets[@]}" "$busybox=/bin/busybox"
