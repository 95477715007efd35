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
}

// Files lists what the flavor of a server needs, in the order to write it.
func Files(spec serverspec.Spec, secrets Secrets) ([]File, error) {
	if err := checkSecrets(spec, secrets); err != nil {
		return nil, err
	}
	files := []File{{Path: serverPropertiesPath, Merge: func(existing []byte) ([]byte, error) {
		return mergeServerProperties(spec, secrets, existing)
	}}}
	switch spec.Flavor {
	case serverspec.FlavorPaper:
		files = append(files, File{Path: paperGlobalPath, Merge: func(existing []byte) ([]byte, error) {
			return mergePaperGlobal(spec, secrets, existing)
		}})
	case serverspec.FlavorFabric:
		files = append(files, File{Path: fabricProxyPath, Merge: func(existing []byte) ([]byte, error) {
			return mergeFabricProxy(spec, secrets, existing)
		}})
	case serverspec.FlavorVanilla, serverspec.FlavorCustom:
	}
	if spec.AcceptEULA {
		files = append(files, File{Path: eulaPath, Merge: mergeEULA})
	}
	return files, nil
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
	merged, err := parseProperties(eulaPath, existing)
	if err != nil {
		return nil, err
	}
	if value, found := merged.Get(key); found && strings.EqualFold(value, "true") {
		return existing, nil
	}
	return setProperties(eulaPath, merged, []setting{{key, "true"}})
}
