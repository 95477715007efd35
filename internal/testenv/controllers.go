// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// complaint is a line in which klog tells of an error or a warning.
var complaint = regexp.MustCompile(`(?m)^[EWF]\d.*$`)

// ControllersUser is who Kubernetes' own controllers are, all of them.
const ControllersUser = "system:kube-controller-manager"

// StartControllers runs some of Kubernetes' own controllers beside the API
// server until the test ends, by the names that kube-controller-manager's flag
// --controllers has for them. What they complain about is logged when the test
// fails.
func (e *Env) StartControllers(t testing.TB, names ...string) {
	t.Helper()
	program := filepath.Join(Assets(t), "kube-controller-manager")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("no kube-controller-manager in %s: run make kube-api-binaries", Assets(t))
	}
	as := rest.CopyConfig(e.Config)
	as.Impersonate = rest.ImpersonationConfig{UserName: ControllersUser, Groups: []string{"system:masters", "system:authenticated"}}
	var words strings.Builder
	command := exec.CommandContext(t.Context(), program, "--kubeconfig="+Kubeconfig(t, as),
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--controllers="+strings.Join(names, ","), "--leader-elect=false", "--secure-port=0")
	command.Stdout, command.Stderr = &words, &words
	if err := command.Start(); err != nil {
		t.Fatalf("starting kube-controller-manager: %v", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("kube-controller-manager:\n%s", strings.Join(complaint.FindAllString(words.String(), -1), "\n"))
		}
	})
}
