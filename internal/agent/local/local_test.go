// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// stubborn refuses every wish.
type stubborn struct{ *Invented }

func (*stubborn) Wish(func(*Wishes)) error { return errors.New("no room to keep it") }

func serve(t *testing.T, host Agent) string {
	t.Helper()
	server := httptest.NewServer(NewServer(t.Context(), host, clock.RealClock{}).Handler)
	t.Cleanup(server.Close)
	return server.URL
}

func invented() *Invented {
	return NewInvented("lobby-ab2c", "lobby", 24, 12, clock.RealClock{}, func(Self) {})
}

// ask sends a request and returns its status and body.
func ask(t *testing.T, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(content))
}

func self(t *testing.T, body string) Self {
	t.Helper()
	var self Self
	if err := json.Unmarshal([]byte(body), &self); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return self
}

func TestAPluginSetsItsSeatsAndTakesThemBack(t *testing.T) {
	base := serve(t, invented())
	for _, step := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", SelfPath, "", 12},
		{"PUT", PlayableSlotsPath, `{"playableSlots": 8}`, 8},
		{"PUT", PlayableSlotsPath, `{"playableSlots": 99}`, 24},
		{"DELETE", PlayableSlotsPath, "", 12},
		{"DELETE", PlayableSlotsPath, "", 12},
	} {
		status, body := ask(t, step.method, base+step.path, step.body)
		if got := self(t, body).PlayableSlots; status != http.StatusOK || got != step.want {
			t.Errorf("%s %s %s: %d, %d playable seats, want %d", step.method, step.path, step.body, status, got, step.want)
		}
	}
}

func TestAPluginClosesAndOpensTheDoor(t *testing.T) {
	base := serve(t, invented())
	for _, joins := range []Joins{Closed, Open} {
		status, body := ask(t, "PUT", base+JoinsPath, `{"joins": "`+string(joins)+`"}`)
		if got := self(t, body).Joins; status != http.StatusOK || got != joins {
			t.Errorf("%d, joins %s, want %s", status, got, joins)
		}
	}
}

func TestARoundEndsOnceAndAnOpenDoorTakesItBack(t *testing.T) {
	base := serve(t, invented())
	for _, step := range []struct {
		method, path, body string
		want               Wishes
	}{
		{"POST", RoundEndPath, "", Wishes{Joins: Closed, RoundEnded: true}},
		{"POST", RoundEndPath, "", Wishes{Joins: Closed, RoundEnded: true}},
		{"PUT", JoinsPath, `{"joins": "Closed"}`, Wishes{Joins: Closed, RoundEnded: true}},
		{"PUT", JoinsPath, `{"joins": "Open"}`, Wishes{Joins: Open}},
		{"PUT", JoinsPath, `{"joins": "Closed"}`, Wishes{Joins: Closed}},
	} {
		status, body := ask(t, step.method, base+step.path, step.body)
		if got := self(t, body).Wishes; status != http.StatusOK || got != step.want {
			t.Errorf("%s %s %s: %d, %+v, want %+v", step.method, step.path, step.body, status, got, step.want)
		}
	}
}

func TestNoRoundEndsWhereGamesAreStartedAgain(t *testing.T) {
	host := invented()
	host.self.Ordinal = new(int32(0))
	status, body := ask(t, "POST", serve(t, host)+RoundEndPath, "")
	if status != http.StatusConflict || !strings.Contains(body, "no round of lobby-ab2c ends: it is of a persistent group") {
		t.Errorf("%d %s", status, body)
	}
	if after, _ := host.Self(); after.Wishes != (Wishes{}) {
		t.Errorf("it changed something: %+v", after.Wishes)
	}
}

