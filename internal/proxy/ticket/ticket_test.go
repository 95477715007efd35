// SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	home  = netip.MustParseAddr("203.0.113.7")
)

func office(t *testing.T, clk *clocktesting.FakeClock, ledger Ledger, secrets ...string) *Office {
	t.Helper()
	var all [][]byte
	for _, secret := range secrets {
		all = append(all, []byte(secret))
	}
	o, err := NewOffice(all, clk, ledger)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func adas() Ticket {
	return Ticket{
		Profile: mcproto.Profile{ID: uuid.MustParse("069a79f4-44e9-4726-a5be-fca90e38aaf5"), Name: "Ada", Properties: []mcproto.Property{
			{Name: "textures", Value: strings.Repeat("v", 1500), Signature: strings.Repeat("s", 684)},
		}},
		Authentication: permissions.Authenticated, Network: "production", Address: home,
		Server: "lobby-a", Groups: []string{"survival"}, Avoid: []string{"lobby-b"},
		Why: new(mcproto.Plain("no mods here")), Landing: []mcproto.Text{{Translate: "spawnery.fallback", Fallback: "from %s", With: []mcproto.Text{mcproto.Plain("lobby-b")}}},
		Refused: true, Hops: 1, Refusals: 2,
	}
}

func ada() Bearer {
	return Bearer{Name: "Ada", Address: home, Network: "production", Authentication: permissions.Authenticated}
}

func seal(t *testing.T, o *Office, ticket Ticket) []byte {
	t.Helper()
	sealed, err := o.Seal(ticket)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestATicketArrivesAsItWasWritten(t *testing.T) {
	clk := clocktesting.NewFakeClock(start)
	got, err := office(t, clk, nil, "a").Take(t.Context(), seal(t, office(t, clk, nil, "a"), adas()), ada())
	if err != nil {
		t.Fatal(err)
	}
	want := adas()
	want.Expires = start.Add(Life)
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(Ticket{}, "ID"), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyAGoodTicketIsBelieved(t *testing.T) {
	tests := map[string]struct {
		secrets []string
		change  func(*Ticket)
		tamper  func([]byte) []byte
		bearer  func(*Bearer)
		later   time.Duration
		want    error
	}{
		"of this network":                    {},
		"in other letters":                   {bearer: func(b *Bearer) { b.Name = "aDA" }},
		"signed with the secret before":      {secrets: []string{"new", "a"}},
		"signed with both":                   {secrets: []string{"b"}},
		"just before its end":                {later: Life - time.Millisecond},
		"at its end":                         {later: Life, want: ErrExpired},
		"of another secret":                  {secrets: []string{"other"}, want: ErrForged},
		"changed":                            {tamper: func(b []byte) []byte { b[len(b)-2] ^= 1; return b }, want: ErrForged},
		"cut":                                {tamper: func(b []byte) []byte { return b[:20] }, want: ErrForged},
		"empty":                              {tamper: func([]byte) []byte { return nil }, want: ErrForged},
		"without a signature":                {tamper: func(b []byte) []byte { return append([]byte{0}, b[65:]...) }, want: ErrForged},
		"too large":                          {tamper: func(b []byte) []byte { return append(b, make([]byte, MaxBytes)...) }, want: ErrForged},
		"from another address":               {bearer: func(b *Bearer) { b.Address = netip.MustParseAddr("203.0.113.8") }, want: ErrForeign},
		"of another player":                  {bearer: func(b *Bearer) { b.Name = "Eve" }, want: ErrForeign},
		"of another network":                 {bearer: func(b *Bearer) { b.Network = "staging" }, want: ErrForeign},
		"unauthenticated, where all must be": {change: func(t *Ticket) { t.Authentication = permissions.Unauthenticated }, want: ErrForeign},
		"of a name with a UUID not its own": {
			change: func(t *Ticket) { t.Authentication = permissions.Unauthenticated },
			bearer: func(b *Bearer) { b.Authentication = permissions.Unauthenticated }, want: ErrForeign,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(start)
			ticket, bearer := adas(), ada()
			if tt.change != nil {
				tt.change(&ticket)
			}
			sealed := seal(t, office(t, clk, nil, "a", "b"), ticket)
			if tt.tamper != nil {
				sealed = tt.tamper(sealed)
			}
			if tt.bearer != nil {
				tt.bearer(&bearer)
			}
			if tt.secrets == nil {
				tt.secrets = []string{"a", "b"}
			}
			clk.Step(tt.later)
			if _, err := office(t, clk, nil, tt.secrets...).Take(t.Context(), sealed, bearer); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// book is a ledger of a manager.
type book struct {
	taken map[uuid.UUID]bool
	err   error
}

func (b *book) Enter(_ context.Context, id uuid.UUID) (bool, error) {
	if b.err != nil {
		return false, b.err
	}
	first := !b.taken[id]
	b.taken[id] = true
	return first, nil
}

func TestATicketIsTakenOnce(t *testing.T) {
	clk := clocktesting.NewFakeClock(start)
	manager := &book{taken: map[uuid.UUID]bool{}}
	one, two := office(t, clk, manager, "a"), office(t, clk, manager, "a")
	sealed := seal(t, one, adas())
	if _, err := one.Take(t.Context(), sealed, ada()); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*Office{"the same proxy": one, "another proxy": two} {
		if _, err := o.Take(t.Context(), sealed, ada()); !errors.Is(err, ErrUsed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	manager.err = errors.New("no manager")
	again := seal(t, one, adas())
	if _, err := one.Take(t.Context(), again, ada()); err != nil {
		t.Errorf("without a manager: %v", err)
	}
	if _, err := one.Take(t.Context(), again, ada()); !errors.Is(err, ErrUsed) {
		t.Errorf("without a manager, again: %v", err)
	}
	clk.Step(Life)
	if _, err := one.Take(t.Context(), seal(t, one, adas()), ada()); err != nil {
		t.Fatal(err)
	}
	if len(one.used) != 1 {
		t.Errorf("%d tickets are remembered, of which one may still be used", len(one.used))
	}
}

func TestATicketThatIsTooLongTellsLessAndKeepsThePlayer(t *testing.T) {
	clk := clocktesting.NewFakeClock(start)
	o := office(t, clk, nil, "a")
	long := adas()
	long.Why = new(mcproto.Plain(strings.Repeat("w", 8000)))
	for range 20 {
		long.Landing = append(long.Landing, mcproto.Plain(strings.Repeat("é", 1000)))
	}
	long.Landing = append(long.Landing, mcproto.Plain("the last word"))
	sealed := seal(t, o, long)
	if len(sealed) > MaxBytes {
		t.Fatalf("%d bytes", len(sealed))
	}
	got, err := o.Take(t.Context(), sealed, ada())
	if err != nil {
		t.Fatal(err)
	}
	if last := got.Landing[len(got.Landing)-1].String(); last != "the last word" || len(got.Profile.Properties) != 1 || got.Server != "lobby-a" {
		t.Errorf("got %+v", got)
	}
	long.Profile.Properties[0].Value = strings.Repeat("v", MaxBytes)
	if _, err := o.Seal(long); err == nil {
		t.Error("a profile that fits into no cookie was sealed")
	}
}

func FuzzTake(f *testing.F) {
	clk := clocktesting.NewFakeClock(start)
	o, err := NewOffice([][]byte{[]byte("a")}, clk, nil)
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := o.Seal(adas())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed[1:])
	f.Add([]byte{4, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := o.Take(t.Context(), data, ada()); err == nil {
			t.Errorf("%d bytes made up by somebody were believed: %+v", len(data), got)
		}
	})
}
