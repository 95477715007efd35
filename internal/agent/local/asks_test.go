// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func atNoon() (*Invented, *clocktesting.FakePassiveClock) {
	clk := clocktesting.NewFakePassiveClock(noon)
	return NewInvented("lobby-ab2c", "lobby", 24, 12, clk, func(Self) {}), clk
}

func decoded[T any](t *testing.T, status int, body string) T {
	t.Helper()
	var made T
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	return made
}

func TestAPluginBoostsItsGroupAndEndsThat(t *testing.T) {
	host, clk := atNoon()
	base := serve(t, host)
	status, body := ask(t, "POST", base+BoostsPath, `{"replicas": 2, "for": "2h"}`)
	first := decoded[Boost](t, status, body)
	if first.Replicas != 2 || !first.ExpiresAt.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("%+v", first)
	}
	status, body = ask(t, "POST", base+BoostsPath, `{"replicas": 1}`, KeyHeader, "round-7")
	second := decoded[Boost](t, status, body)
	if second.Name == first.Name || !second.ExpiresAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v after %+v", second, first)
	}
	status, body = ask(t, "POST", base+BoostsPath, `{"replicas": 1}`, KeyHeader, "round-7")
	if again := decoded[Boost](t, status, body); again != second {
		t.Errorf("the same again made %+v", again)
	}
	status, body = ask(t, "GET", base+BoostsPath, "")
	if diff := cmp.Diff(Boosts{[]Boost{first, second}}, decoded[Boosts](t, status, body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	status, body = ask(t, "DELETE", base+"/v1/boosts/"+first.Name, "")
	if diff := cmp.Diff(Boosts{[]Boost{second}}, decoded[Boosts](t, status, body)); diff != "" {
		t.Errorf("after the first was ended (-want +got):\n%s", diff)
	}
	clk.SetTime(noon.Add(time.Hour))
	status, body = ask(t, "GET", base+BoostsPath, "")
	if diff := cmp.Diff(Boosts{[]Boost{}}, decoded[Boosts](t, status, body)); diff != "" {
		t.Errorf("after an hour (-want +got):\n%s", diff)
	}
}

func TestWhatABoostIsRefusedFor(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"none":           {"POST", BoostsPath, `{"replicas": 0}`, 400, "replicas is 0"},
		"no number":      {"POST", BoostsPath, `{}`, 400, "replicas is missing"},
		"a flood":        {"POST", BoostsPath, `{"replicas": 4294967297}`, 400, "has to be 1 to 1000"},
		"too many":       {"POST", BoostsPath, `{"replicas": 8}`, 409, "maxReplicas of lobby is 8"},
		"for too long":   {"POST", BoostsPath, `{"replicas": 1, "for": "8d"}`, 400, "at most seven days"},
		"for no time":    {"POST", BoostsPath, `{"replicas": 1, "for": "soon"}`, 400, `for is \"soon\", which is no time such as 90m, 2h or 3d`},
		"for a number":   {"POST", BoostsPath, `{"replicas": 1, "for": 90}`, 400, "for has to be a string"},
		"backwards":      {"POST", BoostsPath, `{"replicas": 1, "for": "-1h"}`, 400, "at least a second"},
		"a blink":        {"POST", BoostsPath, `{"replicas": 1, "for": "1ms"}`, 400, "at least a second and at most seven days, and 1ms"},
		"no seconds":     {"POST", BoostsPath, `{"replicas": 1, "for": "0s"}`, 400, "at least a second and at most seven days, and 0s"},
		"no days":        {"POST", BoostsPath, `{"replicas": 1, "for": "0d"}`, 400, "at least a second and at most seven days, and 0d"},
		"for a year":     {"POST", BoostsPath, `{"replicas": 1, "for": "366d"}`, 400, "at most seven days"},
		"somebody's own": {"DELETE", "/v1/boosts/friday", "", 404, `has made no boost \"friday\"`},
	} {
		t.Run(name, func(t *testing.T) {
			host, _ := atNoon()
			status, body := ask(t, test.method, serve(t, host)+test.path, test.body)
			if status != test.status || !strings.Contains(body, test.says) {
				t.Errorf("%d %s, want %d and %q", status, body, test.status, test.says)
			}
		})
	}
}

