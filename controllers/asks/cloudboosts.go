// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// sizeOf says who decides how many servers a group has.
func sizeOf(group *v1alpha1.ServerGroup) allowance.Size {
	if group.Spec.Type == v1alpha1.GroupPersistent {
		return allowance.Fixed
	}
	return allowance.Scaled
}

// ledger are the live boosts of a group: those that the operator made, for
// plugins or for staff, and those of people.
type ledger struct {
	added           int
	ours, ofStaff   []v1alpha1.ScaleBoost
	madeByHand, all []v1alpha1.ScaleBoost
}

func (o *Office) readLedger(ctx context.Context, group *v1alpha1.ServerGroup) (ledger, error) {
	var list v1alpha1.ScaleBoostList
	if err := o.Live.List(ctx, &list, client.InNamespace(group.Namespace)); err != nil {
		return ledger{}, fmt.Errorf("list the boosts of group %s: %w", group.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.ScaleBoost) int { return cmp.Compare(a.Name, b.Name) })
	var seen ledger
	for _, boost := range list.Items {
		live := boosts.Boost{ExpiresAt: sighting.Instant(boost.Spec.ExpiresAt)}.Live(o.Clock.Now())
		if !live || boost.DeletionTimestamp != nil || boost.Spec.GroupRef.Name != group.Name {
			continue
		}
		seen.all = append(seen.all, boost)
		if boost.Spec.Mode != v1alpha1.BoostExact {
			seen.added += int(ptr.Deref(boost.Spec.Replicas, 0))
		}
		switch {
		case boost.Labels[podspec.LabelManagedBy] != podspec.ManagedBy || !children.OwnedBy(&boost, group.UID):
			seen.madeByHand = append(seen.madeByHand, boost)
			continue
		case boost.Labels[podspec.LabelServer] == "":
			seen.ofStaff = append(seen.ofStaff, boost)
		}
		seen.ours = append(seen.ours, boost)
	}
	return seen, nil
}

// boostForStaff makes a boost, whose name follows from the ask: the same ask
// again, also of another manager, finds the one that it has made.
func (o *Office) boostForStaff(
	ctx context.Context, by staff, ask *agentv1alpha1.ScaleGroup, mode v1alpha1.BoostMode,
) (*agentv1alpha1.CloudAnswer, error) {
	group, absent, err := o.readGroup(ctx, by, ask.GetGroup())
	if err != nil || absent != nil {
		return absent, err
	}
	seen, err := o.readLedger(ctx, group)
	if err != nil {
		return nil, err
	}
	name := group.Name + "-" + drawnFrom(string(by.Proxy.UID)+"/"+by.Cloud.GetId())
	if at := slices.IndexFunc(seen.ours, func(boost v1alpha1.ScaleBoost) bool { return boost.Name == name }); at >= 0 {
		return withBoosts(seen.ours[at : at+1]), nil
	}
	what, until, denial := admit(ask, mode, allowance.Group{
		Name: group.Name, Size: sizeOf(group),
		Min: int(ptr.Deref(group.Spec.Scaling.MinReplicas, 0)), Max: int(group.Spec.Scaling.MaxReplicas),
		Boosted: seen.added, MadeByStaff: len(seen.ofStaff),
	}, o.Clock.Now())
	if denial != nil {
		return o.deniedToStaff(ctx, by, group, what, denial), nil
	}
	boost := buildStaffBoost(group, name, ask.GetReplicas(), mode, until)
	made, err := children.Create(ctx, o.Client, o.Live, boost)
	switch {
	case err != nil:
		return nil, err
	case made == children.NotOurs:
		return nil, fmt.Errorf("boost %s exists and does not belong to group %s", name, group.Name)
	case made == children.Created:
		boosted.Tell(ctx, o.Events, group, boost, fmt.Sprintf("%s asked for %s in the game until %s", by.name(), what, until.UTC().Format(time.RFC3339)))
	}
	answer := withBoosts([]v1alpha1.ScaleBoost{*boost})
	answer.Detail = pausedBy(seen.all, mode, o.Clock.Now())
	return answer, nil
}

