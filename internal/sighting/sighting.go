// SPDX-License-Identifier: Apache-2.0

// Package sighting puts together what the API server and the channel know of
// one server, in the vocabulary of the decisions.
package sighting

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// Channel is what is asked of the sessions with agents and proxies.
type Channel interface {
	// Server returns what the agent in a pod said last.
	Server(pod types.UID) sessions.ServerState
	// Presence counts who is on a server, or on the way, by the proxies' word.
	Presence(server types.NamespacedName) sessions.Presence
	// NobodySince says since when all these proxies agree that nobody is there.
	NobodySince(server types.NamespacedName, proxies []types.UID) (time.Time, bool)
}

// ProxyPods returns the UIDs of every proxy pod of a Network that exists.
func ProxyPods(ctx context.Context, reader client.Reader, namespace, network string) ([]types.UID, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{
		podspec.LabelNetwork: network,
		podspec.LabelRole:    string(podspec.RoleProxy),
	})
	if err != nil {
		return nil, fmt.Errorf("list proxy pods: %w", err)
	}
	uids := make([]types.UID, 0, len(pods.Items))
	for i := range pods.Items {
		uids = append(uids, pods.Items[i].UID)
	}
	return uids, nil
}

// PresenceOf says who is on a server. The proxies given are all proxy pods of
// its Network that exist: players come through nothing else.
func PresenceOf(server *v1alpha1.Server, channel Channel, proxies []types.UID) fleet.Presence {
	key := client.ObjectKeyFromObject(server)
	there := channel.Presence(key)
	said := channel.Server(types.UID(server.Status.PodUID))
	presence := fleet.Presence{
		Registration: registration(server),
		Counts:       counts(said, there),
	}
	// A seat that the agent holds is a player on the way, before any proxy has
	// said so.
	if there.On+there.Coming > 0 || said.Report.GetSeatsPending() > 0 {
		presence.Roster = fleet.SomebodyThere()
	} else if since, ok := channel.NobodySince(key, proxies); ok {
		presence.Roster = fleet.NobodySince(since)
	}
	return presence
}

// Players is the higher of two numbers: what the game says, and whom the
// proxies put there.
func Players(said sessions.ServerState, there sessions.Presence) int {
	return max(int(said.Report.GetOnline()), there.On)
}

func counts(said sessions.ServerState, there sessions.Presence) fleet.Counts {
	switch said.Freshness {
	case sessions.Fresh:
		return fleet.Fresh(Players(said, there), said.SampledAt)
	case sessions.Stale:
		return fleet.Stale(Players(said, there), said.SampledAt)
	case sessions.Unknown:
	}
	return fleet.Counts{}
}

func registration(server *v1alpha1.Server) fleet.Registration {
	switch {
	case ptr.Deref(server.Status.Registered, false):
		return fleet.Registered
	case ptr.Deref(server.Status.WasRegistered, false):
		return fleet.Deregistered
	}
	return fleet.NeverRegistered
}

// ClocksOf reads the instants a server's status persists.
func ClocksOf(status *v1alpha1.ServerStatus) fleet.Clocks {
	return fleet.Clocks{
		StartedAt:      Instant(status.StartedAt),
		ReadySince:     Instant(status.ReadySince),
		RetiringSince:  Instant(status.RetiringSince),
		DrainStartedAt: Instant(status.DrainStartedAt),
		FailedAt:       Instant(status.FailedAt),
	}
}

// Instant reads a time of a status; the zero time for none.
func Instant(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// Stamp writes an instant as the API keeps it, in whole seconds; zero is none.
func Stamp(instant time.Time) *metav1.Time {
	if instant.IsZero() {
		return nil
	}
	return new(metav1.NewTime(instant).Rfc3339Copy())
}

// Group is what a server's group says about it.
type Group struct {
	// PodHash of the group's present spec.
	PodHash       string
	PlayableSlots int32
	MaxPlayers    int32
}

// ServerOf describes one server to the decisions about its group.
func ServerOf(server *v1alpha1.Server, group Group, pod fleet.PodView, presence fleet.Presence) fleet.Server {
	seen := fleet.Server{
		Name:     server.Name,
		Ordinal:  fleet.NoOrdinal,
		Phase:    server.Status.Phase,
		Retire:   server.Spec.RetireReason,
		Pod:      pod,
		Seats:    seatsOf(server, group),
		Presence: presence,
		Clocks:   ClocksOf(&server.Status),

		CreatedAt:  server.CreationTimestamp.Time,
		EmptySince: Instant(server.Status.EmptySince),
		ServedAt:   Instant(server.Status.ServedAt),
	}
	if seen.Phase == "" {
		seen.Phase = v1alpha1.ServerPending
	}
	if server.Spec.Ordinal != nil {
		seen.Ordinal = int(*server.Spec.Ordinal)
	}
	if server.DeletionTimestamp != nil {
		seen.Deletion = fleet.DeletionAsked
	}
	if server.Spec.PodHash != group.PodHash {
		seen.Spec = fleet.SpecOld
	}
	if !ptr.Deref(server.Status.JoinsOpen, true) {
		seen.Door = fleet.DoorClosed
	}
	if ptr.Deref(server.Status.StorageResizePending, false) {
		seen.Resize = fleet.ResizePending
	}
	if acceptedFor(server, v1alpha1.ReasonClaimTerminating) {
		seen.Claim = fleet.ClaimEnding
	}
	return seen
}

// NameHeld is true when the last pass over a Server found another pod with its
// name.
func NameHeld(server *v1alpha1.Server) bool {
	return acceptedFor(server, v1alpha1.ReasonPodNameConflict, v1alpha1.ReasonPodNameTerminating)
}

// WorldHeld is true when the last pass over a Server found that its claim cannot
// be mounted.
func WorldHeld(server *v1alpha1.Server) bool {
	return acceptedFor(server, v1alpha1.ReasonClaimNotOurs, v1alpha1.ReasonClaimTerminating)
}

// acceptedFor is true when the condition Accepted has one of the reasons.
func acceptedFor(server *v1alpha1.Server, reasons ...string) bool {
	accepted := apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionAccepted)
	return accepted != nil && slices.Contains(reasons, accepted.Reason)
}

// seatsOf settles a server's seats. Before it has said anything they are those
// its group promises.
func seatsOf(server *v1alpha1.Server, group Group) fleet.Seats {
	return fleet.NewSeats(fleet.Figures{
		Plugin: int(ptr.Deref(server.Status.PlayableSlots, 0)),
		Group:  int(group.PlayableSlots),
		Slots:  int(ptr.Deref(server.Status.Slots, group.MaxPlayers)),
	})
}
