#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the named binaries from the Go modules that pin them (tools,
# tools/operator-sdk, tools/olm, tools/kube and tools/node) and links them into
# bin/.
#
#   hack/binaries.sh lint etcd kube-apiserver ...
#
# A built binary is kept in ${XDG_CACHE_HOME:-~/.cache}/spawnery under a name
# that holds a hash of everything it is built from, so every clone on a machine
# shares one build and a change of versions never finds an old one. A lock per
# binary makes parallel calls wait for each other instead of building twice.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${BIN:-bin}
[[ $bin = /* ]] || bin=$root/$bin
cache=${XDG_CACHE_HOME:-$HOME/.cache}/spawnery

# The flags of every build of this project: other flags would be another cache.
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false' GOWORK=off

containerd=github.com/containerd/containerd/v2
plugins=github.com/containernetworking/plugins/plugins
framework=github.com/operator-framework

# recipe NAME sets module, package and flags.
recipe() {
	module=kube flags=()
	case $1 in
	lint) module=. package=./lint ;;
	controller-gen) module=. package=sigs.k8s.io/controller-tools/cmd/controller-gen ;;
	kustomize) module=. package=sigs.k8s.io/kustomize/kustomize/v5 ;;
	crd-ref-docs) module=. package=github.com/elastic/crd-ref-docs ;;
	gotestsum) module=. package=gotest.tools/gotestsum ;;
	protoc-gen-go) module=. package=google.golang.org/protobuf/cmd/protoc-gen-go ;;
	protoc-gen-go-grpc) module=. package=google.golang.org/grpc/cmd/protoc-gen-go-grpc ;;
	etcd) package=go.etcd.io/etcd/server/v3 ;;
	kube-apiserver | kube-controller-manager | kube-scheduler | kubelet | kube-proxy | kubectl)
		package=k8s.io/kubernetes/cmd/$1 ;;
	coredns) package=./coredns ;;
	local-path-provisioner) package=github.com/rancher/local-path-provisioner ;;
	containerd)
		module=node package=$containerd/cmd/containerd
		flags=(-tags 'no_btrfs,no_zfs,no_devmapper,no_tracing') ;;
	containerd-shim-runc-v2 | ctr) module=node package=$containerd/cmd/$1 ;;
	ptp) module=node package=$plugins/main/ptp ;;
	host-local) module=node package=$plugins/ipam/host-local ;;
	portmap) module=node package=$plugins/meta/portmap ;;
	operator-sdk)
		module=operator-sdk package=$framework/operator-sdk/cmd/operator-sdk
		flags=(-tags containers_image_openpgp) ;;
	scorecard-test)
		module=operator-sdk package=$framework/operator-sdk/images/scorecard-test
		flags=(-tags containers_image_openpgp) ;;
	opm)
		module=olm package=$framework/operator-registry/cmd/opm
		flags=(-tags 'json1,containers_image_openpgp,exclude_graphdriver_btrfs') ;;
	olm-operator | catalog-operator)
		package=${1%-operator} module=olm
		package=$framework/operator-lifecycle-manager/cmd/$package
		flags=(-tags 'json1,containers_image_openpgp,exclude_graphdriver_btrfs') ;;
	render-catalog | validate-bundle)
		module=olm package=./$1
		flags=(-tags 'json1,containers_image_openpgp,exclude_graphdriver_btrfs') ;;
	mkimage | pause) module=node package=./$1 ;;
	*)
		echo "binaries: no recipe for $1" >&2
		return 1 ;;
	esac
}

# version MODULE is the version that go.mod pins.
version() { go list -m -f '{{.Version}}' "$1"; }

# ldflags strips the binary and stamps the version that the module has;
# without the stamp Kubernetes calls itself v0.0.0, and operator-sdk writes
# "unknown" into what it generates.
ldflags() {
	local version major minor x='-s -w'
	case $module in
	.)
		echo "$x"
		return ;;
	node)
		echo "$x -X $containerd/version.Version=$(version $containerd)"
		return ;;
	olm)
		echo "$x -X $framework/operator-registry/cmd/opm/version.opmVersion=$(version $framework/operator-registry)"
		return ;;
	operator-sdk)
		version=$(version $framework/operator-sdk)
		for name in Version GitVersion GitCommit ImageVersion; do
			x+=" -X $framework/operator-sdk/internal/version.$name=$version"
		done
		echo "$x"
		return ;;
	esac
	version=$(version k8s.io/kubernetes)
	IFS=. read -r major minor _ <<<"${version#v}"
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		x+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
		x+=" -X $package.gitCommit=$version -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
	done
	echo "$x"
}

# fingerprint names everything the binary is built from.
fingerprint() {
	{
		go version
		cat go.mod go.sum
		# How it is built, and not the whole script: another tool's recipe is no
		# reason to build this one again.
		declare -f ldflags compile
		echo "$GOFLAGS" "$package" "${flags[@]}"
		if [[ $package = ./* ]]; then cat "$package"/*.go; fi
	} | sha256sum | cut -c1-16
}

# compile NAME FILE builds with a sign of life every 30 seconds: the first
# build of the API server takes minutes.
compile() {
	local name=$1 file=$2 log pid beat=1 status=0
	log=$(mktemp)
	go build "${flags[@]}" -ldflags "$(ldflags)" -o "$file" "$package" >"$log" 2>&1 &
	pid=$!
	SECONDS=0
	while kill -0 $pid 2>/dev/null; do
		sleep 0.5
		if ((SECONDS >= 30 * beat)); then
			printf '%-24s building, %d s\n' "$name" $SECONDS
			((beat++))
		fi
	done
	wait $pid || status=$?
	if ((status)); then grep -v '^go: downloading' "$log" >&2; fi
	rm -f "$log"
	return $status
}

# build NAME makes bin/NAME a link to the cached binary, compiling it if need be.
build() {
	local name=$1 module package flags file lock
	recipe "$name"
	cd "$root/tools/$module"
	file=$cache/$name-$(fingerprint)
	exec {lock}>"$cache/$name.lock"
	flock "$lock"
	if [[ ! -x $file ]]; then
		printf '%-24s building\n' "$name"
		compile "$name" "$file.part"
		mv "$file.part" "$file"
		printf '%-24s built in %d s, %d MB\n' "$name" $SECONDS $(($(stat -c %s "$file") >> 20))
		((++built))
	fi
	exec {lock}>&-
	touch "$file"
	ln -sfn "$file" "$bin/$name"
}

mkdir -p "$cache" "$bin"
built=0
for name in "$@"; do build "$name"; done
# What no clone has asked for in a month is of a version that nobody uses.
find "$cache" -type f -mtime +30 -delete
echo "$# binaries in $bin: $built built, $(($# - built)) from $cache"
