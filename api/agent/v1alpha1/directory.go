// SPDX-License-Identifier: Apache-2.0

package agentv1alpha1

// FreeSeats are the playable seats somebody could be sent to now, by the same
// rule as the group's status.freeSlots; 0 while the players are unknown.
func (x *DirectoryServer) FreeSeats() int {
	if x.GetDoor() != DoorState_DOOR_STATE_OPEN || x.Players == nil {
		return 0
	}
	return max(0, int(x.GetPlayableSlots())-int(x.GetPlayers()))
}
