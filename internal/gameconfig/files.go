// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"fmt"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// Secrets are the values that files hold and a spec must not.
type Secrets struct {
	// Management opens the management protocol: ManagementSecretLength
	// characters of A-Z, a-z and 0-9, or the game dies at its start.
	Management string
	// Forwarding is shared by proxies and servers. Unused without forwarding.
	Forwarding string
}

// ManagementSecretLength is what the game accepts, no more and no less.
const ManagementSecretLength = 40

// File is one file that the game reads.
type File struct {
	// Path within the data directory.
	Path string
	// Merge returns the content the file must have, given what it has; nil
	// stands for no file, on either side. What the owner wrote is kept except
	// for the keys that must hold. The error names file and key.
	Merge func(existing []byte) ([]byte, error)
	// Overlaid is true when an owner chose the path: a link on the way to it
	// would lead to a file that is not the owner's to choose.
	Overlaid bool
}

// Overlays are what an owner lays over the prepared files.
type Overlays struct {
	// Files in the owner's order: of two at one path the later wins.
	Files []Overlay
	// Values of their placeholders.
	Values Values
}

// merger is File.Merge for a file whose name the caller adds to errors.
type merger func(existing []byte) ([]byte, error)

// Files lists what the flavor of a server needs and what its owner lays over
// that, in the order to write it.
func Files(spec serverspec.Spec, secrets Secrets, overlays Overlays) ([]File, error) {
	if err := checkSecrets(spec, secrets); err != nil {
		return nil, err
	}
	paths, mergers := prepared(spec, secrets)
	chosen := map[string][]Overlay{}
	for _, overlay := range overlays.Files {
		if err := overlay.check(); err != nil {
			return nil, err
		}
		if chosen[overlay.Path] == nil && mergers[overlay.Path] == nil {
			paths = append(paths, overlay.Path)
		}
		chosen[overlay.Path] = append(chosen[overlay.Path], overlay)
	}
	files := make([]File, 0, len(paths))
	for _, path := range paths {
		files = append(files, File{Path: path, Overlaid: chosen[path] != nil, Merge: func(existing []byte) ([]byte, error) {
			content, err := existing, error(nil)
			if merge := mergers[path]; merge != nil {
				content, err = merge(existing)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			for _, overlay := range chosen[path] {
				if content, err = overlay.over(content, overlays.Values, rulesOf(spec, path)); err != nil {
					return nil, err
				}
			}
			return content, nil
		}})
	}
	return files, nil
}

// prepared are the files of the flavor, in the order to write them.
func prepared(spec serverspec.Spec, secrets Secrets) ([]string, map[string]merger) {
	paths := []string{serverPropertiesPath}
	mergers := map[string]merger{serverPropertiesPath: func(existing []byte) ([]byte, error) {
		return mergeServerProperties(spec, secrets, existing)
	}}
	switch spec.Flavor {
	case serverspec.FlavorPaper:
		paths = append(paths, paperGlobalPath)
		mergers[paperGlobalPath] = func(existing []byte) ([]byte, error) {
			return mergePaperGlobal(spec, secrets, existing)
		}
	case serverspec.FlavorFabric:
		paths = append(paths, fabricProxyPath)
		mergers[fabricProxyPath] = func(existing []byte) ([]byte, error) {
			return mergeFabricProxy(spec, secrets, existing)
		}
	case serverspec.FlavorVanilla, serverspec.FlavorCustom:
	}
	if spec.AcceptEULA {
		paths = append(paths, eulaPath)
		mergers[eulaPath] = mergeEULA
	}
	return paths, mergers
}

func checkSecrets(spec serverspec.Spec, secrets Secrets) error {
	if len(secrets.Management) != ManagementSecretLength {
		return fmt.Errorf("%s: management-server-secret must have exactly %d characters", serverPropertiesPath, ManagementSecretLength)
	}
	if spec.Forwarding == serverspec.ForwardingVelocity && secrets.Forwarding == "" {
		return fmt.Errorf("the forwarding secret is empty: key %q of the Secret that the Network names", serverspec.ForwardingKey)
	}
	return nil
}

const eulaPath = "eula.txt"

// mergeEULA says yes for an owner who did. A file that says so already stays,
// with the date and the comment it was accepted with.
func mergeEULA(existing []byte) ([]byte, error) {
	const key = "eula"
	merged, err := parseProperties(existing)
	if err != nil {
		return nil, err
	}
	if value, found := merged.Get(key); found && strings.EqualFold(value, "true") {
		return existing, nil
	}
	return setProperties(merged, []setting{{key, "true"}})
}
