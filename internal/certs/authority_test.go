// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

const namespace = "spawnery-system"

func newAuthority(clientset *fake.Clientset, clk *clocktesting.FakeClock) *Authority {
	return New(Config{
		Secrets: clientset.CoreV1().Secrets(namespace),
		Service: "spawnery-agent", Namespace: namespace, Clock: clk,
	})
}

func ensure(t *testing.T, a *Authority) {
	t.Helper()
	if err := a.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func secretOf(t *testing.T, clientset *fake.Clientset) *corev1.Secret {
	t.Helper()
	secret, err := clientset.CoreV1().Secrets(namespace).Get(t.Context(), SecretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// handshake connects as an agent that trusts bundle and dials name.
func handshake(t *testing.T, a *Authority, bundle []byte, name string, now time.Time) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	at := func() time.Time { return now }
	server, client := net.Pipe()
	defer func() { _ = server.Close() }()
	defer func() { _ = client.Close() }()
	go func() {
		_ = tls.Server(server, &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: a.Certificate, Time: at}).Handshake()
	}()
	return tls.Client(client, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: name, Time: at}).Handshake()
}

func TestAgentsTrustWhatIsServed(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	a := newAuthority(fake.NewClientset(), clk)
	if _, err := a.Certificate(nil); err == nil || a.Bundle() != nil {
		t.Error("there is a certificate before one was made")
	}
	ensure(t, a)
	for _, name := range []string{"spawnery-agent.spawnery-system.svc", "spawnery-agent.spawnery-system.svc.cluster.local"} {
		if err := handshake(t, a, a.Bundle(), name, clk.Now()); err != nil {
			t.Errorf("dialling %s: %v", name, err)
		}
	}
	if err := handshake(t, a, a.Bundle(), "spawnery-agent.elsewhere.svc", clk.Now()); err == nil {
		t.Error("another name was served")
	}
	select {
	case <-a.Changed():
	default:
		t.Error("nobody was told of the first bundle")
	}
}

func TestAnotherHostIsServedFromThenOn(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	clientset := fake.NewClientset()
	ensure(t, newAuthority(clientset, clk))
	a := newAuthority(clientset, clk)
	a.cfg.Hosts = []string{"172.30.0.1", "manager.example.org"}
	ensure(t, a)
	for _, host := range []string{"172.30.0.1", "manager.example.org", "spawnery-agent.spawnery-system.svc"} {
		if err := handshake(t, a, a.Bundle(), host, clk.Now()); err != nil {
			t.Errorf("dialling %s: %v", host, err)
		}
	}
	before := secretOf(t, clientset)
	ensure(t, a)
	if !cmp.Equal(before.Data, secretOf(t, clientset).Data) {
		t.Error("the certificate was made again without need")
	}
}

func TestRenewal(t *testing.T) {
	tests := map[string]struct {
		happen     func(*corev1.Secret, *clocktesting.FakeClock)
		wantCert   bool // whether another serving certificate is wanted
		wantBundle bool // whether another CA is wanted
	}{
		"nothing is renewed without need": {happen: func(*corev1.Secret, *clocktesting.FakeClock) {}},
		"nothing is renewed before two thirds": {happen: func(_ *corev1.Secret, clk *clocktesting.FakeClock) {
			clk.Step(servingLasts*2/3 - 2*backdated)
		}},
		"the serving certificate is renewed at two thirds": {happen: func(_ *corev1.Secret, clk *clocktesting.FakeClock) {
			clk.Step(servingLasts * 2 / 3)
		}, wantCert: true},
		"a lost serving key is made again": {happen: func(s *corev1.Secret, _ *clocktesting.FakeClock) {
			delete(s.Data, servingKey)
		}, wantCert: true},
		"a broken CA is made again": {happen: func(s *corev1.Secret, _ *clocktesting.FakeClock) {
			s.Data[caCert] = []byte("nothing")
		}, wantCert: true, wantBundle: true},
		"an expired CA is made again": {happen: func(_ *corev1.Secret, clk *clocktesting.FakeClock) {
			clk.Step(caLasts)
		}, wantCert: true, wantBundle: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(time.Now())
			clientset := fake.NewClientset()
			a := newAuthority(clientset, clk)
			ensure(t, a)
			before := secretOf(t, clientset)
			changed := before.DeepCopy()
			test.happen(changed, clk)
			if _, err := clientset.CoreV1().Secrets(namespace).Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			ensure(t, a)
			after := secretOf(t, clientset)
			if got := !cmp.Equal(before.Data[servingCert], after.Data[servingCert]); got != test.wantCert {
				t.Errorf("another serving certificate: %v, want %v", got, test.wantCert)
			}
			if got := !cmp.Equal(before.Data[caCert], after.Data[caCert]); got != test.wantBundle {
				t.Errorf("another CA: %v, want %v", got, test.wantBundle)
			}
			if err := handshake(t, a, after.Data[caCert], "spawnery-agent.spawnery-system.svc", clk.Now()); err != nil {
				t.Errorf("an agent cannot connect: %v", err)
			}
		})
	}
}

