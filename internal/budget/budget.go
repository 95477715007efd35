// SPDX-License-Identifier: Apache-2.0

// Package budget keeps node drains and node autoscalers away from pods that
// have players, and from no others. Such a pod carries a label and annotations;
// the PodDisruptionBudget of its group demands that all with the label stay.
package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/ssa"
)

// Settle is how long a budget stays as high as it is after the last change.
// Until then a cache may not show every label yet, ours or that of the
// controller that counts for the budget. A budget that is too high holds back
// nothing but pods it protects anyway.
const Settle = 5 * time.Second

// API is where budgets are read and written.
type API struct {
	// Client reads through a cache.
	Client client.Client
	// Live reads past it.
	Live client.Reader
	// Owner is the name the writes carry.
	Owner client.FieldOwner
}

// Pod is one pod of a group, and whether anybody may be on it.
type Pod struct {
	*corev1.Pod
	Occupancy podspec.Occupancy
}

// Group is a group whose pods are protected.
type Group struct {
	UID types.UID
	// Pods are all that the budget's selector can meet.
	Pods []Pod
	// Budget renders the group's budget for a number of occupied pods.
	Budget func(occupied int32) *policyv1.PodDisruptionBudget
}

// Keeper remembers what it wrote, which a cache may not show yet. The zero
// value is ready to use; it is safe for concurrent use by different groups.
type Keeper struct {
	mu     sync.Mutex
	groups map[types.UID]*memory
}

// memory is what this process wrote for one group.
type memory struct {
	// written is the number the budget demands since the last write, nil before
	// the first.
	written *int32
	// changed is when a label or the budget was last written.
	changed time.Time
}

// Forget drops a group that is gone.
func (k *Keeper) Forget(group types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.groups, group)
}

func (k *Keeper) memoryOf(group types.UID) *memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.groups == nil {
		k.groups = map[types.UID]*memory{}
	}
	if k.groups[group] == nil {
		k.groups[group] = &memory{}
	}
	return k.groups[group]
}

// Keep brings the marks of a group's pods and its budget up to date, and says
// when it is to look again; 0: not before the next change. The budget is raised
// before a pod gets the label, so that it never demands fewer than carry it,
// and lowered a while after the last one lost it. An error that is
// children.ErrTaken leaves the pods marked. Keep must not run twice at once for one group.
func (k *Keeper) Keep(ctx context.Context, api API, group Group, now time.Time) (time.Duration, error) {
	p := &pass{API: api, Group: group, memory: k.memoryOf(group.UID), now: now, demanded: demand(group.Pods)}
	if err := p.read(ctx); err != nil {
		return 0, err
	}
	raised := p.raise(ctx)
	if raised != nil && !errors.Is(raised, children.ErrTaken) {
		// Without its part of the budget a label would cost others theirs.
		return 0, raised
	}
	if err := errors.Join(raised, p.mark(ctx)); err != nil {
		return 0, err
	}
	return p.lower(ctx)
}

// pass is one pass over one group.
type pass struct {
	API
	Group
	*memory

	now      time.Time
	demanded int32
	// standing is the budget as the cache shows it, nil while it shows none.
	standing *policyv1.PodDisruptionBudget
}

// demand counts the pods that carry the label, and those that are about to. One
// that is being deleted counts for no budget.
func demand(pods []Pod) int32 {
	var count int32
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && (pod.Occupancy == podspec.Occupied || podspec.OccupancyOf(pod.Pod) == podspec.Occupied) {
			count++
		}
	}
	return count
}

func (p *pass) read(ctx context.Context) error {
	var found policyv1.PodDisruptionBudget
	key := client.ObjectKeyFromObject(p.Budget(0))
	err := p.Client.Get(ctx, key, &found)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read budget %s: %w", key.Name, err)
	}
	if !apierrors.IsNotFound(err) && children.OwnedBy(&found, p.UID) {
		p.standing = &found
	}
	return nil
}

// raise makes the budget, or lifts it to what is demanded. Of what the cache
// shows and what was written last the lower number counts: too low is the
// danger.
func (p *pass) raise(ctx context.Context) error {
	if p.standing == nil {
		return p.create(ctx)
	}
	lowest := least(p.standing)
	if p.written != nil {
		lowest = min(lowest, *p.written)
	}
	if lowest >= p.demanded && equality.Semantic.DeepEqual(p.standing.Spec.Selector, p.Budget(0).Spec.Selector) {
		return nil
	}
	return p.write(ctx, p.standing)
}

func (p *pass) create(ctx context.Context) error {
	wanted := p.Budget(p.demanded)
	verdict, err := children.Create(ctx, p.Client, p.Live, wanted)
	switch {
	case err != nil:
		return err
	case verdict == children.NotOurs:
		return fmt.Errorf("poddisruptionbudget %s exists and does not belong to this group; delete it, "+
			"until then a node drain may throw players out: %w", wanted.Name, children.ErrTaken)
	case verdict == children.Ours && least(wanted) < p.demanded:
		// The cache does not show it yet; by now wanted is what stands.
		return p.write(ctx, wanted)
	}
	p.wrote(least(wanted))
	return nil
}

// lower takes back what is no longer demanded, once everybody can know.
func (p *pass) lower(ctx context.Context) (time.Duration, error) {
	if p.standing == nil || least(p.standing) <= p.demanded {
		return 0, nil
	}
	if wait := Settle - p.now.Sub(p.changed); wait > 0 {
		return wait, nil
	}
	return 0, p.write(ctx, p.standing)
}

func (p *pass) write(ctx context.Context, standing *policyv1.PodDisruptionBudget) error {
	if err := ssa.Child(ctx, p.Client, p.Owner, standing, p.Budget(p.demanded)); err != nil {
		return err
	}
	p.wrote(p.demanded)
	return nil
}

func (p *pass) wrote(number int32) {
	p.written, p.changed = &number, p.now
}

func least(budget *policyv1.PodDisruptionBudget) int32 {
	if budget.Spec.MinAvailable == nil {
		return 0
	}
	return budget.Spec.MinAvailable.IntVal
}

// mark makes the label and annotations of every pod what its players demand.
func (p *pass) mark(ctx context.Context) error {
	var errs []error
	for _, pod := range p.Pods {
		marked := pod.DeepCopy()
		if pod.DeletionTimestamp != nil || !podspec.SetOccupancy(marked, pod.Occupancy) {
			continue
		}
		p.changed = p.now
		// The patch names the UID, so that a pod made again under the name keeps
		// its own marks.
		was := pod.DeepCopy()
		was.UID = ""
		if err := p.Client.Patch(ctx, marked, client.MergeFrom(was), p.Owner); notGone(err) != nil {
			errs = append(errs, fmt.Errorf("mark pod %s: %w", pod.Name, err))
		}
	}
	return errors.Join(errs...)
}

// notGone drops the errors that say that the pod is gone, or another one.
func notGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
