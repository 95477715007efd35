// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

const (
	// podPatience is how long a pod may wait for its volumes before the
	// forwarding secret is suspected to be missing.
	podPatience = 30 * time.Second
	// secretInterval is the time between two attempts while pods wait.
	secretInterval = time.Minute
	// namedClaims is how many claims a message lists before it counts.
	namedClaims = 3
)

// plan is what a pass wants to be true.
type plan struct {
	// winner is the accepted Network's name.
	winner   string
	accepted bool
	// onlineMode is the mode in force from now on; nil before acceptance.
	onlineMode *bool
	// degraded is true while so many agents are silent at once that the channel
	// is to blame.
	degraded bool
	// unsettled explains why the wanted mode is not in force; empty: it is.
	unsettled string
}

// decide says which Network of the namespace counts and which mode is in force.
func decide(network *v1alpha1.Network, seen observation) plan {
	winner := elect(seen.namespace)
	decided := plan{winner: winner.Name, accepted: winner.UID == network.UID, onlineMode: network.Status.OnlineMode}
	if !decided.accepted {
		return decided
	}
	decided.degraded = seen.channel == fleet.ChannelDegraded
	wanted := ptr.Deref(network.Spec.OnlineMode, true)
	inForce := network.Status.OnlineMode
	confirmed := network.Annotations[v1alpha1.AnnotationConfirmOnlineMode] == strconv.FormatBool(wanted)
	if inForce == nil || len(seen.claims) == 0 || confirmed {
		decided.onlineMode = &wanted
	} else if *inForce != wanted {
		decided.unsettled = fmt.Sprintf(
			"onlineMode %t is wanted and %t stays in force: the change gives every player another UUID, and worlds exist (%s). "+
				"To go ahead, annotate this Network with %s=%t",
			wanted, *inForce, list(seen.claims), v1alpha1.AnnotationConfirmOnlineMode, wanted)
	}
	return decided
}

// elect returns the Network that counts: the oldest, then the first by name. A
// Network being deleted stands aside for the others.
func elect(networks []v1alpha1.Network) v1alpha1.Network {
	if len(networks) == 0 {
		return v1alpha1.Network{}
	}
	return slices.MinFunc(networks, func(a, b v1alpha1.Network) int {
		if gone := compareBool(a.DeletionTimestamp != nil, b.DeletionTimestamp != nil); gone != 0 {
			return gone
		}
		if age := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); age != 0 {
			return age
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// compareBool sorts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// list names the first few of many.
func list(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	if len(sorted) <= namedClaims {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sorted[:namedClaims], ", "), len(sorted)-namedClaims)
}
