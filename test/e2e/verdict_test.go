// SPDX-License-Identifier: Apache-2.0

// The tests of this file judge what the manager did during the others, so they
// come last: go test runs files in the order of their names.

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/test/stage"
)

const account = "system:serviceaccount:" + stage.SystemNamespace + ":" + stage.Manager

// claimVerbs are all that the manager may do to claims.
var claimVerbs = []string{"create", "get", "list", "patch", "watch"}

// call is what of a line of the audit log is judged.
type call struct {
	Verb        string
	RequestURI  string
	User        struct{ Username string }
	ObjectRef   struct{ Resource, Subresource, APIGroup string }
	Annotations map[string]string
}

// calls are the manager's, of the whole run.
func calls(t *testing.T) []call {
	t.Helper()
	file, err := os.Open(*auditLog)
	must(t, err)
	defer func() { _ = file.Close() }()
	var found []call
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// What comes after the last end of a line is being written.
			break
		}
		must(t, err)
		var c call
		must(t, json.Unmarshal(line, &c))
		if c.User.Username == account {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s holds no call of %s", *auditLog, account)
	}
	return found
}

func TestNoCallOfTheManagerWasForbidden(t *testing.T) {
	for _, c := range calls(t) {
		if c.Annotations["authorization.k8s.io/decision"] == "forbid" {
			t.Errorf("forbidden: %s %s: %s", c.Verb, c.RequestURI, c.Annotations["authorization.k8s.io/reason"])
		}
	}
}

func TestTheManagerWroteNobodysSpecAndDeletedNoClaim(t *testing.T) {
	reading := []string{"get", "list", "watch"}
	owners := []string{"networks", "proxygroups", "servergroups"}
	used := map[string]bool{}
	for _, c := range calls(t) {
		ref := c.ObjectRef
		if ref.APIGroup == "spawnery.cloud" && slices.Contains(owners, ref.Resource) && ref.Subresource == "" && !slices.Contains(reading, c.Verb) {
			t.Errorf("a write on what belongs to an owner: %s %s", c.Verb, c.RequestURI)
		}
		if ref.Resource == "persistentvolumeclaims" {
			used[c.Verb] = true
			if !slices.Contains(claimVerbs, c.Verb) {
				t.Errorf("a claim was met with %s: %s", c.Verb, c.RequestURI)
			}
		}
	}
	if !used["create"] {
		t.Error("no claim was created: nothing was proven")
	}
}

func TestTheManagersAccountHoldsClaimsInFiveVerbs(t *testing.T) {
	out, err := cluster.Kubectl(t.Context(), "", "auth", "can-i", "--list", "--as="+account, "-n", stage.Namespace)
	must(t, err)
	found := false
	for line := range strings.Lines(out) {
		resource, _, _ := strings.Cut(line, " ")
		if resource == "*.*" || strings.HasPrefix(resource, "*") {
			t.Errorf("the account may do something to everything: %s", line)
		}
		if resource != "persistentvolumeclaims" {
			continue
		}
		found = true
		verbs := strings.Fields(strings.Trim(line[strings.LastIndex(line, "["):], "[]\n "))
		slices.Sort(verbs)
		if !slices.Equal(verbs, claimVerbs) {
			t.Errorf("claims: %v, want exactly %v", verbs, claimVerbs)
		}
	}
	if !found {
		t.Errorf("no line about persistentvolumeclaims in:\n%s", out)
	}
}
