// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Call is one request in the API server's audit log.
type Call struct {
	// User who asked; the impersonated one when there was impersonation.
	User string
	// Verb, Group, Resource, Subresource, Namespace and Name of the request.
	Verb, Group, Resource, Subresource, Namespace, Name string
	// Forbidden is true when RBAC refused the call.
	Forbidden bool
	// Confined is what an admission policy that also audits had against it;
	// empty for nothing.
	Confined string
	// Body of a write to a claim: the object, or the patch. Empty otherwise.
	Body string
	// Pod is the one that the caller's token is bound to; empty without one.
	Pod string
	// At is when the API server received the call.
	At time.Time
}

// everything logs who asked for what, and the content only of what is written to
// claims.
const everything = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{resources: [persistentvolumeclaims, persistentvolumeclaims/*]}]
- level: Metadata
`

// auditEvent is what of an audit event is read here.
type auditEvent struct {
	Verb             string            `json:"verb"`
	User             auditUser         `json:"user"`
	ImpersonatedUser *auditUser        `json:"impersonatedUser"`
	Annotations      map[string]string `json:"annotations"`
	ReceivedAt       metav1.MicroTime  `json:"requestReceivedTimestamp"`
	RequestObject    json.RawMessage   `json:"requestObject"`
	ObjectRef        struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
}

type auditUser struct {
	Username string              `json:"username"`
	Extra    map[string][]string `json:"extra"`
}

// podOfToken is where the API server says which pod a token is bound to.
const podOfToken = "authentication.kubernetes.io/pod-name"

// Calls returns the requests that a user has made so far, oldest first. Those
// for no resource, such as discovery, are left out.
func (e *Env) Calls(t testing.TB, user string) []Call {
	t.Helper()
	return slices.DeleteFunc(e.AllCalls(t), func(call Call) bool { return call.User != user })
}

// AllCalls is Calls of every user.
func (e *Env) AllCalls(t testing.TB) []Call {
	t.Helper()
	file, err := os.Open(e.auditLog)
	if err != nil {
		t.Fatalf("reading the audit log: %v", err)
	}
	defer func() { _ = file.Close() }()

	var calls []Call
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("reading the audit log: %v", err)
		}
		if call := event.call(); call.Resource != "" {
			calls = append(calls, call)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("reading the audit log: %v", err)
	}
	return calls
}

func (event auditEvent) call() Call {
	user := event.User
	if event.ImpersonatedUser != nil {
		user = *event.ImpersonatedUser
	}
	return Call{
		User:        user.Username,
		Verb:        event.Verb,
		Group:       event.ObjectRef.APIGroup,
		Resource:    event.ObjectRef.Resource,
		Subresource: event.ObjectRef.Subresource,
		Namespace:   event.ObjectRef.Namespace,
		Name:        event.ObjectRef.Name,
		Forbidden:   event.Annotations["authorization.k8s.io/decision"] == "forbid",
		Confined:    event.Annotations["validation.policy.admission.k8s.io/validation_failure"],
		Body:        string(event.RequestObject),
		Pod:         strings.Join(user.Extra[podOfToken], ""),
		At:          event.ReceivedAt.Time,
	}
}

func auditPolicy(t testing.TB, policy string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "audit-policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatalf("writing the audit policy: %v", err)
	}
	return file
}
