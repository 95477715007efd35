// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const lifetime = 365 * 24 * time.Hour

// authority signs the certificates of one cluster and writes them to a folder.
type authority struct {
	folder string
	server string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// identity is whom a certificate speaks for.
type identity struct {
	file, user, group string
	names             []string
	addresses         []net.IP
	usage             x509.ExtKeyUsage
}

// writePKI makes a new authority, the certificates of the control plane and the
// kubeconfigs of its components.
func writePKI(folder string, n network, nodes int) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	a, err := newAuthority(folder, n.server())
	if err != nil {
		return fmt.Errorf("making the cluster's authority: %w", err)
	}
	for _, id := range servers(n) {
		if _, _, err := a.issue(id); err != nil {
			return fmt.Errorf("making the certificate of %s: %w", id.file, err)
		}
	}
	for _, id := range users(nodes) {
		if err := a.kubeconfig(id); err != nil {
			return fmt.Errorf("making the kubeconfig of %s: %w", id.file, err)
		}
	}
	return a.serviceAccountKey()
}

func servers(n network) []identity {
	apiserver := identity{
		file: "apiserver", user: "kube-apiserver", usage: x509.ExtKeyUsageServerAuth,
		names:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		addresses: []net.IP{net.IPv4(127, 0, 0, 1), n.address(1).AsSlice(), n.apiService().AsSlice()},
	}
	return []identity{
		apiserver,
		{file: "apiserver-kubelet", user: "kube-apiserver-kubelet-client", group: "system:masters", usage: x509.ExtKeyUsageClientAuth},
		{file: "front-proxy-client", user: "front-proxy-client", usage: x509.ExtKeyUsageClientAuth},
	}
}

func users(nodes int) []identity {
	ids := []identity{
		{file: "admin", user: "kubernetes-admin", group: "system:masters"},
		{file: "controller-manager", user: "system:kube-controller-manager"},
		{file: "scheduler", user: "system:kube-scheduler"},
		{file: "proxy", user: "system:kube-proxy"},
	}
	for number := range nodes {
		node := nodeName(number + 1)
		ids = append(ids, identity{file: "kubelet-" + node, user: "system:node:" + node, group: "system:nodes"})
	}
	return ids
}

func newAuthority(folder, server string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{folder: folder, server: server, key: key}
	a.cert = &x509.Certificate{
		Subject: pkix.Name{CommonName: "spawnery-test-cluster"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := a.sign(a.cert, key.Public())
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if _, err := a.write("ca.crt", "CERTIFICATE", der); err != nil {
		return nil, err
	}
	_, err = a.writeKey("ca.key", key)
	return a, err
}

func (a *authority) sign(c *x509.Certificate, key crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	c.SerialNumber = serial
	// Nodes whose clock was set back a little must not refuse it.
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(lifetime)
	return x509.CreateCertificate(rand.Reader, c, a.cert, key, a.key)
}

// issue writes a certificate with its key and returns both as PEM.
func (a *authority) issue(id identity) ([]byte, []byte, error) {
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: id.user}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{id.usage}, DNSNames: id.names, IPAddresses: id.addresses,
	}
	if id.group != "" {
		c.Subject.Organization = []string{id.group}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := a.sign(c, key.Public())
	if err != nil {
		return nil, nil, err
	}
	certPEM, err := a.write(id.file+".crt", "CERTIFICATE", der)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err := a.writeKey(id.file+".key", key)
	return certPEM, keyPEM, err
}

func (a *authority) kubeconfig(id identity) error {
	id.usage = x509.ExtKeyUsageClientAuth
	cert, key, err := a.issue(id)
	if err != nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	ca := encode(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: spawnery-test
clusters: [{name: spawnery-test, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: %q, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: spawnery-test, context: {cluster: spawnery-test, user: %q}}]
`, a.server, ca, id.user, encode(cert), encode(key), id.user)
	return os.WriteFile(filepath.Join(a.folder, id.file+".kubeconfig"), []byte(content), 0o600)
}

func (a *authority) serviceAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if _, err := a.writeKey("sa.key", key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	_, err = a.write("sa.pub", "PUBLIC KEY", der)
	return err
}

func (a *authority) write(name, kind string, der []byte) ([]byte, error) {
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return content, os.WriteFile(filepath.Join(a.folder, name), content, 0o600)
}

func (a *authority) writeKey(name string, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return a.write(name, "PRIVATE KEY", der)
}
