// SPDX-License-Identifier: Apache-2.0

package bungee

import (
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// separator stands between the names of a list.
const separator = ", "

func begin(s Subchannel) *mcproto.Writer { return mcproto.NewWriter().JavaString(s.String()) }

// undashed is a UUID as plugins get it.
func undashed(id uuid.UUID) string { return hex.EncodeToString(id[:]) }

// AnswerIP says where the player comes from whose connection carries it.
func AnswerIP(from netip.AddrPort) []byte {
	return begin(IP).JavaString(host(from)).Int32(int32(from.Port())).Bytes()
}

// AnswerIPOther says where another player comes from.
func AnswerIPOther(player string, from netip.AddrPort) []byte {
	return begin(IPOther).JavaString(player).JavaString(host(from)).Int32(int32(from.Port())).Bytes()
}

func host(from netip.AddrPort) string {
	if !from.Addr().IsValid() {
		return ""
	}
	return from.Addr().String()
}

// AnswerPlayerCount counts the players of a server or group, or of All.
func AnswerPlayerCount(target string, players int) []byte {
	return begin(PlayerCount).JavaString(target).Int32(int32(players)).Bytes()
}

// AnswerPlayerList names the players of a server or group, or of All. Of a list
// that is longer than a message the end is left out.
func AnswerPlayerList(target string, players []string) []byte {
	w := begin(PlayerList).JavaString(target)
	return w.JavaString(fitting(players, MaxMessage-len(w.Bytes()))).Bytes()
}

// AnswerGetServers names servers. Of a list that is longer than a message the end
// is left out.
func AnswerGetServers(servers []string) []byte {
	w := begin(GetServers)
	return w.JavaString(fitting(servers, MaxMessage-len(w.Bytes()))).Bytes()
}

// fitting joins as many names as fit into room bytes with their length. Names of
// players and servers are ASCII.
func fitting(names []string, room int) string {
	room -= 2
	var list strings.Builder
	for _, name := range names {
		if list.Len() > 0 {
			name = separator + name
		}
		if list.Len()+len(name) > room {
			break
		}
		list.WriteString(name)
	}
	return list.String()
}

// AnswerGetServer names the server that asks.
func AnswerGetServer(server string) []byte { return begin(GetServer).JavaString(server).Bytes() }

// AnswerUUID is the UUID of the player whose connection carries it.
func AnswerUUID(id uuid.UUID) []byte { return begin(UUID).JavaString(undashed(id)).Bytes() }

// AnswerUUIDOther is the UUID of another player.
func AnswerUUIDOther(player string, id uuid.UUID) []byte {
	return begin(UUIDOther).JavaString(player).JavaString(undashed(id)).Bytes()
}

// AnswerServerIP says where a server listens.
func AnswerServerIP(server, host string, port uint16) []byte {
	return begin(ServerIP).JavaString(server).JavaString(host).Uint16(port).Bytes()
}