// admit asks whether a boost is granted, and until when.
func admit(ask *agentv1alpha1.ScaleGroup, mode v1alpha1.BoostMode, group allowance.Group, now time.Time) (string, time.Time, *allowance.Denial) {
	// Centuries are no number of nanoseconds, and are not granted either.
	seconds := max(-1, min(ask.GetSeconds(), math.MaxInt64/int64(time.Second)))
	replicas, lasts := int(ask.GetReplicas()), time.Duration(seconds)*time.Second
	if mode == v1alpha1.BoostExact {
		until, denial := allowance.Pin{Replicas: replicas, For: lasts}.Admit(group, now)
		return fmt.Sprintf("exactly %d servers", replicas), until, denial
	}
	until, denial := allowance.Boost{Replicas: replicas, For: lasts}.Admit(group, now)
	return fmt.Sprintf("%d servers more", replicas), until, denial
}

// pausedBy says of a boost that adds servers which pin it waits for.
func pausedBy(all []v1alpha1.ScaleBoost, mode v1alpha1.BoostMode, now time.Time) string {
	if mode == v1alpha1.BoostExact {
		return ""
	}
	var known []boosts.Boost
	for i := range all {
		known = append(known, boosts.Boost{
			Name: all[i].Name, Mode: all[i].Spec.Mode, Replicas: int(ptr.Deref(all[i].Spec.Replicas, 0)),
			CreatedAt: all[i].CreationTimestamp.Time, ExpiresAt: sighting.Instant(all[i].Spec.ExpiresAt),
		})
	}
	pin := boosts.At(now, v1alpha1.GroupEphemeral, known).Pin
	if !pin.Holds() {
		return ""
	}
	return fmt.Sprintf("it adds nothing while boost %s holds the group at %d", pin.Name, pin.Replicas)
}

func buildStaffBoost(group *v1alpha1.ServerGroup, name string, replicas int32, mode v1alpha1.BoostMode, until time.Time) *v1alpha1.ScaleBoost {
	labels := podspec.ManagedLabels()
	labels[podspec.LabelNetwork] = group.Spec.NetworkRef.Name
	labels[podspec.LabelGroup] = group.Name
	return &v1alpha1.ScaleBoost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: group.Namespace, Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{podspec.ControlledBy(podspec.KindServerGroup, group)},
		},
		Spec: v1alpha1.ScaleBoostSpec{
			GroupRef: v1alpha1.GroupReference{Name: group.Name}, Mode: mode,
			Replicas: &replicas, ExpiresAt: sighting.Stamp(until),
		},
	}
}

// endForStaff deletes the boosts of a group that the operator made, of one mode
// or of any, and names those of people.
func (o *Office) endForStaff(ctx context.Context, by staff, name string, mode v1alpha1.BoostMode) (*agentv1alpha1.CloudAnswer, error) {
	group, absent, err := o.readGroup(ctx, by, name)
	if err != nil || absent != nil {
		return absent, err
	}
	seen, err := o.readLedger(ctx, group)
	if err != nil {
		return nil, err
	}
	other := func(boost v1alpha1.ScaleBoost) bool { return mode != "" && boost.Spec.Mode != mode }
	ends := slices.DeleteFunc(seen.ours, other)
	var failed []error
	for i := range ends {
		if err := children.Delete(ctx, o.Client, &ends[i]); err != nil {
			failed = append(failed, err)
			continue
		}
		ended.Tell(ctx, o.Events, group, &ends[i], by.name()+" ended it in the game")
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	answer := withBoosts(ends)
	for _, boost := range slices.DeleteFunc(seen.madeByHand, other) {
		answer.ByHand = append(answer.ByHand, boost.Name)
	}
	return answer, nil
}

func withBoosts(list []v1alpha1.ScaleBoost) *agentv1alpha1.CloudAnswer {
	answer := said(agentv1alpha1.Verdict_VERDICT_DONE, "")
	for i := range list {
		one := &agentv1alpha1.OwnBoost{Name: list[i].Name, Replicas: ptr.Deref(list[i].Spec.Replicas, 0)}
		if expires := list[i].Spec.ExpiresAt; expires != nil {
			one.ExpiresAt = timestamppb.New(expires.Time)
		}
		answer.Boosts = append(answer.Boosts, one)
	}
	return answer
}
