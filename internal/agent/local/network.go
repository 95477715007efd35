// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"maps"
	"net/http"
	"slices"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// Network is what the manager tells of the network this server is part of.
type Network struct {
	// Players are on the network's proxies.
	Players int `json:"players"`
	// Groups are the ServerGroups, those without a server included.
	Groups []Group `json:"groups"`
	// Servers are those that players were sent to at any time and that are not
	// gone, by name.
	Servers []Server `json:"servers"`
	// Proxies are the ProxyGroups that have a proxy connected.
	Proxies []Proxies `json:"proxies"`
}

// Group is one ServerGroup.
type Group struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	// Players and FreeSeats are those of its servers, as far as they are known.
	Players   int `json:"players"`
	FreeSeats int `json:"freeSeats"`
}

// Server is one server of the network.
type Server struct {
	Name        string `json:"name"`
	Group       string `json:"group"`
	DisplayName string `json:"displayName"`
	// State is the phase of the Server.
	State string `json:"state"`
	// Joins is Closed also while the server is on its way out.
	Joins Joins `json:"joins"`
	// Players are absent while their number is unknown.
	Players *int `json:"players,omitempty"`
	Slots   int  `json:"slots"`
	// FreeSeats are the playable seats somebody could be sent to now.
	FreeSeats int `json:"freeSeats"`
}

// Proxies are the connected proxies of one ProxyGroup.
type Proxies struct {
	Group   string `json:"group"`
	Proxies int    `json:"proxies"`
	Players int    `json:"players"`
}

// Outlook is the network as the manager tells it, whole and then by what
// changes.
type Outlook struct {
	last    *agentv1alpha1.Directory
	servers map[string]*agentv1alpha1.DirectoryServer
}

// Apply takes in the next word of the manager. It says false for a change of
// something that was never told.
func (o *Outlook) Apply(told *agentv1alpha1.Directory) bool {
	switch {
	case told.GetFull():
		o.servers = map[string]*agentv1alpha1.DirectoryServer{}
	case o.last == nil:
		return false
	}
	o.last = told
	for _, server := range told.GetServers() {
		o.servers[server.GetName()] = server
	}
	for _, name := range told.GetRemoved() {
		delete(o.servers, name)
	}
	return true
}

// Network puts it into the words of the API. It says false while nothing was
// told.
func (o *Outlook) Network() (Network, bool) {
	if o.last == nil {
		return Network{}, false
	}
	network := Network{
		Players: int(o.last.GetNetworkPlayers()),
		Groups:  []Group{}, Servers: []Server{}, Proxies: []Proxies{},
	}
	at := map[string]int{}
	for i, group := range o.last.GetGroups() {
		at[group.GetName()] = i
		network.Groups = append(network.Groups, Group{Name: group.GetName(), DisplayName: group.GetDisplayName()})
	}
	for _, name := range slices.Sorted(maps.Keys(o.servers)) {
		server := serverOf(o.servers[name])
		if i, found := at[server.Group]; found {
			group := &network.Groups[i]
			server.DisplayName = group.DisplayName
			group.Players += int(o.servers[name].GetPlayers())
			group.FreeSeats += server.FreeSeats
		}
		network.Servers = append(network.Servers, server)
	}
	for _, proxies := range o.last.GetProxies() {
		network.Proxies = append(network.Proxies, Proxies{
			Group: proxies.GetGroup(), Proxies: int(proxies.GetProxies()), Players: int(proxies.GetPlayers()),
		})
	}
	return network, true
}

func serverOf(told *agentv1alpha1.DirectoryServer) Server {
	server := Server{
		Name: told.GetName(), Group: told.GetGroup(), DisplayName: told.GetGroup(), State: told.GetPhase(),
		Joins: Closed, Slots: int(told.GetSlots()), FreeSeats: told.FreeSeats(),
	}
	if told.GetDoor() == agentv1alpha1.DoorState_DOOR_STATE_OPEN {
		server.Joins = Open
	}
	if told.Players != nil {
		server.Players = new(int(told.GetPlayers()))
	}
	return server
}

// Manager is what the agent has to ask its manager for. Errors are Failed.
type Manager interface {
	// Network describes the network, waiting for it if need be, and returns a
	// channel that is closed when that may have changed.
	Network(ctx context.Context) (Network, <-chan struct{}, error)
	// Ask puts something to the manager and waits for the answer, for so long
	// and no longer.
	Ask(ctx context.Context, ask *agentv1alpha1.Ask) (*agentv1alpha1.Answer, error)
}

func serveNetwork(a *api, w http.ResponseWriter, r *http.Request) {
	network, _, err := a.host.Network(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, network)
}

// serveNetworkEvents ends when the manager is lost: whoever asks again is told
// so.
func serveNetworkEvents(a *api, w http.ResponseWriter, r *http.Request) {
	if _, _, err := a.host.Network(r.Context()); err != nil {
		fail(w, err)
		return
	}
	stream(a, w, r, "network", a.host.Network)
}
