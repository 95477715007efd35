// SPDX-License-Identifier: Apache-2.0

// Package orphans removes what lost its owner: pods whose Server or ProxyGroup
// is gone, and Servers whose group is gone. Kubernetes' garbage collector does
// that too, as long as it runs and the owner references still stand.
package orphans

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// minAge is how old an orphan has to be: what was just made may belong to an
// owner that no cache shows yet.
const minAge = 5 * time.Minute

// Sweeper removes orphans.
type Sweeper struct {
	// Client lists from the cache, and deletes.
	Client client.Client
	// Live reads past the cache: that an owner is gone must be certain.
	Live  client.Reader
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servers,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servergroups;proxygroups,verbs=get

// Sweep deletes every orphan there is now. An error about one object, or about
// one kind, holds up no other; all of them are returned.
func (s *Sweeper) Sweep(ctx context.Context) error {
	var errs []error
	var servers v1alpha1.ServerList
	if err := s.Client.List(ctx, &servers); err != nil {
		errs = append(errs, fmt.Errorf("list the servers: %w", err))
	}
	for i := range servers.Items {
		errs = append(errs, s.judge(ctx, &servers.Items[i], ownerOfServer(&servers.Items[i])))
	}
	var pods corev1.PodList
	if err := s.Client.List(ctx, &pods, client.MatchingLabels(podspec.ManagedLabels())); err != nil {
		errs = append(errs, fmt.Errorf("list the pods: %w", err))
	}
	for i := range pods.Items {
		errs = append(errs, s.judge(ctx, &pods.Items[i], ownerOfPod(&pods.Items[i])))
	}
	return errors.Join(errs...)
}

// ownerOfServer is the group that a Server belongs to. Where somebody took the
// reference off, the spec still names it.
func ownerOfServer(server *v1alpha1.Server) *metav1.OwnerReference {
	if owner := metav1.GetControllerOf(server); owner != nil {
		return owner
	}
	return &metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: string(podspec.KindServerGroup), Name: server.Spec.GroupRef.Name,
	}
}

// ownerOfPod is nil for a pod without a reference to one of our kinds: a label
// alone does not prove that we made it.
func ownerOfPod(pod *corev1.Pod) *metav1.OwnerReference {
	return metav1.GetControllerOf(pod)
}

// judge deletes the object if its owner is certainly gone.
func (s *Sweeper) judge(ctx context.Context, object client.Object, owner *metav1.OwnerReference) error {
	young := s.Clock.Since(object.GetCreationTimestamp().Time) < minAge
	if owner == nil || owner.APIVersion != v1alpha1.GroupVersion.String() || young || object.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, reader := range []client.Reader{s.Client, s.Live} {
		if gone, err := ownerGone(ctx, reader, object.GetNamespace(), owner); err != nil || !gone {
			return err
		}
	}
	ctrl.LoggerFrom(ctx).Info("Deleting what lost its owner", "namespace", object.GetNamespace(), "name", object.GetName(),
		"uid", object.GetUID(), "owner", owner.Kind+" "+owner.Name)
	return children.Delete(ctx, s.Client, object)
}

// ownerGone is true when no object of the owner's name has its UID. An owner
// named without a UID is gone when nobody has the name.
func ownerGone(ctx context.Context, reader client.Reader, namespace string, owner *metav1.OwnerReference) (bool, error) {
	found := kindOf(owner.Kind)
	if found == nil {
		return false, nil
	}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, found)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look for %s %s/%s: %w", owner.Kind, namespace, owner.Name, err)
	}
	return owner.UID != "" && found.GetUID() != owner.UID, nil
}

// kindOf is nil for a kind that owns nothing here.
func kindOf(kind string) client.Object {
	switch podspec.Kind(kind) {
	case podspec.KindServer:
		return &v1alpha1.Server{}
	case podspec.KindServerGroup:
		return &v1alpha1.ServerGroup{}
	case podspec.KindProxyGroup:
		return &v1alpha1.ProxyGroup{}
	}
	return nil
}
