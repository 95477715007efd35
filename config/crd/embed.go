// SPDX-License-Identifier: Apache-2.0

// Package crd holds the generated definitions of the kinds, for programs that
// judge a manifest without an API server.
package crd

import _ "embed"

// ServerGroups is the CustomResourceDefinition of ServerGroup, as YAML.
//
//go:embed bases/spawnery.cloud_servergroups.yaml
var ServerGroups []byte
