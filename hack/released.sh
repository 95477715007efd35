#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds a released version again, from the commit that its record names.
#
#   hack/released.sh [VERSION]    default: the last one that is stored
#
# Leaves in bin/released/VERSION:
#
#   manager, agent, proxy  the programs, out of the image
#   operator.tar           the image, an archive that containerd and Docker read
#   digest                 its digest: the recorded one, if Go has the recorded version
#   go                     the version of Go that built it
#   bundle/                the stored bundle, unedited; it names the image by its recorded digest
#   bundle.Dockerfile      what makes an image of it, with this folder as context
#   record.json            the record
#
# Exits with 3 when the commit is not in this clone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${BIN:-bin}
[[ $bin = /* ]] || bin=$PWD/$bin
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false'

version=${1:-$(go run ./hack/release last)}
record=bundles/$version.json
if [[ ! -f $record ]]; then
	echo "released: $version is not stored; there are: $(cd bundles && echo *.json)" >&2
	exit 1
fi
# field NAME is what the record says; it is written with one field a line.
field() { sed -n "s/^ *\"$1\": \"\(.*\)\",$/\1/p" "$record"; }
commit=$(field commit)

mkdir -p "$bin/released"
exec {lock}>"$bin/released/$version.lock"
flock "$lock"
result=$bin/released/$version
inputs=$(sha256sum "$record" hack/rebuild.sh && go env GOVERSION)
if [[ $(cat "$result/inputs" 2>/dev/null) != "$inputs" ]]; then
	if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
		echo "released: $version is commit $commit, which is not in this clone; fetch it: git fetch --unshallow" >&2
		exit 3
	fi
	rm -rf "$result" "$result.part"
	hack/rebuild.sh "$commit" "$result.part"
	# Another version of Go makes another digest; the rest of the bundle follows
	# from the commit.
	sed -i "s|@$(<"$result.part/digest")|@$(field digest)|" "$result.part"/bundle/manifests/*.clusterserviceversion.yaml
	if ! diff -r "$result.part/bundle" "bundles/$version" >&2; then
		echo "released: bundles/$version is not the bundle of $commit" >&2
		exit 1
	fi
	cp "$record" "$result.part/record.json"
	echo "$inputs" >"$result.part/inputs"
	mv "$result.part" "$result"
fi
echo "${result#"$PWD/"} is $version: $(<"$result/digest"), by $(<"$result/go")"
if [[ $(<"$result/go") != "$(field go)" ]]; then
	echo "it was released by $(field go): programs and digest differ from the recorded ones"
fi
