// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// KeyHeader names an ask, so that it can be repeated without being done twice.
const KeyHeader = "Idempotency-Key"

// usableKey is what an ask may be named.
var usableKey = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// statuses are what HTTP says of a verdict.
var statuses = map[agentv1alpha1.Verdict]int{
	agentv1alpha1.Verdict_VERDICT_DONE:      http.StatusOK,
	agentv1alpha1.Verdict_VERDICT_MALFORMED: http.StatusBadRequest,
	agentv1alpha1.Verdict_VERDICT_REFUSED:   http.StatusConflict,
	agentv1alpha1.Verdict_VERDICT_NOT_FOUND: http.StatusNotFound,
	agentv1alpha1.Verdict_VERDICT_TOO_OFTEN: http.StatusTooManyRequests,
	agentv1alpha1.Verdict_VERDICT_FAILED:    http.StatusServiceUnavailable,
}

// ask puts a plugin's wish to the manager; false: it was refused by then.
func (a *api) ask(w http.ResponseWriter, r *http.Request, ask *agentv1alpha1.Ask) (*agentv1alpha1.Answer, bool) {
	ask.Id = uuid.NewString()
	// What is only looked at is looked at anew.
	if r.Method != http.MethodGet {
		ask.Id = cmp.Or(r.Header.Get(KeyHeader), ask.GetId())
	}
	if !usableKey.MatchString(ask.GetId()) {
		refuse(w, http.StatusBadRequest, fmt.Errorf("%s is 1 to 64 letters, digits, dots, dashes and underscores", KeyHeader))
		return nil, false
	}
	answered, err := a.host.Ask(r.Context(), ask)
	if err != nil {
		fail(w, err)
		return nil, false
	}
	status, known := statuses[answered.GetVerdict()]
	if !known {
		status = http.StatusBadGateway
	}
	if status != http.StatusOK {
		refuse(w, status, errors.New(cmp.Or(answered.GetDetail(), "the manager gave no reason")))
		return nil, false
	}
	return answered, true
}

// Boost is a ScaleBoost that this server has made.
type Boost struct {
	// Name of the ScaleBoost.
	Name string `json:"name"`
	// Replicas is by how many servers it raises the floor of the group.
	Replicas int `json:"replicas"`
	// ExpiresAt is when it ends by itself.
	ExpiresAt time.Time `json:"expiresAt"`
}

// Boosts are the live ones that this server has made.
type Boosts struct {
	Boosts []Boost `json:"boosts"`
}

// NewBoost is the body of POST /v1/boosts.
type NewBoost struct {
	// Replicas is how many servers more there should be, at least 1.
	Replicas int `json:"replicas"`
	// For is how long, such as 90m, 2h or 3d; an hour when it is absent.
	For Duration `json:"for,omitempty"`
}

// Duration is a time as people write it; days are allowed.
type Duration time.Duration

// UnmarshalJSON reads a text such as 90m, 2h30m or 3d.
func (d *Duration) UnmarshalJSON(content []byte) error {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return errors.New(`for has to be a string such as "90m", "2h" or "3d"`)
	}
	read, err := parseTime(text)
	switch {
	case err != nil:
		return fmt.Errorf("for is %q, which is no time such as 90m, 2h or 3d", text)
	case read < time.Second:
		return fmt.Errorf("a boost lasts at least a second and at most seven days, and %s was asked for; leave for out for an hour", text)
	}
	*d = Duration(read)
	return nil
}

func parseTime(text string) (time.Duration, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		const bits = 16 // As many days as that fit into a Duration.
		if n, err := strconv.ParseUint(days, 10, bits); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	return time.ParseDuration(text)
}

func boostOf(told *agentv1alpha1.OwnBoost) Boost {
	return Boost{Name: told.GetName(), Replicas: int(told.GetReplicas()), ExpiresAt: told.GetExpiresAt().AsTime()}
}

func boostsOf(answered *agentv1alpha1.Answer) Boosts {
	all := Boosts{Boosts: []Boost{}}
	for _, one := range answered.GetBoosts() {
		all.Boosts = append(all.Boosts, boostOf(one))
	}
	return all
}

func serveNewBoost(a *api, w http.ResponseWriter, r *http.Request) {
	var body NewBoost
	if !read(w, r, &body) {
		return
	}
	const most = 1000
	if body.Replicas < 1 || body.Replicas > most {
		refuse(w, http.StatusBadRequest, fmt.Errorf("replicas is %d and has to be 1 to %d", body.Replicas, most))
		return
	}
	answered, ok := a.ask(w, r, &agentv1alpha1.Ask{Ask: &agentv1alpha1.Ask_AddBoost{AddBoost: &agentv1alpha1.AddBoost{
		Replicas: int32(body.Replicas), Seconds: int64(time.Duration(body.For) / time.Second),
	}}})
	switch {
	case !ok:
	case len(answered.GetBoosts()) != 1:
		refuse(w, http.StatusBadGateway, fmt.Errorf("the manager answers with %d boosts instead of the one that was made", len(answered.GetBoosts())))
	default:
		answer(w, http.StatusOK, boostOf(answered.GetBoosts()[0]))
	}
}

func serveBoosts(a *api, w http.ResponseWriter, r *http.Request) {
	list := &agentv1alpha1.Ask{Ask: &agentv1alpha1.Ask_ListBoosts{ListBoosts: &agentv1alpha1.ListBoosts{}}}
	if answered, ok := a.ask(w, r, list); ok {
		answer(w, http.StatusOK, boostsOf(answered))
	}
}

func serveNoBoost(a *api, w http.ResponseWriter, r *http.Request) {
	end := &agentv1alpha1.Ask{Ask: &agentv1alpha1.Ask_EndBoost{EndBoost: &agentv1alpha1.EndBoost{Name: r.PathValue("name")}}}
	if answered, ok := a.ask(w, r, end); ok {
		answer(w, http.StatusOK, boostsOf(answered))
	}
}

func serveRetire(a *api, w http.ResponseWriter, r *http.Request) {
	if _, ok := a.ask(w, r, &agentv1alpha1.Ask{Ask: &agentv1alpha1.Ask_Retire{Retire: &agentv1alpha1.Retire{}}}); ok {
		self, _ := a.host.Self()
		answer(w, http.StatusOK, self)
	}
}

// Move is the body of POST /v1/connect, and of its answer.
type Move struct {
	// Player is on this server: a name, or a UUID.
	Player string `json:"player"`
	// To is the name of a Server or a ServerGroup of the network.
	To string `json:"to"`
}

// player is who is meant: whatever reads as a UUID is one.
func (m Move) player() *agentv1alpha1.Player {
	if id, err := uuid.Parse(m.Player); err == nil {
		return &agentv1alpha1.Player{Uuid: id[:]}
	}
	return &agentv1alpha1.Player{Name: m.Player}
}

func serveConnect(a *api, w http.ResponseWriter, r *http.Request) {
	var body Move
	if !read(w, r, &body) {
		return
	}
	if body.Player == "" || body.To == "" {
		refuse(w, http.StatusBadRequest, errors.New("player is the name or UUID of somebody on this server, and to the name of a server or group"))
		return
	}
	connect := &agentv1alpha1.Ask{Ask: &agentv1alpha1.Ask_Connect{Connect: &agentv1alpha1.Connect{Player: body.player(), To: body.To}}}
	if _, ok := a.ask(w, r, connect); ok {
		answer(w, http.StatusOK, body)
	}
}