func TestWhatIsRefusedSaysWhatWouldBeRight(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		says               string
	}{
		"no seats":           {"PUT", PlayableSlotsPath, `{"playableSlots": 0}`, nil, 400, "has to be at least 1 and at most 2147483647; PUT /v1/joins"},
		"no field":           {"PUT", PlayableSlotsPath, `{}`, nil, 400, `playableSlots is missing; send a body such as {\"playableSlots\": 12}`},
		"an empty field":     {"PUT", PlayableSlotsPath, `{"playableSlots": null}`, nil, 400, "playableSlots is missing"},
		"countless seats":    {"PUT", PlayableSlotsPath, `{"playableSlots": 2147483648}`, nil, 400, "at most 2147483647"},
		"a boundless number": {"PUT", PlayableSlotsPath, `{"playableSlots": 99999999999999999999}`, nil, 400, "is the number 99999999999999999999 and has to be a whole number, at most 2147483647"},
		"half a seat":        {"PUT", PlayableSlotsPath, `{"playableSlots": 1.5}`, nil, 400, "playableSlots is the number 1.5 and has to be a whole number"},
		"a text":             {"PUT", PlayableSlotsPath, `{"playableSlots": "12"}`, nil, 400, "playableSlots is a string and has to be a whole number"},
		"a misspelt field":   {"PUT", PlayableSlotsPath, `{"playableslot": 3}`, nil, 400, `there is no field \"playableslot\", only playableSlots; send a body such as`},
		"another case":       {"PUT", PlayableSlotsPath, `{"PlayableSlots": 3}`, nil, 400, `there is no field \"PlayableSlots\", only playableSlots`},
		"a field twice":      {"PUT", PlayableSlotsPath, `{"playableSlots": 3, "playableSlots": 4}`, nil, 400, "playableSlots is there twice"},
		"no body":            {"PUT", JoinsPath, ``, nil, 400, `the body is empty; send a body such as {\"joins\": \"Closed\"}`},
		"a list":             {"PUT", JoinsPath, `["Closed"]`, nil, 400, "the body is an array and has to be an object"},
		"nothing":            {"PUT", JoinsPath, `null`, nil, 400, "null in the place of an object"},
		"half a body":        {"PUT", JoinsPath, `{"joins":`, nil, 400, "the body is no JSON: unexpected EOF"},
		"two objects":        {"PUT", JoinsPath, `{"joins":"Open"}{"joins":"Closed"}`, nil, 400, "more than one object"},
		"a bracket more":     {"PUT", JoinsPath, `{"joins":"Open"}]`, nil, 400, "more than one object"},
		"no JSON":            {"PUT", JoinsPath, `closed`, nil, 400, "the body is no JSON: invalid character"},
		"a long body":        {"PUT", JoinsPath, `{"joins":"` + strings.Repeat("x", maxBody) + `"}`, nil, 400, "the body is too large, and may have 4096 bytes"},
		"a deep body":        {"PUT", PlayersPath, strings.Repeat("[", 20000), nil, 400, "exceeded max depth"},
		"another door":       {"PUT", JoinsPath, `{"joins": "Ajar"}`, nil, 400, `joins is \"Ajar\" and has to be Open or Closed`},
		"a form":             {"PUT", JoinsPath, `joins=Open`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		"a web page":         {"GET", SelfPath, "", []string{"Origin", "https://example.test"}, 403, "not for web pages"},
		"a name that points": {"GET", SelfPath, "", []string{"Host", "rebound.example.test"}, 403, "under 127.0.0.1 or localhost"},
		"another path":       {"GET", "/v2/self", "", nil, 404, "there is no GET /v2/self"},
		"another method":     {"POST", SelfPath, "{}", nil, 405, "there is no POST /v1/self, only GET"},
	} {
		t.Run(name, func(t *testing.T) {
			host := invented()
			before, _ := host.Self()
			status, body := ask(t, test.method, serve(t, host)+test.path, test.body, test.headers...)
			if status != test.status || !strings.Contains(body, test.says) {
				t.Errorf("%d %s, want %d and %q", status, body, test.status, test.says)
			}
			if after, _ := host.Self(); !gocmp.Equal(before, after) {
				t.Errorf("it changed something: %s", gocmp.Diff(before, after))
			}
		})
	}
}

