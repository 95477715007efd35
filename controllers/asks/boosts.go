// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/allowance"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// standing are the live boosts of a group.
type standing struct {
	// added is what those of mode Add come to, also while a pin pauses them.
	added int
	// made are those that its servers made, own those of one server.
	made, own []v1alpha1.ScaleBoost
}

// observeBoosts reads what there is, past the cache: what was made a moment ago
// counts.
func (o *Office) observeBoosts(ctx context.Context, by asker) (standing, error) {
	var list v1alpha1.ScaleBoostList
	if err := o.Live.List(ctx, &list, client.InNamespace(by.group.Namespace)); err != nil {
		return standing{}, fmt.Errorf("list the boosts of group %s: %w", by.group.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.ScaleBoost) int { return cmp.Compare(a.Name, b.Name) })
	var seen standing
	for _, boost := range list.Items {
		live := boosts.Boost{ExpiresAt: sighting.Instant(boost.Spec.ExpiresAt)}.Live(o.Clock.Now())
		if !live || boost.DeletionTimestamp != nil || boost.Spec.GroupRef.Name != by.group.Name {
			continue
		}
		if boost.Spec.Mode != v1alpha1.BoostExact {
			seen.added += int(ptr.Deref(boost.Spec.Replicas, 0))
		}
		maker := boost.Labels[podspec.LabelServer]
		if maker == "" || !children.OwnedBy(&boost, by.group.UID) {
			continue
		}
		seen.made = append(seen.made, boost)
		if maker == by.server.Name {
			seen.own = append(seen.own, boost)
		}
	}
	return seen, nil
}

// addBoost makes a boost, whose name follows from the ask: the same ask again,
// also of another manager, finds the one that it has made.
func (o *Office) addBoost(ctx context.Context, by asker, ask *agentv1alpha1.AddBoost) (*agentv1alpha1.Answer, error) {
	seen, err := o.observeBoosts(ctx, by)
	if err != nil {
		return nil, err
	}
	name := boostName(by)
	if at := slices.IndexFunc(seen.own, func(boost v1alpha1.ScaleBoost) bool { return boost.Name == name }); at >= 0 {
		return granted(seen.own[at : at+1]), nil
	}
	wanted := allowance.Boost{Server: by.server.Name, Replicas: int(ask.GetReplicas()), For: time.Duration(ask.GetSeconds()) * time.Second}
	until, denial := wanted.Admit(allowance.Group{
		Name: by.group.Name, Size: by.size(),
		Min: int(ptr.Deref(by.group.Spec.Scaling.MinReplicas, 0)), Max: int(by.group.Spec.Scaling.MaxReplicas),
		Boosted: seen.added, MadeByServers: len(seen.made), MadeByThis: len(seen.own),
	}, o.Clock.Now())
	if denial != nil {
		return o.denied(ctx, by, fmt.Sprintf("%d servers more", wanted.Replicas), denial), nil
	}
	boost := buildBoost(by, name, ask.GetReplicas(), until)
	made, err := children.Create(ctx, o.Client, o.Live, boost)
	switch {
	case err != nil:
		return nil, err
	case made == children.NotOurs:
		return nil, fmt.Errorf("boost %s exists and does not belong to group %s", name, by.group.Name)
	case made == children.Created:
		boosted.Tell(ctx, o.Events, &by.group, boost, fmt.Sprintf(
			"a plugin of server %s asked for %d servers more until %s", by.server.Name, wanted.Replicas, until.UTC().Format(time.RFC3339)))
	}
	return granted([]v1alpha1.ScaleBoost{*boost}), nil
}

// boostName is a name of the group that no other ask leads to.
func boostName(by asker) string {
	return by.group.Name + "-" + drawnFrom(by.server.Status.PodUID+"/"+by.id)
}

// drawnFrom is the end of a name that follows from an ask.
func drawnFrom(ask string) string {
	digest := sha256.Sum256([]byte(ask))
	return strings.ToLower(base32.StdEncoding.EncodeToString(digest[:])[:10])
}

func buildBoost(by asker, name string, replicas int32, until time.Time) *v1alpha1.ScaleBoost {
	labels := podspec.ManagedLabels()
	labels[podspec.LabelNetwork] = by.group.Spec.NetworkRef.Name
	labels[podspec.LabelGroup] = by.group.Name
	labels[podspec.LabelServer] = by.server.Name
	return &v1alpha1.ScaleBoost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: by.group.Namespace, Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{podspec.ControlledBy(podspec.KindServerGroup, &by.group)},
		},
		Spec: v1alpha1.ScaleBoostSpec{
			GroupRef: v1alpha1.GroupReference{Name: by.group.Name}, Mode: v1alpha1.BoostAdd,
			Replicas: &replicas, ExpiresAt: sighting.Stamp(until),
		},
	}
}

func (o *Office) listBoosts(ctx context.Context, by asker) (*agentv1alpha1.Answer, error) {
	seen, err := o.observeBoosts(ctx, by)
	if err != nil {
		return nil, err
	}
	return granted(seen.own), nil
}

// endBoost deletes a boost that this server has made, and no other.
func (o *Office) endBoost(ctx context.Context, by asker, name string) (*agentv1alpha1.Answer, error) {
	seen, err := o.observeBoosts(ctx, by)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(seen.own, func(boost v1alpha1.ScaleBoost) bool { return boost.Name == name })
	if at < 0 {
		return verdict(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, fmt.Sprintf("%s has made no boost %q that still lasts", by.server.Name, name)), nil
	}
	boost := seen.own[at]
	if err := children.Delete(ctx, o.Client, &boost); err != nil {
		return nil, err
	}
	ended.Tell(ctx, o.Events, &by.group, &boost, fmt.Sprintf("a plugin of server %s ended it", by.server.Name))
	return granted(slices.Delete(seen.own, at, at+1)), nil
}

func granted(list []v1alpha1.ScaleBoost) *agentv1alpha1.Answer {
	answer := verdict(agentv1alpha1.Verdict_VERDICT_DONE, "")
	for i := range list {
		one := &agentv1alpha1.OwnBoost{Name: list[i].Name, Replicas: ptr.Deref(list[i].Spec.Replicas, 0)}
		if expires := list[i].Spec.ExpiresAt; expires != nil {
			one.ExpiresAt = timestamppb.New(expires.Time)
		}
		answer.Boosts = append(answer.Boosts, one)
	}
	return answer
}
