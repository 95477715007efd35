// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

type document struct {
	Paths map[string]map[string]struct {
		Responses map[string]any `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type schema struct {
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
	Enum       []string          `json:"enum"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	content, err := os.ReadFile("../../../docs/reference/plugin-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read document
	if err := yaml.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestTheDocumentHoldsExactlyTheOperationsThatAreServed(t *testing.T) {
	var served, described []string
	for _, one := range routes() {
		served = append(served, strings.ToLower(one.method)+" "+one.path)
	}
	for path, methods := range readDocument(t).Paths {
		for method := range methods {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	if diff := gocmp.Diff(served, described); diff != "" {
		t.Errorf("(-served +described):\n%s", diff)
	}
}

func TestTheDocumentHoldsExactlyTheFieldsThatAreSentAndRead(t *testing.T) {
	schemas := readDocument(t).Components.Schemas
	for name, of := range map[string]any{
		"Self": Self{}, "Wishes": Wishes{}, "PlayableSlots": PlayableSlots{}, "JoinsBody": JoinsBody{}, "Failure": Failure{},
		"Roster": Roster{}, "Person": Person{}, "NewBoost": NewBoost{}, "Boost": Boost{}, "Boosts": Boosts{}, "Move": Move{},
		"Network": Network{}, "Group": Group{}, "Server": Server{}, "Proxies": Proxies{},
	} {
		var all, required []string
		kind := reflect.TypeOf(of)
		for sent := range kind.Fields() {
			field, options, _ := strings.Cut(sent.Tag.Get("json"), ",")
			all = append(all, field)
			if options == "" {
				required = append(required, field)
			}
		}
		slices.Sort(all)
		if diff := gocmp.Diff(all, slices.Sorted(maps.Keys(schemas[name].Properties))); diff != "" {
			t.Errorf("%s (-sent +described):\n%s", name, diff)
		}
		if diff := gocmp.Diff(required, schemas[name].Required); diff != "" {
			t.Errorf("%s (-always +required):\n%s", name, diff)
		}
	}
	if diff := gocmp.Diff([]string{string(Starting), string(Ready), string(NotAnswering), string(Stopping)}, schemas["Self"].Properties["state"].Enum); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]string{string(Open), string(Closed)}, schemas["Joins"].Enum); diff != "" {
		t.Error(diff)
	}
}

// unwilling fails in everything that needs the manager, with the same error.
type unwilling struct {
	*Invented
	err error
}

func (h *unwilling) Network(context.Context) (Network, <-chan struct{}, error) {
	return Network{}, nil, h.err
}

func (h *unwilling) Ask(context.Context, *agentv1alpha1.Ask) (*agentv1alpha1.Answer, error) {
	return nil, h.err
}

// refusal is something that is done to every operation.
type refusal struct {
	// of is nil for a host that grants everything.
	of func(*Invented) Agent
	// body replaces a good one.
	body    string
	headers []string
}

// refusals are those of every kind but what a wish itself is refused for.
func refusals() []refusal {
	all := []refusal{
		{headers: []string{"Origin", "https://example.test"}},
		{headers: []string{"Host", "rebound.example.test"}},
		{headers: []string{"Content-Type", "text/plain"}},
		{headers: []string{KeyHeader, "two words"}},
		{body: "[]"},
		{of: func(i *Invented) Agent { return &stubborn{i} }},
	}
	for _, status := range []int{http.StatusNotImplemented, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		all = append(all, refusal{of: func(i *Invented) Agent { return &unwilling{i, &Failed{Status: status}} }})
	}
	for _, verdict := range []agentv1alpha1.Verdict{
		agentv1alpha1.Verdict_VERDICT_MALFORMED, agentv1alpha1.Verdict_VERDICT_TOO_OFTEN, agentv1alpha1.Verdict_VERDICT_FAILED, 99,
	} {
		all = append(all, refusal{of: func(i *Invented) Agent { return &terse{i, &agentv1alpha1.Answer{Verdict: verdict}} }})
	}
	return all
}

func TestTheDocumentHoldsTheStatusesThatAreAnswered(t *testing.T) {
	bodies := map[string]string{
		"PUT " + PlayableSlotsPath: `{"playableSlots": 1}`, "PUT " + JoinsPath: `{"joins": "Open"}`, "PUT " + PlayersPath: `{"players": []}`,
		"POST " + BoostsPath: `{"replicas": 1}`, "POST " + ConnectPath: `{"player": "Ada", "to": "arena"}`,
	}
	paths := readDocument(t).Paths
	for _, one := range routes() {
		answered := map[string]bool{"200": true}
		for _, test := range refusals() {
			answered[tryRefusal(t, one, test, bodies[one.method+" "+one.path])] = true
		}
		described := paths[one.path][strings.ToLower(one.method)].Responses
		for status := range answered {
			if described[status] == nil {
				t.Errorf("%s %s answers %s, which is not described", one.method, one.path, status)
			}
		}
		for status := range described {
			// These two depend on what is wished for.
			if !answered[status] && status != "404" && status != "409" {
				t.Errorf("%s %s is said to answer %s, and does not", one.method, one.path, status)
			}
		}
	}
}

// tryRefusal returns the status of the answer.
func tryRefusal(t *testing.T, to route, test refusal, good string) string {
	t.Helper()
	var host Agent = invented()
	if test.of != nil {
		host = test.of(invented())
	}
	// A stream that is not refused ends at once.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	url := "http://localhost" + strings.ReplaceAll(to.path, "{name}", "one")
	request := httptest.NewRequestWithContext(ctx, to.method, url, strings.NewReader(cmp.Or(test.body, good)))
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(test.headers); i += 2 {
		request.Header.Set(test.headers[i], test.headers[i+1])
		if test.headers[i] == "Host" {
			request.Host = test.headers[i+1]
		}
	}
	response := httptest.NewRecorder()
	NewServer(ctx, host, clock.RealClock{}).Handler.ServeHTTP(response, request)
	return strconv.Itoa(response.Code)
}
