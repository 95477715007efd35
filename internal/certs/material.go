// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"time"
)

// Keys of the Secret. The bundle may hold more than the signing CA: during a
// rotation agents trust the next one before it signs.
const (
	caCert      = "ca.crt"
	caKey       = "ca.key"
	servingCert = "tls.crt"
	servingKey  = "tls.key"
)

const (
	caLasts      = 10 * 365 * 24 * time.Hour
	servingLasts = 90 * 24 * time.Hour
	// backdated makes up for clocks of nodes that run behind.
	backdated = time.Hour
)

// material is the content of the Secret.
type material map[string][]byte

// outcome says whether material has to be written.
type outcome int

const (
	unchanged outcome = iota
	renewed
)

// hosts is what the serving certificate is made for.
type hosts struct {
	names     []string
	addresses []net.IP
}

func (h hosts) equal(cert *x509.Certificate) bool {
	return slices.Equal(cert.DNSNames, h.names) && slices.EqualFunc(cert.IPAddresses, h.addresses, net.IP.Equal)
}

// issuer is the CA that signs.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// renew returns material that is good at now. What is good already is kept: a
// new CA is made only where there is none that can be used, for it would be
// strange to every agent until it has been distributed.
func renew(held material, served hosts, now time.Time) (material, outcome, error) {
	ca, usable := readIssuer(held, now)
	if usable && servingGood(held, ca, served, now) {
		return held, unchanged, nil
	}
	kept := material{}
	maps.Copy(kept, held)
	if !usable {
		made, err := newIssuer(now)
		if err != nil {
			return nil, unchanged, err
		}
		if err := kept.putPair(caCert, caKey, made.cert.Raw, made.key); err != nil {
			return nil, unchanged, err
		}
		ca = made
	}
	if err := kept.putServing(ca, served, now); err != nil {
		return nil, unchanged, err
	}
	return kept, renewed, nil
}

// readIssuer finds the CA whose key is held among those of the bundle.
func readIssuer(held material, now time.Time) (issuer, bool) {
	block, _ := pem.Decode(held[caKey])
	if block == nil {
		return issuer{}, false
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return issuer{}, false
	}
	for rest := held[caCert]; ; {
		block, rest = pem.Decode(rest)
		if block == nil {
			return issuer{}, false
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil && key.PublicKey.Equal(cert.PublicKey) && cert.IsCA && now.Before(cert.NotAfter) {
			return issuer{cert: cert, key: key}, true
		}
	}
}

// servingGood says whether the serving certificate stands, is signed by ca for
// all hosts, and has not passed two thirds of its life.
func servingGood(held material, ca issuer, served hosts, now time.Time) bool {
	pair, err := tls.X509KeyPair(held[servingCert], held[servingKey])
	if err != nil {
		return false
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil || cert.CheckSignatureFrom(ca.cert) != nil {
		return false
	}
	life := cert.NotAfter.Sub(cert.NotBefore)
	return served.equal(cert) && now.Before(cert.NotBefore.Add(life*2/3))
}

func newIssuer(now time.Time) (issuer, error) {
	template, err := template("spawnery-manager CA", now, caLasts)
	if err != nil {
		return issuer{}, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return issuer{}, fmt.Errorf("making the key of the CA: %w", err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return issuer{}, fmt.Errorf("making the CA: %w", err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return issuer{}, fmt.Errorf("reading the CA just made: %w", err)
	}
	return issuer{cert: cert, key: key}, nil
}

func (m material) putServing(ca issuer, served hosts, now time.Time) error {
	template, err := template("spawnery-manager", now, min(servingLasts, ca.cert.NotAfter.Sub(now)))
	if err != nil {
		return err
	}
	template.DNSNames, template.IPAddresses = served.names, served.addresses
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the serving key: %w", err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		return fmt.Errorf("making the serving certificate: %w", err)
	}
	return m.putPair(servingCert, servingKey, raw, key)
}

func (m material) putPair(certName, keyName string, cert []byte, key *ecdsa.PrivateKey) error {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("writing a private key: %w", err)
	}
	m[certName] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	m[keyName] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	return nil
}

func template(name string, now time.Time, lasts time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-backdated),
		NotAfter:     now.Add(lasts),
	}, nil
}