func TestAnotherMethodIsToldWhichThereAre(t *testing.T) {
	server := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "http://localhost"+BoostsPath, nil)
	NewServer(t.Context(), invented(), clock.RealClock{}).Handler.ServeHTTP(server, request)
	if allow := server.Header().Get("Allow"); server.Code != http.StatusMethodNotAllowed || allow != "POST, GET, HEAD" {
		t.Errorf("%d, Allow: %s", server.Code, allow)
	}
}

func TestAWishThatCannotBeKeptFails(t *testing.T) {
	status, body := ask(t, "PUT", serve(t, &stubborn{invented()})+JoinsPath, `{"joins": "Closed"}`)
	if status != http.StatusInternalServerError || !strings.Contains(body, "no room to keep it") {
		t.Errorf("%d %s", status, body)
	}
}

func TestEventsTellTheServerAtOnceAndWhenItChanges(t *testing.T) {
	host := invented()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, serve(t, host)+EventsPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	next := func() Self {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return self(t, data)
			}
		}
		t.Fatalf("the stream has ended: %v", lines.Err())
		return Self{}
	}
	if got := next().Joins; got != Open {
		t.Errorf("at once: joins %s", got)
	}
	for _, change := range []func(*Wishes){
		func(*Wishes) {}, // nothing changes, and nothing is told
		func(w *Wishes) { w.Joins = Closed },
	} {
		if err := host.Wish(change); err != nil {
			t.Fatal(err)
		}
	}
	if got := next().Joins; got != Closed {
		t.Errorf("after the change: joins %s", got)
	}
}

func TestWishesAreKeptWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	none, err := ReadWishes(dir)
	if err != nil || !gocmp.Equal(none, Kept{}) {
		t.Errorf("of nothing: %v, %v", none, err)
	}
	seats := 7
	kept := Kept{Wishes: Wishes{PlayableSlots: &seats, Joins: Closed}, Game: "71"}
	if err := KeepWishes(dir, kept); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadWishes(dir); err != nil || !gocmp.Equal(again, kept) {
		t.Errorf("%v, %v, want %v", again, err, kept)
	}
	if err := KeepWishes(filepath.Join(dir, "missing"), kept); err == nil {
		t.Error("nothing was kept, and nobody was told")
	}
	if err := os.WriteFile(filepath.Join(dir, wishesFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadWishes(dir); err == nil {
		t.Error("a file that cannot be read passes for no wishes")
	}
}

var (
	curl = regexp.MustCompile(`(?s)^curl -s (?:-X (\w+) )?http://127\.0\.0\.1:9358(\S+)(.*)$`)
	data = regexp.MustCompile(`-d '([^']*)'`)
)

func TestTheCommandsOfTheHowTosWorkAsWritten(t *testing.T) {
	base := serve(t, invented())
	for page, commands := range map[string]int{"set-seats-from-a-plugin": 7, "ask-the-network-from-a-plugin": 5} {
		if worked := typeCommands(t, base, page); worked != commands {
			t.Errorf("%s: %d commands were typed, want %d", page, worked, commands)
		}
	}
	_, said := ask(t, "GET", base+SelfPath, "")
	if last := self(t, said); last.Joins != Open || last.Wishes.PlayableSlots != nil {
		t.Errorf("in the end the server is %+v", last)
	}
}

// typeCommands types the commands of a page, and counts them.
func typeCommands(t *testing.T, base, name string) int {
	t.Helper()
	page, err := os.ReadFile("../../../docs/how-to/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	worked := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(string(page), "\\\n", ""), "\n") {
		typed := curl.FindStringSubmatch(line)
		if typed == nil {
			continue
		}
		body := ""
		if found := data.FindStringSubmatch(typed[3]); found != nil {
			body = found[1]
		}
		if status, said := ask(t, cmp.Or(typed[1], "GET"), base+typed[2], body); status != http.StatusOK {
			t.Errorf("%s: %d %s", line, status, said)
		}
		worked++
	}
	return worked
}
