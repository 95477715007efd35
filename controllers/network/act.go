// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/refusal"
)

// errNoCertificate means that the manager's certificate is still being made.
var errNoCertificate = errors.New("the manager has no certificate yet")

// errNotOurs means that somebody else's object has a name of ours.
var errNotOurs = errors.New("it is not ours")

// refusedRecheck is when a refused write is tried again.
const refusedRecheck = 30 * time.Second

// certificateRecheck is when a certificate that is being made is looked for.
const certificateRecheck = time.Second

// secretBytes is the entropy of a generated forwarding secret.
const secretBytes = sha256.Size

// done is what acting came to.
type done struct {
	// prepared is the error of making the namespace's objects.
	prepared error
	// secret is the error of making the forwarding secret.
	secret  error
	recheck time.Duration
}

// retry is what a repetition of the pass may cure. What somebody else has to
// allow is told in the status, and tried again at the recheck.
func (d done) retry() error {
	var errs []error
	for _, err := range []error{d.prepared, d.secret} {
		if err != nil && refusal.Of(err) == "" && !errors.Is(err, errNoCertificate) && !errors.Is(err, errNotOurs) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r *Reconciler) act(ctx context.Context, network *v1alpha1.Network, seen observation, decided plan) done {
	if !decided.accepted {
		return done{}
	}
	acted := done{
		prepared: errors.Join(r.ensureServiceAccounts(ctx, network.Namespace), r.ensureChannel(ctx, network.Namespace)),
		secret:   r.ensureSecret(ctx, network, seen),
	}
	if seen.waiting || refusal.Of(acted.secret) != "" {
		acted.recheck = secretInterval
	}
	switch {
	case acted.prepared == nil:
	case errors.Is(acted.prepared, errNoCertificate):
		acted.recheck = certificateRecheck
	case errors.Is(acted.prepared, errNotOurs), refusal.Of(acted.prepared) != "":
		acted.recheck = outcome.Soonest(acted.recheck, refusedRecheck)
	}
	r.Sessions.SetDirectory(types.NamespacedName{Namespace: network.Namespace, Name: network.Name}, directoryOf(seen))
	return acted
}

func (r *Reconciler) ensureServiceAccounts(ctx context.Context, namespace string) error {
	accounts := r.Kube.CoreV1().ServiceAccounts(namespace)
	for _, account := range podspec.BuildServiceAccounts(namespace) {
		if _, err := accounts.Get(ctx, account.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			if err != nil {
				return fmt.Errorf("read service account %s: %w", account.Name, err)
			}
			continue
		}
		_, err := accounts.Create(ctx, account, metav1.CreateOptions{FieldManager: string(fieldOwner)})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create service account %s: %w", account.Name, err)
		}
	}
	return nil
}

// ensureChannel keeps the namespace's ConfigMap at the manager's endpoint and
// certificate authority; agents and proxies read it at every dial.
func (r *Reconciler) ensureChannel(ctx context.Context, namespace string) error {
	channel := r.Channel()
	if len(channel.CA) == 0 {
		return errNoCertificate
	}
	wanted := podspec.BuildChannelConfig(namespace, channel)
	configs := r.Kube.CoreV1().ConfigMaps(namespace)
	there, err := configs.Get(ctx, wanted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configs.Create(ctx, wanted, metav1.CreateOptions{FieldManager: string(fieldOwner)})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create config map %s: %w", wanted.Name, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read config map %s: %w", wanted.Name, err)
	}
	if there.Labels[podspec.LabelManagedBy] != podspec.ManagedBy {
		return fmt.Errorf("config map %s is in the way: %w; remove it, or label it %s=%s",
			wanted.Name, errNotOurs, podspec.LabelManagedBy, podspec.ManagedBy)
	}
	if equality.Semantic.DeepEqual(there.Data, wanted.Data) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": there.UID}, "data": wanted.Data})
	if err != nil {
		return fmt.Errorf("render config map %s: %w", wanted.Name, err)
	}
	if _, err := configs.Patch(ctx, wanted.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch config map %s: %w", wanted.Name, err)
	}
	return nil
}

// ensureSecret makes the forwarding secret of a Network that names none: once
// in the life of this process, and once a minute while pods wait. That it
// exists already is a success; it is never read.
func (r *Reconciler) ensureSecret(ctx context.Context, network *v1alpha1.Network, seen observation) error {
	if network.Spec.ForwardingSecretRef.Name != "" {
		return nil
	}
	last, tried := r.secrets.since(network.UID)
	if tried && (!seen.waiting || seen.now.Sub(last) < secretInterval) {
		return nil
	}
	raw := make([]byte, secretBytes)
	if _, err := r.Random(raw); err != nil {
		return fmt.Errorf("draw a forwarding secret: %w", err)
	}
	encoded := make([]byte, base64.RawURLEncoding.EncodedLen(len(raw)))
	base64.RawURLEncoding.Encode(encoded, raw)
	secret := podspec.BuildForwardingSecret(network.Namespace, network.Name, encoded)
	_, err := r.Kube.CoreV1().Secrets(network.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: string(fieldOwner)})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create secret %s: %w", secret.Name, err)
	}
	r.secrets.note(network.UID, seen.now)
	return nil
}

// secretName is the Secret the Network's pods mount.
func secretName(network *v1alpha1.Network) string {
	return cmp.Or(network.Spec.ForwardingSecretRef.Name, podspec.ForwardingSecretName(network.Name))
}
