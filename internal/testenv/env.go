// SPDX-License-Identifier: Apache-2.0

// Package testenv gives a test a real API server, built from source like the
// rest of Kubernetes here, with the project's own kinds installed.
package testenv

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// startTimeout is long because several suites start at once on few cores.
const startTimeout = 2 * time.Minute

// Env is a running API server. RBAC, Pod Security, ServiceAccount and the
// enforcement of owner references are on, as on an owner's cluster; nothing
// schedules or runs pods, and Kubernetes' own controllers run only where
// StartControllers is called.
type Env struct {
	// Config reaches the API server as an administrator.
	Config *rest.Config
	// Scheme knows the kinds of Kubernetes and our own.
	Scheme *runtime.Scheme
	// Client is an uncached administrator.
	Client client.Client

	auditLog string
}

// Start starts an API server for one test or suite, with our kinds installed,
// and stops it when that ends. It fails the test, saying what to build, when
// the binaries are missing.
func Start(t testing.TB) *Env {
	t.Helper()
	return StartWith(t, Path(t, "config/crd/bases"))
}

// StartWith is Start with the kinds of these files and folders, and no others.
func StartWith(t testing.TB, crds ...string) *Env {
	t.Helper()
	return StartAuditing(t, everything, crds...)
}

// StartAuditing is StartWith, with an audit policy that logs less than
// everything: where much happens, the log is read faster.
func StartAuditing(t testing.TB, policy string, crds ...string) *Env {
	t.Helper()
	assets := Assets(t)
	for _, binary := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(assets, binary)); err != nil {
			t.Fatalf("no %s in %s: run make kube-api-binaries", binary, assets)
		}
	}
	env := &Env{Scheme: scheme(t), auditLog: filepath.Join(t.TempDir(), "audit.log")}
	control := &envtest.Environment{
		BinaryAssetsDirectory:    assets,
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		Scheme:                   env.Scheme,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	control.ControlPlane.GetAPIServer().Configure().
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		// envtest turns ServiceAccount off.
		Disable("disable-admission-plugins").
		Set("audit-policy-file", auditPolicy(t, policy)).
		Set("audit-log-path", env.auditLog)

	config, err := control.Start()
	t.Cleanup(func() {
		if err := control.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	env.Config = config
	if env.Client, err = client.New(config, client.Options{Scheme: env.Scheme}); err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return env
}

// Assets is the folder of the programs that Kubernetes consists of.
func Assets(t testing.TB) string {
	t.Helper()
	return cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), Path(t, "bin"))
}

// Namespace makes a namespace of a name nobody else has, with the account that
// every namespace has, and returns it.
func (e *Env) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := e.Client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}}
	if err := e.Client.Create(t.Context(), account); err != nil {
		t.Fatalf("making the namespace's account: %v", err)
	}
	return namespace.Name
}

// AsServiceAccount returns a configuration that reaches the API server with
// exactly the permissions of a ServiceAccount.
func (e *Env) AsServiceAccount(namespace, name string) *rest.Config {
	config := rest.CopyConfig(e.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	return config
}

// Kubeconfig writes a kubeconfig file that reaches the API server as a
// configuration does, and returns its path.
func Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	content := clientcmdapi.NewConfig()
	content.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
		Impersonate: config.Impersonate.UserName, ImpersonateGroups: config.Impersonate.Groups,
	}
	content.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	content.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*content, file); err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	return file
}

// Path returns the absolute path of something in the project, given its path
// from the project's root.
func Path(t testing.TB, elements ...string) string {
	t.Helper()
	directory, err := os.Getwd()
	if err != nil {
		t.Fatalf("finding the project: %v", err)
	}
	for {
		module, err := os.ReadFile(filepath.Join(directory, "go.mod"))
		if err == nil && strings.HasPrefix(string(module), "module github.com/spawnery/spawnery-operator\n") {
			return filepath.Join(append([]string{directory}, elements...)...)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("finding the project: %v", err)
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			t.Fatal("finding the project: the test runs outside of it")
		}
		directory = parent
	}
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatalf("building the scheme: %v", err)
		}
	}
	return scheme
}
