// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ServerPhase is one state of a server's life. Servers move through phases by
// the ordered rules of the phase package and by nothing else.
//
// +kubebuilder:validation:Enum=Pending;Starting;Ready;Retiring;Draining;Terminating;Failed
type ServerPhase string

const (
	// ServerPending waits for its claim, its pod's name or its pod.
	ServerPending ServerPhase = "Pending"
	// ServerStarting has a running pod whose game does not accept players yet.
	ServerStarting ServerPhase = "Starting"
	// ServerReady accepts players and is registered with the proxies.
	ServerReady ServerPhase = "Ready"
	// ServerRetiring takes nobody new; its players stay until they leave.
	ServerRetiring ServerPhase = "Retiring"
	// ServerDraining is having its players moved, until its drain deadline.
	ServerDraining ServerPhase = "Draining"
	// ServerTerminating waits for its pod to be gone.
	ServerTerminating ServerPhase = "Terminating"
	// ServerFailed is kept for diagnosis until its retention has passed.
	ServerFailed ServerPhase = "Failed"
)

// RetireReason says why a server takes nobody new. Absent means it is not
// asked to retire.
//
// +kubebuilder:validation:Enum=Changeover;Pin;Consolidation;Requested;NodeDraining
type RetireReason string

const (
	// RetireNone asks for nothing.
	RetireNone RetireReason = ""
	// RetireChangeover makes room for a server of the group's current spec.
	RetireChangeover RetireReason = "Changeover"
	// RetirePin brings the group down to the number an Exact boost holds.
	RetirePin RetireReason = "Pin"
	// RetireConsolidation lets the others absorb a nearly empty server.
	RetireConsolidation RetireReason = "Consolidation"
	// RetireRequested was asked for by a person.
	RetireRequested RetireReason = "Requested"
	// RetireNodeDraining clears a node that is about to leave.
	RetireNodeDraining RetireReason = "NodeDraining"
)
