// SPDX-License-Identifier: Apache-2.0

package rbacaudit_test

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/rbacaudit"
)

// root of the project, from this package.
const root = "../.."

func TestGeneratedRolesHoldExactlyWhatIsRequired(t *testing.T) {
	granted := grantsOf(t, filepath.Join(root, "config/rbac/role.yaml"))
	required := rbacaudit.Grants(rbacaudit.Required())
	for _, grant := range rbacaudit.Without(required, granted) {
		t.Errorf("required and not granted: %s", grant)
	}
	for _, grant := range rbacaudit.Without(granted, required) {
		t.Errorf("granted and not required: %s", grant)
	}
}

func TestClaimsAreNeverDeletedNorUpdated(t *testing.T) {
	var verbs []string
	for _, grant := range grantsOf(t, filepath.Join(root, "config/rbac/role.yaml")) {
		if grant.Resource == "persistentvolumeclaims" {
			verbs = append(verbs, grant.Verb)
		}
	}
	if diff := cmp.Diff([]string{"create", "get", "list", "patch", "watch"}, verbs); diff != "" {
		t.Errorf("verbs on claims (-want +got):\n%s", diff)
	}
}

func TestSecretsAreNeverListed(t *testing.T) {
	for _, grant := range grantsOf(t, filepath.Join(root, "config/rbac/role.yaml")) {
		if grant.Resource == "secrets" && grant.Verb != "create" && grant.Name == "" {
			t.Errorf("every secret may be read: %s", grant)
		}
	}
}

func TestEveryPermissionHasAReason(t *testing.T) {
	for _, permission := range rbacaudit.Required() {
		if !strings.HasSuffix(permission.Why, ".") {
			t.Errorf("%s: %q is no sentence", permission.Resource, permission.Why)
		}
	}
}

// A marker that somebody adds anywhere in the code is found, and so is one
// that somebody forgets.
func TestMarkersTurnTheAuditRed(t *testing.T) {
	rows := map[string]struct {
		change         func(markers []string) []string
		missing, extra []rbacaudit.Grant
	}{
		"the markers as they are": {
			change: func(markers []string) []string { return markers },
		},
		"a delete of claims is added": {
			change: func(markers []string) []string {
				return append(markers, `// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=delete`)
			},
			extra: []rbacaudit.Grant{{Scope: rbacaudit.Cluster, Resource: "persistentvolumeclaims", Verb: "delete"}},
		},
		"the review of tokens is forgotten": {
			change: func(markers []string) []string {
				return slices.DeleteFunc(markers, func(marker string) bool { return strings.Contains(marker, "tokenreviews") })
			},
			missing: []rbacaudit.Grant{{
				Scope: rbacaudit.Cluster, Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create",
			}},
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			granted := grantsOf(t, generate(t, row.change(markersInCode(t))))
			required := rbacaudit.Grants(rbacaudit.Required())
			if diff := cmp.Diff(row.missing, rbacaudit.Without(required, granted)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.extra, rbacaudit.Without(granted, required)); diff != "" {
				t.Errorf("extra (-want +got):\n%s", diff)
			}
		})
	}
}

// grantsOf reads the roles of a file.
func grantsOf(t *testing.T, file string) []rbacaudit.Grant {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var grants []rbacaudit.Grant
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		grants = append(grants, rbacaudit.RoleGrants(rbacaudit.Scope(role.Kind), role.Rules)...)
	}
	if len(grants) == 0 {
		t.Fatalf("no role in %s", file)
	}
	return grants
}

// markersInCode collects the markers of the whole code base.
func markersInCode(t *testing.T) []string {
	t.Helper()
	var markers []string
	err := filepath.WalkDir(filepath.Join(root, "controllers"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for lines := bufio.NewScanner(strings.NewReader(string(content))); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "// +kubebuilder:rbac:") {
				markers = append(markers, lines.Text())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return markers
}

// generate makes roles of markers with the project's generator.
func generate(t *testing.T, markers []string) string {
	t.Helper()
	generator, err := filepath.Abs(filepath.Join(root, "bin/controller-gen"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(generator); err != nil {
		t.Fatal("no controller-gen in bin: run make tools")
	}
	directory := t.TempDir()
	files := map[string]string{
		"go.mod":     "module example.test/markers\n",
		"markers.go": "package markers\n\n" + strings.Join(markers, "\n") + "\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), generator, "rbac:roleName=spawnery-manager-role", "paths=.", "output:rbac:dir=.")
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("generating roles: %v\n%s", err, output)
	}
	return filepath.Join(directory, "role.yaml")
}
