// SPDX-License-Identifier: Apache-2.0

// Package v1 takes the place of operator-sdk's Ansible plugin, whose module
// cannot be had: operator-sdk links, and scaffolds nothing for Ansible.
package v1

import (
	"sigs.k8s.io/kubebuilder/v4/pkg/config"
	cfgv3 "sigs.k8s.io/kubebuilder/v4/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v4/pkg/plugin"
)

// Plugin does nothing.
type Plugin struct{}

var _ plugin.Plugin = Plugin{}

// Name is the name that the real plugin has.
func (Plugin) Name() string { return "base.ansible.sdk.operatorframework.io" }

// Version is the version that the real plugin has.
func (Plugin) Version() plugin.Version { return plugin.Version{Number: 1} }

// SupportedProjectVersions lists the versions of PROJECT that the plugin knows.
func (Plugin) SupportedProjectVersions() []config.Version {
	return []config.Version{cfgv3.Version}
}
