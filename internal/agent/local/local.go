// SPDX-License-Identifier: Apache-2.0

// Package local answers plugins: whatever runs inside the game reaches the
// agent of its own pod on the loopback address, over HTTP and JSON.
// docs/reference/plugin-api.yaml describes it for those who write clients.
package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// Paths of the API.
const (
	SelfPath          = "/v1/self"
	PlayableSlotsPath = "/v1/playable-slots"
	JoinsPath         = "/v1/joins"
	RoundEndPath      = "/v1/round/end"
	PlayersPath       = "/v1/players"
	EventsPath        = "/v1/events"
	NetworkPath       = "/v1/network"
	NetworkEventsPath = "/v1/network/events"
	BoostsPath        = "/v1/boosts"
	BoostPath         = "/v1/boosts/{name}"
	RetirePath        = "/v1/retire"
	ConnectPath       = "/v1/connect"
)

// ServerState is what the server is for players.
type ServerState string

const (
	// Starting: the game does not accept players yet.
	Starting ServerState = "Starting"
	// Ready: the game accepts players.
	Ready ServerState = "Ready"
	// NotAnswering: the game was asked, and did not answer.
	NotAnswering ServerState = "NotAnswering"
	// Stopping: the game is saving and going away.
	Stopping ServerState = "Stopping"
)

// Joins says whether players are sent here.
type Joins string

const (
	// Open: whoever chooses the group may be sent here.
	Open Joins = "Open"
	// Closed: nobody is sent here who did not name this very server, and its
	// empty seats are no capacity of the group.
	Closed Joins = "Closed"
)

// Self is the server as its agent sees it.
type Self struct {
	// Server is the name of the Server, Group that of its ServerGroup.
	Server string `json:"server"`
	Group  string `json:"group"`
	// DisplayName is what players read instead of the group's name.
	DisplayName string `json:"displayName"`
	// Ordinal is the place in a persistent group; absent in an ephemeral one.
	Ordinal *int32      `json:"ordinal,omitempty"`
	State   ServerState `json:"state"`
	// Detail is one sentence about the state; empty when there is nothing to say.
	Detail string `json:"detail,omitempty"`
	// Players are online by the game's word; absent while that is unknown.
	Players *int `json:"players,omitempty"`
	// Slots is the limit of the server.
	Slots int `json:"slots"`
	// PlayableSlots is how many of them count as capacity now.
	PlayableSlots int   `json:"playableSlots"`
	Joins         Joins `json:"joins"`
	// Wishes are what a plugin asked for and has not taken back.
	Wishes Wishes `json:"wishes"`
}

// Wishes are what the plugins of this server ask for. They end with the game.
type Wishes struct {
	// PlayableSlots replaces the group's figure; nil while no plugin set one.
	PlayableSlots *int `json:"playableSlots,omitempty"`
	// Joins is empty while no plugin said anything, which is Open.
	Joins Joins `json:"joins,omitempty"`
	// RoundEnded is true from the end of the round until the door is opened
	// again: the game is expected to exit with code 0, which is no failure.
	RoundEnded bool `json:"roundEnded,omitempty"`
}

// Seats is how many of a server's slots count as capacity: what a plugin set,
// else the group's figure, which is 0 where it has none, else all of them; never
// more than the slots.
func (w Wishes) Seats(group, slots int) int {
	if w.PlayableSlots != nil {
		group = *w.PlayableSlots
	}
	return min(cmp.Or(group, slots), slots)
}

// Door is what the wishes make of joins.
func (w Wishes) Door() Joins { return cmp.Or(w.Joins, Open) }

// Equal is true when both ask for the same.
func (w Wishes) Equal(other Wishes) bool {
	same := ptr.Equal(w.PlayableSlots, other.PlayableSlots)
	w.PlayableSlots, other.PlayableSlots = nil, nil
	return same && w == other
}

// EndRound closes the door and expects the game to exit.
func (w *Wishes) EndRound() { w.Joins, w.RoundEnded = Closed, true }

// SetDoor opens or closes it. An open door takes back that the round has ended.
func (w *Wishes) SetDoor(joins Joins) {
	w.Joins = joins
	w.RoundEnded = w.RoundEnded && joins == Closed
}

// OfTheExit is what outlives the game, whose exit it explains.
func (w Wishes) OfTheExit() Wishes {
	if !w.RoundEnded {
		return Wishes{}
	}
	return Wishes{Joins: Closed, RoundEnded: true}
}

// Host is the agent behind the API.
type Host interface {
	// Self describes the server as of now, and returns a channel that is closed
	// when that may have changed.
	Self() (Self, <-chan struct{})
	// Wish changes what is asked for. An error means that nothing changed.
	Wish(change func(*Wishes)) error
	// Count takes in who is online, for a while. A *Failed means that it does
	// not count.
	Count(online []Person) error
}

// Agent is all that the API answers from.
type Agent interface {
	Host
	Manager
}

// route is one operation, and how it is answered.
type route struct {
	method, path string
	serve        func(*api, http.ResponseWriter, *http.Request)
}

func routes() []route {
	return []route{
		{http.MethodGet, SelfPath, serveSelf},
		{http.MethodPut, PlayableSlotsPath, servePlayableSlots},
		{http.MethodDelete, PlayableSlotsPath, serveNoPlayableSlots},
		{http.MethodPut, JoinsPath, serveJoins},
		{http.MethodPost, RoundEndPath, serveRoundEnd},
		{http.MethodPut, PlayersPath, servePlayers},
		{http.MethodGet, EventsPath, serveEvents},
		{http.MethodGet, NetworkPath, serveNetwork},
		{http.MethodGet, NetworkEventsPath, serveNetworkEvents},
		{http.MethodPost, BoostsPath, serveNewBoost},
		{http.MethodGet, BoostsPath, serveBoosts},
		{http.MethodDelete, BoostPath, serveNoBoost},
		{http.MethodPost, RetirePath, serveRetire},
		{http.MethodPost, ConnectPath, serveConnect},
	}
}

