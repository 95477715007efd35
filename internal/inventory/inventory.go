// SPDX-License-Identifier: Apache-2.0

// Package inventory says what the claims of persistent groups are to their
// groups: in service, needed again, or left over. It reads objects and writes
// nothing: what becomes of a claim is a person's decision.
package inventory

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// Input is what there is, of one namespace or of many. The claims are to be
// read before the rest: a claim that is new would else have no group yet.
type Input struct {
	// Claims may include some that are not the operator's; they are left out.
	Claims  []corev1.PersistentVolumeClaim
	Servers []v1alpha1.Server
	Groups  []v1alpha1.ServerGroup
}

// State is what a claim is to its group.
type State string

const (
	// InService claims have a Server, in whatever phase, or a ServerGroup that
	// copies files from them.
	InService State = "InService"
	// Waiting claims are of an ordinal that its group requires, and that has no
	// Server: it has not been made yet, or starts have failed.
	Waiting State = "Waiting"
	// Orphaned claims have no Server, and no group requires their ordinal.
	Orphaned State = "Orphaned"
	// BeingDeleted claims were deleted by somebody, and go as soon as no pod
	// uses them.
	BeingDeleted State = "BeingDeleted"
	// Unrelated claims carry the operator's label, and a name that no server
	// mounts: somebody put the label there.
	Unrelated State = "Unrelated"
)

// Ordinal is one world of a persistent group.
type Ordinal struct {
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	Ordinal   int32  `json:"ordinal"`
}

// Claim is one claim of the operator's.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"claim"`
	// Group and Ordinal are read from the name, by which servers find their
	// claim; of an Unrelated claim Group is empty and Ordinal -1. Labels are
	// for people and decide nothing.
	Group   string `json:"group,omitempty"`
	Ordinal int32  `json:"ordinal"`
	State   State  `json:"state"`
	// Why says to a person how the state comes about.
	Why string `json:"why"`
	// Requested is what the claim asks for, Capacity what it has been given:
	// zero while it is not bound.
	Requested resource.Quantity `json:"requested"`
	Capacity  resource.Quantity `json:"capacity"`
	Created   metav1.Time       `json:"created"`
	Use       Use               `json:"use"`
}

// Wait is a required ordinal without a Server.
type Wait struct {
	Ordinal `json:",inline"`
	// Claim is the ordinal's; empty when it has none yet.
	Claim  string     `json:"claim,omitempty"`
	Reason WaitReason `json:"reason"`
	// Why says to a person what it waits for.
	Why string `json:"why"`
}

// Inventory is what a namespace, or a cluster, has accumulated.
type Inventory struct {
	// Claims are all that are the operator's, by namespace, group, ordinal and
	// name.
	Claims []Claim
	// Waits are the required ordinals without a Server, with and without a
	// claim, in the same order.
	Waits []Wait
}

// Of is the claims in one state.
func (i *Inventory) Of(state State) []Claim {
	var found []Claim
	for _, claim := range i.Claims {
		if claim.State == state {
			found = append(found, claim)
		}
	}
	return found
}

// facts are an Input in the form in which it is asked.
type facts struct {
	groups map[groupKey]*v1alpha1.ServerGroup
	held   map[Ordinal]string
	// copied has the group that names a claim in server.template.
	copied map[groupKey]string
}

type groupKey struct{ namespace, name string }

