// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"maps"
	"strings"
)

const (
	layerDigest = "@sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"
	oneSource   = "spec.server.template[0]: Invalid value: exactly one of the fields in [image fromGameImage persistentVolumeClaim] must be set"
)

func template(layers string) string { return `spec: {server: {template: [` + layers + `]}}` }

// templateRows are about the layers that are copied into the data directory.
func templateRows() map[string]admissionRow {
	rows := map[string]admissionRow{
		"a layer comes from somewhere": {
			base:   "ephemeral",
			accept: template(`{fromGameImage: /data}, {image: "example.org/plugins` + layerDigest + `", path: /lobby, mode: IfMissing}, {persistentVolumeClaim: {name: maps}, path: /a/b}`),
			reject: template(`{mode: Always}`),
			want:   oneSource,
		},
		"a layer comes from one place": {
			base:   "persistent",
			accept: template(`{persistentVolumeClaim: {name: maps}}`),
			reject: template(`{persistentVolumeClaim: {name: maps}, fromGameImage: /data}`),
			want:   oneSource,
		},
		"a directory of the game's image is named once": {
			base:   "ephemeral",
			accept: template(`{fromGameImage: /opt/server}`),
			reject: template(`{fromGameImage: /opt, path: /server}`),
			want:   "spec.server.template[0]: Invalid value: path is only allowed with image and persistentVolumeClaim; fromGameImage is a path itself",
		},
		"a layer has a known mode": {
			base:   "ephemeral",
			accept: template(`{fromGameImage: /data, mode: Always}`),
			reject: template(`{fromGameImage: /data, mode: Sync}`),
			want:   `spec.server.template[0].mode: Unsupported value: "Sync": supported values: "IfMissing", "Always"`,
		},
		"an image of a layer is named by digest": {
			base:   "ephemeral",
			accept: template(`{image: "example.org:5000/plugins:v1` + layerDigest + `"}`),
			reject: template(`{image: "example.org/plugins:v1"}`),
			want:   `spec.server.template[0].image: Invalid value: "example.org/plugins:v1": image of a layer must be named by its digest, as in registry.example.org/plugins@sha256:<64 digits>`,
		},
		"a claim of a layer is named": {
			base:   "ephemeral",
			accept: template(`{persistentVolumeClaim: {name: hub-0-data}}`),
			reject: template(`{persistentVolumeClaim: {}}`),
			want:   "spec.server.template[0].persistentVolumeClaim.name: Required value",
		},
		"a layer is no world of its own group": {
			base:   "persistent",
			accept: `{metadata: {name: survival}, ` + template(`{persistentVolumeClaim: {name: survival-old-0-data}}, {persistentVolumeClaim: {name: survival-data}}, {persistentVolumeClaim: {name: creative-0-data}}`) + `}`,
			reject: `{metadata: {name: survival}, ` + template(`{fromGameImage: /data}, {persistentVolumeClaim: {name: survival-12-data}}`) + `}`,
			want:   "<nil>: Invalid value: a layer must not be a claim of the group's own worlds",
		},
		"there are few layers": {
			base:   "ephemeral",
			accept: template(strings.Repeat(`{fromGameImage: /a}, `, 16)),
			reject: template(strings.Repeat(`{fromGameImage: /a}, `, 17)),
			want:   "spec.server.template: Too many: 17: must have at most 16 items",
		},
	}
	maps.Copy(rows, templatePathRows())
	return rows
}

func templatePathRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a directory of the game's image is an absolute path": {
			base:   "ephemeral",
			accept: template(`{fromGameImage: "/srv/my server"}`),
			reject: template(`{fromGameImage: data}`),
			want:   `spec.server.template[0].fromGameImage: Invalid value: "data": spec.server.template[0].fromGameImage in body should match '^(/[^/]+)+$'`,
		},
		"a directory of the game's image says where it is": {
			base:   "ephemeral",
			accept: template(`{fromGameImage: /srv/..data}`),
			reject: template(`{fromGameImage: /srv/../proc}`),
			want:   `spec.server.template[0].fromGameImage: Invalid value: "/srv/../proc": fromGameImage must not contain . or .. as a part`,
		},
		"a directory of the game's image is in it": {
			base:   "ephemeral",
			accept: template(`{fromGameImage: /process}`),
			reject: template(`{fromGameImage: /proc/self}`),
			want:   `spec.server.template[0].fromGameImage: Invalid value: "/proc/self": /proc, /sys, /dev and /spawnery are no part of the game's image`,
		},
		"a path in a layer is absolute": {
			base:   "ephemeral",
			accept: template(`{persistentVolumeClaim: {name: maps}, path: "/season 4"}`),
			reject: template(`{persistentVolumeClaim: {name: maps}, path: season-4/}`),
			want:   `spec.server.template[0].path: Invalid value: "season-4/": spec.server.template[0].path in body should match '^(/[^/]+)+$'`,
		},
		"a path in a layer says where it is": {
			base:   "ephemeral",
			accept: template(`{persistentVolumeClaim: {name: maps}, path: /...}`),
			reject: template(`{persistentVolumeClaim: {name: maps}, path: /a/./b}`),
			want:   `spec.server.template[0].path: Invalid value: "/a/./b": path must not contain . or .. as a part`,
		},
	}
}