func TestAnAskHasAUsableName(t *testing.T) {
	host, _ := atNoon()
	base := serve(t, host)
	for _, key := range []string{"two words", strings.Repeat("x", 65), "ä"} {
		if status, body := ask(t, "POST", base+RetirePath, "", KeyHeader, key); status != http.StatusBadRequest || !strings.Contains(body, KeyHeader) {
			t.Errorf("%q: %d %s", key, status, body)
		}
	}
}

// terse answers every ask the same.
type terse struct {
	*Invented
	answer *agentv1alpha1.Answer
}

func (h *terse) Ask(context.Context, *agentv1alpha1.Ask) (*agentv1alpha1.Answer, error) {
	return h.answer, nil
}

func TestWhatTheManagerSaysIsPassedOn(t *testing.T) {
	for name, test := range map[string]struct {
		answer *agentv1alpha1.Answer
		status int
		says   string
	}{
		"done":           {&agentv1alpha1.Answer{Verdict: agentv1alpha1.Verdict_VERDICT_DONE}, 200, `"server":"lobby-ab2c"`},
		"refused":        {&agentv1alpha1.Answer{Verdict: agentv1alpha1.Verdict_VERDICT_REFUSED, Detail: "too young"}, 409, "too young"},
		"too often":      {&agentv1alpha1.Answer{Verdict: agentv1alpha1.Verdict_VERDICT_TOO_OFTEN, Detail: "slowly"}, 429, "slowly"},
		"failed":         {&agentv1alpha1.Answer{Verdict: agentv1alpha1.Verdict_VERDICT_FAILED, Detail: "no API server"}, 503, "no API server"},
		"without reason": {&agentv1alpha1.Answer{Verdict: agentv1alpha1.Verdict_VERDICT_REFUSED}, 409, "gave no reason"},
		"a newer word":   {&agentv1alpha1.Answer{Verdict: 99, Detail: "perhaps"}, 502, "perhaps"},
	} {
		t.Run(name, func(t *testing.T) {
			host, _ := atNoon()
			status, body := ask(t, "POST", serve(t, &terse{host, test.answer})+RetirePath, "")
			if status != test.status || !strings.Contains(body, test.says) {
				t.Errorf("%d %s, want %d and %q", status, body, test.status, test.says)
			}
		})
	}
}

func TestAPlayerIsSentToAServerOrAGroup(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"to a group":     {`{"player": "Ada", "to": "arena"}`, 200, `{"player":"Ada","to":"arena"}`},
		"to a server":    {`{"player": "b50ad385-829d-3141-a216-7e7d7539ba7f", "to": "arena-k3q9"}`, 200, `"to":"arena-k3q9"`},
		"where they are": {`{"player": "Ada", "to": "lobby-ab2c"}`, 409, "is on lobby-ab2c already"},
		"to nowhere":     {`{"player": "Ada", "to": "skywars"}`, 404, `no group \"skywars\"`},
		"nobody":         {`{"player": "", "to": "arena"}`, 400, "player is the name or UUID"},
		"no player":      {`{"to": "arena"}`, 400, "player is missing"},
		"to nothing":     {`{"player": "Ada", "to": ""}`, 400, "to the name of a server or group"},
		"without to":     {`{"player": "Ada"}`, 400, "to is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			host, _ := atNoon()
			status, body := ask(t, "POST", serve(t, host)+ConnectPath, test.body)
			if status != test.status || !strings.Contains(body, test.says) {
				t.Errorf("%d %s, want %d and %q", status, body, test.status, test.says)
			}
		})
	}
}

func TestAPlayerIsNamedByUUIDWhereTheTextIsOne(t *testing.T) {
	byID := Move{Player: "b50ad385-829d-3141-a216-7e7d7539ba7f"}.player()
	if len(byID.GetUuid()) != 16 || byID.GetName() != "" {
		t.Errorf("by UUID: %v", byID)
	}
	if byName := (Move{Player: "Ada"}).player(); byName.GetName() != "Ada" || byName.GetUuid() != nil {
		t.Errorf("by name: %v", byName)
	}
}
