#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image of a commit, as that commit builds it, and stages its bundle
# with the image by digest. Neither the working tree nor the path of the folder
# shows in what is made.
#
#   hack/rebuild.sh COMMIT FOLDER
#
# Leaves in FOLDER, which is made:
#
#   operator.tar           the image, an archive that containerd and Docker read
#   digest                 its digest
#   go                     the version of Go that built it
#   manager, agent, proxy  the programs in it
#   bundle/                the bundle
#   bundle.Dockerfile      what makes an image of it, with FOLDER as context
set -euo pipefail
commit=$1 folder=$2
[[ $folder = /* ]] || folder=$PWD/$folder
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
git archive "$commit" | tar --extract --directory="$source"
mkdir -p "$folder"

(
	cd "$source"
	export BIN=$source/bin
	manifest=$(echo bundle/manifests/*.clusterserviceversion.yaml)
	image=$(sed -n 's/^    containerImage: //p' "$manifest")
	hack/binaries.sh mkimage >/dev/null
	hack/image.sh "$folder/operator.tar" "$image" >"$folder/digest"
	go env GOVERSION >"$folder/go"
	sed -i "s|$image|${image%:*}@$(<"$folder/digest")|" "$manifest"
	rm -rf "$folder/bundle"
	cp -r bundle bundle.Dockerfile "$folder/"
)
go run ./hack/release unpack "$folder/operator.tar" "$folder"
