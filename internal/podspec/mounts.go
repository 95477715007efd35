// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

const (
	agentProgram = "/agent"
	proxyProgram = "/proxy"
	tempDir      = "/tmp"
)

// reserved are the operator's own directories: nothing of an owner's lies at
// them, below them or around them.
func reserved() []string {
	return []string{
		v1alpha1.ReservedPath,
		serverspec.RunDir,
		path.Dir(serverspec.ForwardingDir),
		path.Dir(serverspec.TokenFile),
	}
}

// prepared are the files of the data directory that the agent writes, those of
// Paper whatever the flavor. An owner's file in their place would have the game
// run with other settings than the operator counts on, or than its own overlay
// says.
func prepared(spec v1alpha1.ServerGroupSpec) []string {
	files := []string{"server.properties", "eula.txt", "config/paper-global.yml"}
	if spec.Server.Flavor == v1alpha1.FlavorFabric {
		files = append(files, "config/FabricProxy-Lite.toml")
	}
	for _, overlay := range spec.ConfigOverlay {
		for _, item := range overlay.Items {
			files = append(files, item.Path)
		}
	}
	return files
}

// ValidateMounts reports every path of a group at which the operator's own
// files would be hidden. The messages are for the group's Accepted condition,
// reason InvalidMount.
func ValidateMounts(group *v1alpha1.ServerGroup) error {
	dataDir := path.Clean(cmp.Or(group.Spec.Server.DataDir, defaultDataDir))
	var errs []error
	// The data directory is mounted beside the agent's program, too.
	if owned := overlapping(dataDir, append(reserved(), agentProgram)); owned != "" {
		errs = append(errs, fmt.Errorf("server.dataDir %s: %s belongs to the operator", dataDir, owned))
	}
	if covers(dataDir, tempDir) {
		errs = append(errs, fmt.Errorf("server.dataDir %s: %s is a volume of its own", dataDir, tempDir))
	}
	seen := map[string]bool{}
	for _, mount := range group.Spec.Mounts {
		target := path.Clean(mount.MountPath)
		if err := validateMount(target, dataDir, prepared(group.Spec)); err != nil {
			errs = append(errs, err)
		}
		if seen[target] {
			errs = append(errs, fmt.Errorf("mount %s: something else is mounted there already", target))
		}
		seen[target] = true
	}
	return errors.Join(errs...)
}

// validateMount is about one cleaned path; the first rule it breaks is enough.
func validateMount(target, dataDir string, prepared []string) error {
	if !path.IsAbs(target) {
		return fmt.Errorf("mount %s: the path must be absolute", target)
	}
	if owned := overlapping(target, reserved()); owned != "" {
		return fmt.Errorf("mount %s: %s belongs to the operator", target, owned)
	}
	for _, volume := range []string{dataDir, tempDir} {
		if covers(target, volume) {
			return fmt.Errorf("mount %s: it would hide %s, which the game writes to", target, volume)
		}
	}
	for _, file := range prepared {
		if owned := overlapping(target, []string{path.Join(dataDir, file)}); owned != "" {
			return fmt.Errorf("mount %s: it would hide %s, which the operator prepares", target, owned)
		}
	}
	return nil
}

// overlapping is the first of paths that target covers or lies in.
func overlapping(target string, paths []string) string {
	for _, owned := range paths {
		if covers(target, owned) || covers(owned, target) {
			return owned
		}
	}
	return ""
}

// covers is true where something mounted at above hides what is at below.
func covers(above, below string) bool {
	return above == below || above == "/" || strings.HasPrefix(below, above+"/")
}
