// SPDX-License-Identifier: Apache-2.0

package agentauth

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

func good() authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{
		Authenticated: true,
		Audiences:     []string{Audience},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:minecraft:spawnery-server",
			Extra: map[string]authenticationv1.ExtraValue{
				podNameExtra: {"lobby-a"},
				podUIDExtra:  {"1234"},
			},
		},
	}
}

// api answers reviews, and counts them.
type api struct {
	asked  atomic.Int32
	answer func(token string) (authenticationv1.TokenReviewStatus, error)
}

func newAuthenticator(t *testing.T, a *api, clk *clocktesting.FakeClock) *Authenticator {
	t.Helper()
	clientset := fake.NewClientset()
	clientset.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		if !ok {
			t.Errorf("unexpected %T", action)
			return false, nil, nil
		}
		review, ok := create.GetObject().DeepCopyObject().(*authenticationv1.TokenReview)
		if !ok || !cmp.Equal(review.Spec.Audiences, []string{Audience}) {
			t.Errorf("unexpected review %v", create.GetObject())
		}
		a.asked.Add(1)
		status, err := a.answer(review.Spec.Token)
		review.Status = status
		return true, review, err
	})
	return New(Config{Reviews: clientset.AuthenticationV1().TokenReviews(), Clock: clk, MissesPerSecond: 1, MissBurst: 5})
}

func TestOnlyPodBoundTokensOfOurAccountsAreTaken(t *testing.T) {
	tests := map[string]struct {
		change func(*authenticationv1.TokenReviewStatus)
		want   Identity
	}{
		"a server's token": {
			change: func(*authenticationv1.TokenReviewStatus) {},
			want:   Identity{Role: RoleServer, Namespace: "minecraft", Pod: "lobby-a", UID: "1234"},
		},
		"a proxy's token": {
			change: func(s *authenticationv1.TokenReviewStatus) {
				s.User.Username = "system:serviceaccount:minecraft:spawnery-proxy"
			},
			want: Identity{Role: RoleProxy, Namespace: "minecraft", Pod: "lobby-a", UID: "1234"},
		},
		"an unknown token":          {change: func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }},
		"a token with an error":     {change: func(s *authenticationv1.TokenReviewStatus) { s.Error = "expired" }},
		"a token for somebody else": {change: func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"https://kubernetes.default.svc"} }},
		"another account": {change: func(s *authenticationv1.TokenReviewStatus) {
			s.User.Username = "system:serviceaccount:minecraft:default"
		}},
		"a person":                    {change: func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "spawnery-server" }},
		"an account's name too short": {change: func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "system:serviceaccount:spawnery-server" }},
		"a token bound to nothing":    {change: func(s *authenticationv1.TokenReviewStatus) { s.User.Extra = nil }},
		"a token of two pods": {change: func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra[podUIDExtra] = authenticationv1.ExtraValue{"1", "2"}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := &api{answer: func(string) (authenticationv1.TokenReviewStatus, error) {
				status := good()
				test.change(&status)
				return status, nil
			}}
			got, err := newAuthenticator(t, a, clocktesting.NewFakeClock(time.Now())).Authenticate(t.Context(), "token")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
			if refused := test.want == (Identity{}); refused != errors.Is(err, ErrRefused) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestAnswersAreRememberedForTheirTime(t *testing.T) {
	tests := map[string]struct {
		status authenticationv1.TokenReviewStatus
		lasts  time.Duration
	}{
		"a good token": {status: good(), lasts: time.Minute},
		"a bad token":  {status: authenticationv1.TokenReviewStatus{}, lasts: 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := &api{answer: func(string) (authenticationv1.TokenReviewStatus, error) { return test.status, nil }}
			clk := clocktesting.NewFakeClock(time.Now())
			authenticator := newAuthenticator(t, a, clk)
			ask := func(want int32) {
				t.Helper()
				first, err := authenticator.Authenticate(t.Context(), "token")
				if again, err2 := authenticator.Authenticate(t.Context(), "token"); again != first || !errors.Is(err2, err) {
					t.Errorf("the second answer %v, %v differs from %v, %v", again, err2, first, err)
				}
				if got := a.asked.Load(); got != want {
					t.Errorf("the API server was asked %d times, want %d", got, want)
				}
			}
			ask(1)
			clk.Step(test.lasts - time.Millisecond)
			ask(1)
			clk.Step(time.Millisecond)
			ask(2)
		})
	}
}

func TestThatTheAPIServerFailedIsNotRemembered(t *testing.T) {
	fails := true
	a := &api{answer: func(string) (authenticationv1.TokenReviewStatus, error) {
		if fails {
			return authenticationv1.TokenReviewStatus{}, errors.New("no leader in etcd")
		}
		return good(), nil
	}}
	authenticator := newAuthenticator(t, a, clocktesting.NewFakeClock(time.Now()))
	if _, err := authenticator.Authenticate(t.Context(), "token"); !errors.Is(err, ErrBusy) {
		t.Errorf("error = %v, want busy", err)
	}
	fails = false
	if _, err := authenticator.Authenticate(t.Context(), "token"); err != nil {
		t.Errorf("error = %v", err)
	}
}

func TestCallersWithOneTokenShareOneQuestion(t *testing.T) {
	release := make(chan struct{})
	a := &api{answer: func(string) (authenticationv1.TokenReviewStatus, error) {
		<-release
		return good(), nil
	}}
	authenticator := newAuthenticator(t, a, clocktesting.NewFakeClock(time.Now()))
	impatient, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() {
		if _, err := authenticator.Authenticate(impatient, "token"); !errors.Is(err, ErrBusy) {
			t.Errorf("the caller who left got %v", err)
		}
	})
	for a.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	for range 50 {
		callers.Go(func() {
			if _, err := authenticator.Authenticate(t.Context(), "token"); err != nil {
				t.Errorf("a caller got %v", err)
			}
		})
	}
	close(release)
	callers.Wait()
	if got := a.asked.Load(); got != 1 {
		t.Errorf("the API server was asked %d times", got)
	}
}

func TestNewTokensAreLimitedAndKnownOnesAreNot(t *testing.T) {
	a := &api{answer: func(string) (authenticationv1.TokenReviewStatus, error) { return good(), nil }}
	clk := clocktesting.NewFakeClock(time.Now())
	authenticator := newAuthenticator(t, a, clk)
	for _, token := range []string{"1", "2", "3", "4", "5"} {
		if _, err := authenticator.Authenticate(t.Context(), token); err != nil {
			t.Fatalf("token %s: %v", token, err)
		}
	}
	if _, err := authenticator.Authenticate(t.Context(), "6"); !errors.Is(err, ErrBusy) {
		t.Errorf("a token past the burst: %v", err)
	}
	if _, err := authenticator.Authenticate(t.Context(), "1"); err != nil {
		t.Errorf("a known token: %v", err)
	}
	clk.Step(time.Second)
	if _, err := authenticator.Authenticate(t.Context(), "6"); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

func TestTokensOfNoUseAskNobody(t *testing.T) {
	a := &api{answer: func(string) (authenticationv1.TokenReviewStatus, error) { return good(), nil }}
	authenticator := newAuthenticator(t, a, clocktesting.NewFakeClock(time.Now()))
	for _, token := range []string{"", string(make([]byte, longestToken+1))} {
		if _, err := authenticator.Authenticate(t.Context(), token); !errors.Is(err, ErrRefused) {
			t.Errorf("a token of %d bytes: %v", len(token), err)
		}
	}
	if got := a.asked.Load(); got != 0 {
		t.Errorf("the API server was asked %d times", got)
	}
}
