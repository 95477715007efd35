// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agentauth"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// pods tells what of ours a proven pod is. Names and labels prove nothing: a
// server pod is the one a Server's status names, a proxy pod the one a
// ProxyGroup owns.
type pods struct {
	cache client.Reader
}

// ResolveServer returns the Server whose status names the pod.
func (p pods) ResolveServer(ctx context.Context, pod agentauth.Identity) (sessions.ServerPod, error) {
	server, err := index.ServerOfPod(ctx, p.cache, pod.Namespace, string(pod.UID))
	if err != nil {
		return sessions.ServerPod{}, err
	}
	if server == nil {
		return sessions.ServerPod{}, fmt.Errorf("no Server in namespace %s has pod %s yet", pod.Namespace, pod.UID)
	}
	return sessions.ServerPod{
		UID:     pod.UID,
		Server:  client.ObjectKeyFromObject(server),
		Group:   server.Spec.GroupRef.Name,
		Network: server.Spec.NetworkRef.Name,
	}, nil
}

// ResolveProxy returns the ProxyGroup that owns the pod.
func (p pods) ResolveProxy(ctx context.Context, identity agentauth.Identity) (sessions.ProxyPod, error) {
	key := types.NamespacedName{Namespace: identity.Namespace, Name: identity.Pod}
	var pod corev1.Pod
	if err := p.cache.Get(ctx, key, &pod); err != nil {
		return sessions.ProxyPod{}, fmt.Errorf("read proxy pod %s: %w", key, err)
	}
	owner := metav1.GetControllerOf(&pod)
	if pod.UID != identity.UID || owner == nil {
		return sessions.ProxyPod{}, fmt.Errorf("pod %s with UID %s is not known yet", key, identity.UID)
	}
	var group v1alpha1.ProxyGroup
	if err := p.cache.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: owner.Name}, &group); err != nil {
		return sessions.ProxyPod{}, fmt.Errorf("read proxy group %s: %w", owner.Name, err)
	}
	if group.UID != owner.UID {
		return sessions.ProxyPod{}, fmt.Errorf("pod %s belongs to no proxy group", key)
	}
	return sessions.ProxyPod{UID: pod.UID, Pod: key, Group: group.Name, Network: group.Spec.NetworkRef.Name}, nil
}
