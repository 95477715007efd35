// SPDX-License-Identifier: Apache-2.0

// Package certs makes the manager's own CA and serving certificate, keeps them
// in one Secret, and renews what grows old.
package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// SecretName is the Secret in the manager's namespace.
const SecretName = "spawnery-manager-tls"

const (
	lookEvery  = time.Hour
	retryEvery = 5 * time.Second
	attempts   = 5
)

// Secrets is the part of an uncached Secret client of the manager's namespace
// that is used: nothing lists or watches.
type Secrets interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error)
}

// Config is what an Authority needs.
type Config struct {
	Secrets Secrets
	// Service and Namespace are those of the Service agents dial.
	Service, Namespace string
	// Hosts are further names or addresses the manager is dialled by.
	Hosts []string
	// Labels are put on a Secret that is made.
	Labels map[string]string
	Clock  clock.Clock
}

// Authority holds the certificate in force. It is safe for concurrent use.
type Authority struct {
	cfg     Config
	changed chan struct{}

	mu      sync.RWMutex
	serving *tls.Certificate
	bundle  []byte
}

// New returns an authority without a certificate; Start gets one.
func New(cfg Config) *Authority {
	return &Authority{cfg: cfg, changed: make(chan struct{}, 1)}
}

// NeedLeaderElection says that the leader alone makes and serves certificates.
func (*Authority) NeedLeaderElection() bool { return true }

// Start keeps the certificate good until ctx ends. While the Secret cannot be
// read or written it serves what it has and tries again.
func (a *Authority) Start(ctx context.Context) error {
	log := ctrllog.FromContext(ctx)
	for {
		wait := lookEvery
		if err := a.Ensure(ctx); err != nil {
			log.Error(err, "keeping the serving certificate")
			wait = retryEvery
		}
		timer := a.cfg.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Ensure reads the Secret and makes or renews what it lacks. Of two managers
// that do so at once one writes, and the other takes what was written.
func (a *Authority) Ensure(ctx context.Context) error {
	for range attempts {
		kept, err := a.attempt(ctx)
		switch {
		case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		}
		return a.use(kept)
	}
	return fmt.Errorf("keeping Secret %s: it changed under every one of %d attempts", SecretName, attempts)
}

func (a *Authority) attempt(ctx context.Context) (material, error) {
	secret, err := a.cfg.Secrets.Get(ctx, SecretName, metav1.GetOptions{})
	exists := !apierrors.IsNotFound(err)
	if err != nil && exists {
		return material{}, fmt.Errorf("reading Secret %s: %w", SecretName, err)
	}
	if !exists {
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: SecretName, Labels: a.cfg.Labels},
			Type:       corev1.SecretTypeOpaque,
		}
	}
	kept, outcome, err := renew(secret.Data, a.hosts(), a.cfg.Clock.Now())
	if err != nil || outcome == unchanged {
		return kept, err
	}
	secret.Data = kept
	if exists {
		_, err = a.cfg.Secrets.Update(ctx, secret, metav1.UpdateOptions{})
	} else {
		_, err = a.cfg.Secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("writing Secret %s: %w", SecretName, err)
	}
	ctrllog.FromContext(ctx).Info("made a serving certificate", "secret", SecretName)
	return kept, nil
}

// use puts what the Secret holds in force, and tells of another bundle.
func (a *Authority) use(kept material) error {
	serving, err := tls.X509KeyPair(kept[servingCert], kept[servingKey])
	if err != nil {
		return fmt.Errorf("reading the serving certificate: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if string(a.bundle) != string(kept[caCert]) {
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
	a.serving, a.bundle = &serving, kept[caCert]
	return nil
}

func (a *Authority) hosts() hosts {
	short := a.cfg.Service + "." + a.cfg.Namespace
	served := hosts{names: []string{short + ".svc", short + ".svc.cluster.local", short}}
	for _, host := range a.cfg.Hosts {
		if address := net.ParseIP(host); address != nil {
			served.addresses = append(served.addresses, address)
		} else {
			served.names = append(served.names, host)
		}
	}
	return served
}

// Certificate returns the serving certificate in force, for tls.Config; an
// error until the first one stands.
func (a *Authority) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.serving == nil {
		return nil, errors.New("there is no serving certificate yet")
	}
	return a.serving, nil
}

// Bundle returns the certificates that agents are to trust, as PEM; nil until
// they stand.
func (a *Authority) Bundle() []byte {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.bundle
}

// Changed yields when Bundle returns something else than before.
func (a *Authority) Changed() <-chan struct{} { return a.changed }