func TestASecondCAOfTheBundleIsKept(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	clientset := fake.NewClientset()
	a := newAuthority(clientset, clk)
	ensure(t, a)
	secret := secretOf(t, clientset)
	other := material{}
	next, err := newIssuer(clk.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.putPair(caCert, caKey, next.cert.Raw, next.key); err != nil {
		t.Fatal(err)
	}
	both := append(other[caCert], secret.Data[caCert]...)
	secret.Data[caCert] = both
	if _, err := clientset.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	clk.Step(servingLasts)
	ensure(t, a)
	if !cmp.Equal(a.Bundle(), both) {
		t.Error("the bundle lost a CA")
	}
	if err := handshake(t, a, both, "spawnery-agent.spawnery-system.svc", clk.Now()); err != nil {
		t.Errorf("an agent cannot connect: %v", err)
	}
}

func TestManagersThatRaceConverge(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	clientset := fake.NewClientset()
	authorities := make([]*Authority, 8)
	var racing sync.WaitGroup
	for i := range authorities {
		authorities[i] = newAuthority(clientset, clk)
		racing.Go(func() { ensure(t, authorities[i]) })
	}
	racing.Wait()
	for i, a := range authorities {
		if !cmp.Equal(a.Bundle(), authorities[0].Bundle()) {
			t.Errorf("manager %d distributes another CA", i)
		}
	}
}

func TestAConflictIsAnsweredByReadingAgain(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	clientset := fake.NewClientset()
	ensure(t, newAuthority(clientset, clk))
	clk.Step(servingLasts)
	conflicts := 0
	clientset.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts++
		if conflicts > 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, SecretName, nil)
	})
	ensure(t, newAuthority(clientset, clk))
	if conflicts != 2 {
		t.Errorf("the Secret was written %d times, want a second time after the conflict", conflicts)
	}
}

func TestOnlyGetCreateAndUpdateAreUsed(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	clientset := fake.NewClientset()
	a := newAuthority(clientset, clk)
	ensure(t, a)
	clk.Step(servingLasts)
	ensure(t, a)
	var verbs []string
	for _, action := range clientset.Actions() {
		verbs = append(verbs, action.GetVerb())
	}
	if diff := cmp.Diff([]string{"get", "create", "get", "update"}, verbs); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestStartTriesAgainWhileTheSecretCannotBeRead(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	clientset := fake.NewClientset()
	failing := true
	clientset.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failing {
			failing = false
			return true, nil, apierrors.NewServiceUnavailable("etcd has no leader")
		}
		return false, nil, nil
	})
	a := newAuthority(clientset, clk)
	go func() { _ = a.Start(t.Context()) }()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case <-a.Changed():
			return
		case <-deadline:
			t.Fatal("no certificate was made")
		case <-time.After(time.Millisecond):
			clk.Step(retryEvery)
		}
	}
}