// Take says what each claim is, and which ordinals wait.
func Take(in Input) Inventory {
	known := facts{groups: map[groupKey]*v1alpha1.ServerGroup{}, held: map[Ordinal]string{}, copied: map[groupKey]string{}}
	for i := range in.Groups {
		group := &in.Groups[i]
		known.groups[groupKey{group.Namespace, group.Name}] = group
		for _, layer := range group.Spec.Server.Template {
			known.copied[groupKey{group.Namespace, layer.PersistentVolumeClaim.Name}] = group.Name
		}
	}
	for i := range in.Servers {
		if server := &in.Servers[i]; server.Spec.Ordinal != nil {
			known.held[Ordinal{server.Namespace, server.Spec.GroupRef.Name, *server.Spec.Ordinal}] = server.Name
		}
	}
	var taken Inventory
	claimOf := map[Ordinal]string{}
	for i := range in.Claims {
		if in.Claims[i].Labels[podspec.LabelManagedBy] == podspec.ManagedBy {
			claim := known.judge(&in.Claims[i])
			claimOf[Ordinal{claim.Namespace, claim.Group, claim.Ordinal}] = claim.Name
			taken.Claims = append(taken.Claims, claim)
		}
	}
	for i := range in.Groups {
		taken.Waits = append(taken.Waits, known.waits(&in.Groups[i], claimOf)...)
	}
	slices.SortFunc(taken.Claims, func(a, b Claim) int {
		return cmp.Or(byOrdinal(Ordinal{a.Namespace, a.Group, a.Ordinal}, Ordinal{b.Namespace, b.Group, b.Ordinal}), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(taken.Waits, func(a, b Wait) int { return byOrdinal(a.Ordinal, b.Ordinal) })
	return taken
}

func byOrdinal(a, b Ordinal) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Ordinal, b.Ordinal))
}

// judge says what one claim is. In doubt it is not an orphan: what is listed
// as one, somebody deletes.
func (f *facts) judge(object *corev1.PersistentVolumeClaim) Claim {
	claim := Claim{
		Namespace: object.Namespace, Name: object.Name, Ordinal: -1,
		Requested: object.Spec.Resources.Requests[corev1.ResourceStorage],
		Capacity:  object.Status.Capacity[corev1.ResourceStorage],
		Created:   object.CreationTimestamp, Use: useOf(object),
	}
	group, ordinal, named := podspec.OrdinalOfDataClaim(object.Name)
	if named {
		claim.Group, claim.Ordinal = group, ordinal
	}
	key := Ordinal{claim.Namespace, claim.Group, claim.Ordinal}
	switch {
	case object.DeletionTimestamp != nil:
		claim.State, claim.Why = BeingDeleted, "somebody deleted it; it goes when no pod uses it"
	case !named:
		claim.State, claim.Why = Unrelated, "no server mounts a claim of this name"
	case f.held[key] != "":
		claim.State, claim.Why = InService, "Server "+f.held[key]
	default:
		claim.State, claim.Why = f.needed(key)
		if group := f.copied[groupKey{object.Namespace, object.Name}]; group != "" && claim.State == Orphaned {
			claim.State, claim.Why = InService, "ServerGroup "+group+" copies files from it, and "+claim.Why
		}
	}
	return claim
}

// needed says whether a group requires an ordinal that has no Server.
func (f *facts) needed(ordinal Ordinal) (State, string) {
	group := f.groups[groupKey{ordinal.Namespace, ordinal.Group}]
	switch {
	case group == nil:
		return Orphaned, "there is no ServerGroup " + ordinal.Group
	case group.IsEphemeral():
		return Orphaned, fmt.Sprintf("ServerGroup %s is not Persistent", ordinal.Group)
	case ordinal.Ordinal >= replicas(group):
		return Orphaned, fmt.Sprintf("ServerGroup %s has replicas %d", ordinal.Group, replicas(group))
	}
	return Waiting, fmt.Sprintf("ServerGroup %s has replicas %d and no Server %s",
		ordinal.Group, replicas(group), podspec.PersistentServerName(ordinal.Group, ordinal.Ordinal))
}

func replicas(group *v1alpha1.ServerGroup) int32 { return ptr.Deref(group.Spec.Replicas, 0) }

// waits are the required ordinals of a group that have no Server.
func (f *facts) waits(group *v1alpha1.ServerGroup, claimOf map[Ordinal]string) []Wait {
	if group.IsEphemeral() {
		return nil
	}
	var found []Wait
	reason, why := reasonToWait(group)
	for ordinal := range replicas(group) {
		key := Ordinal{group.Namespace, group.Name, ordinal}
		if f.held[key] == "" {
			found = append(found, Wait{Ordinal: key, Claim: claimOf[key], Reason: reason, Why: why})
		}
	}
	return found
}