const (
	readWithin     = 10 * time.Second
	idleFor        = time.Minute
	maxHeaderBytes = 16 << 10
	// maxBody bounds a request's body, in bytes.
	maxBody = 4 << 10
)

// api is one agent and the time that goes by.
type api struct {
	host  Agent
	clock clock.WithTicker
}

// NewServer makes the API's server for one agent. Requests end with ctx.
func NewServer(ctx context.Context, host Agent, clk clock.WithTicker) *http.Server {
	a := &api{host: host, clock: clk}
	return &http.Server{
		Handler:     a.handler(),
		ReadTimeout: readWithin, IdleTimeout: idleFor, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
}

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, one := range routes() {
		mux.HandleFunc(one.method+" "+one.path, func(w http.ResponseWriter, r *http.Request) { one.serve(a, w, r) })
		methods[one.path] = append(methods[one.path], one.method)
	}
	for path, allowed := range methods {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { refuseMethod(w, r, allowed) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no %s %s", r.Method, r.URL.Path))
	})
	return fromHere(mux)
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	all := slices.Clone(allowed)
	if slices.Contains(all, http.MethodGet) {
		all = append(all, http.MethodHead)
	}
	w.Header().Set("Allow", strings.Join(all, ", "))
	refuse(w, http.StatusMethodNotAllowed, fmt.Errorf("there is no %s %s, only %s", r.Method, r.URL.Path, strings.Join(allowed, " and ")))
}

// fromHere turns web pages away. Only the pod's own processes reach the port,
// but on a plugin author's laptop a browser is one of them, and a page of
// anybody's may make it ask.
func fromHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			name = host
		}
		ip := net.ParseIP(strings.Trim(name, "[]"))
		if name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			refuse(w, http.StatusForbidden, fmt.Errorf("the API is asked for under 127.0.0.1 or localhost, not %q", r.Host))
			return
		}
		if r.Header.Get("Origin") != "" {
			refuse(w, http.StatusForbidden, errors.New("the API is not for web pages"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Failure is the answer to a request that was not carried out.
type Failure struct {
	// Error is one sentence: what is wrong, and what would be right.
	Error string `json:"error"`
}

// Failed is why something could not be asked, or was not granted.
type Failed struct {
	// Status is the one of HTTP that says it to a program.
	Status int
	// Why says it to a person, in one sentence.
	Why string
}

// Error is the sentence.
func (f *Failed) Error() string { return f.Why }

func fail(w http.ResponseWriter, err error) {
	if failed, ok := errors.AsType[*Failed](err); ok {
		refuse(w, failed.Status, failed)
		return
	}
	refuse(w, http.StatusInternalServerError, err)
}

func refuse(w http.ResponseWriter, status int, why error) { answer(w, status, Failure{why.Error()}) }

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A plugin that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}

func serveSelf(a *api, w http.ResponseWriter, _ *http.Request) {
	self, _ := a.host.Self()
	answer(w, http.StatusOK, self)
}

// PlayableSlots is the body of PUT /v1/playable-slots.
type PlayableSlots struct {
	// PlayableSlots is how many of the server's seats count as capacity, at
	// least 1 and at most 2147483647. More than its slots counts as all of them.
	PlayableSlots int `json:"playableSlots"`
}

func servePlayableSlots(a *api, w http.ResponseWriter, r *http.Request) {
	var body PlayableSlots
	if !read(w, r, &body) {
		return
	}
	if body.PlayableSlots < 1 || body.PlayableSlots > math.MaxInt32 {
		refuse(w, http.StatusBadRequest, fmt.Errorf(
			"playableSlots is %d and has to be at least 1 and at most %d; PUT %s with joins Closed to take nobody new",
			body.PlayableSlots, math.MaxInt32, JoinsPath))
		return
	}
	a.wish(w, func(wishes *Wishes) { wishes.PlayableSlots = &body.PlayableSlots })
}

func serveNoPlayableSlots(a *api, w http.ResponseWriter, _ *http.Request) {
	a.wish(w, func(wishes *Wishes) { wishes.PlayableSlots = nil })
}

// JoinsBody is the body of PUT /v1/joins.
type JoinsBody struct {
	// Joins is Open or Closed.
	Joins Joins `json:"joins"`
}

func serveJoins(a *api, w http.ResponseWriter, r *http.Request) {
	var body JoinsBody
	if !read(w, r, &body) {
		return
	}
	if body.Joins != Open && body.Joins != Closed {
		refuse(w, http.StatusBadRequest, fmt.Errorf("joins is %q and has to be %s or %s", body.Joins, Open, Closed))
		return
	}
	a.wish(w, func(wishes *Wishes) { wishes.SetDoor(body.Joins) })
}

func serveRoundEnd(a *api, w http.ResponseWriter, _ *http.Request) {
	if self, _ := a.host.Self(); self.Ordinal != nil {
		refuse(w, http.StatusConflict, fmt.Errorf(
			"no round of %s ends: it is of a persistent group, and its game is started again in place when it exits; PUT %s with joins Closed to take nobody new",
			self.Server, JoinsPath))
		return
	}
	a.wish(w, (*Wishes).EndRound)
}

// wish answers with what became of the server.
func (a *api) wish(w http.ResponseWriter, change func(*Wishes)) {
	if err := a.host.Wish(change); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	self, _ := a.host.Self()
	answer(w, http.StatusOK, self)
}

// Address is where the agent of a pod serves the API.
func Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(serverspec.LocalPort)) }
