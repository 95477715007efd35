// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// StartControllers runs some of Kubernetes' own controllers beside the API
// server until the test ends, by the names that kube-controller-manager's flag
// --controllers has for them. What they say is logged when the test fails.
func (e *Env) StartControllers(t testing.TB, names ...string) {
	t.Helper()
	program := filepath.Join(assets(t), "kube-controller-manager")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("no kube-controller-manager in %s: run make kube-api-binaries", assets(t))
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(e.kubeconfig(), kubeconfig); err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	var words strings.Builder
	command := exec.CommandContext(t.Context(), program, "--kubeconfig="+kubeconfig,
		"--controllers="+strings.Join(names, ","), "--leader-elect=false", "--secure-port=0")
	command.Stdout, command.Stderr = &words, &words
	if err := command.Start(); err != nil {
		t.Fatalf("starting kube-controller-manager: %v", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("kube-controller-manager:\n%s", words.String())
		}
	})
}

// kubeconfig reaches the API server as an administrator.
func (e *Env) kubeconfig() clientcmdapi.Config {
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: e.Config.Host, CertificateAuthorityData: e.Config.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: e.Config.CertData, ClientKeyData: e.Config.KeyData,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return *config
}
