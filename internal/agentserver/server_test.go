// SPDX-License-Identifier: Apache-2.0

package agentserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agentauth"
	"github.com/spawnery/spawnery-operator/internal/certs"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

const namespace = "spawnery-system"

// fixture is a manager's end of the channel on a loopback port. Tokens are
// "<account>/<pod UID>"; anything else is refused by the API server.
type fixture struct {
	*testing.T
	clientset *fake.Clientset
	store     *sessions.Store
	server    *Server
	authority *certs.Authority
	address   string
	reviews   atomic.Int32
	// unseen names pods that the caches do not show.
	unseen sync.Map
}

func newFixture(t *testing.T, limits Limits, clk clock.WithTicker) *fixture {
	t.Helper()
	f := &fixture{T: t, clientset: fake.NewClientset()}
	f.clientset.PrependReactor("create", "tokenreviews", f.review)
	f.authority = certs.New(certs.Config{
		Secrets: f.clientset.CoreV1().Secrets(namespace),
		Service: ServiceName, Namespace: namespace, Clock: clk,
	})
	if err := f.authority.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.store = sessions.New(sessions.Config{Version: "test", Clock: clk})
	f.server = New(Config{
		Authenticator: agentauth.New(agentauth.Config{Reviews: f.clientset.AuthenticationV1().TokenReviews(), Clock: clk}),
		Pods:          f, Store: f.store, Certificate: f.authority.Certificate, Clock: clk, Limits: limits,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return f
}

func (f *fixture) review(action clienttesting.Action) (bool, runtime.Object, error) {
	f.reviews.Add(1)
	create, ok := action.(clienttesting.CreateAction)
	if !ok {
		return true, nil, fmt.Errorf("unexpected %T", action)
	}
	review, ok := create.GetObject().DeepCopyObject().(*authenticationv1.TokenReview)
	if !ok {
		return true, nil, fmt.Errorf("unexpected %T", create.GetObject())
	}
	account, uid, ok := strings.Cut(review.Spec.Token, "/")
	if ok {
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{agentauth.Audience},
			User: authenticationv1.UserInfo{
				Username: "system:serviceaccount:minecraft:" + account,
				Extra: map[string]authenticationv1.ExtraValue{
					"authentication.kubernetes.io/pod-name": {"pod-" + uid},
					"authentication.kubernetes.io/pod-uid":  {uid},
				},
			},
		}
	}
	return true, review, nil
}

func (f *fixture) seen(pod agentauth.Identity) error {
	if _, unseen := f.unseen.Load(pod.UID); unseen {
		return errors.New("no Server names this pod")
	}
	return nil
}

func (f *fixture) ResolveServer(_ context.Context, pod agentauth.Identity) (sessions.ServerPod, error) {
	return sessions.ServerPod{
		UID: pod.UID, Server: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Pod},
		Group: "lobby", Network: "production",
	}, f.seen(pod)
}

func (f *fixture) ResolveProxy(_ context.Context, pod agentauth.Identity) (sessions.ProxyPod, error) {
	return sessions.ProxyPod{
		UID: pod.UID, Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Pod},
		Group: "front", Network: "production",
	}, f.seen(pod)
}

func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			f.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (f *fixture) tls() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.authority.Bundle())
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: ServiceName + "." + namespace + ".svc", NextProtos: []string{"h2"}}
}

// dial connects as a program that is not ours.
func (f *fixture) dial() agentv1alpha1.ChannelClient {
	f.Helper()
	conn, err := grpc.NewClient("passthrough:///"+f.address, grpc.WithTransportCredentials(credentials.NewTLS(f.tls())),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: time.Minute}))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	return agentv1alpha1.NewChannelClient(conn)
}

func withToken(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func serverHello() *agentv1alpha1.ServerMessage {
	return &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Hello{Hello: &agentv1alpha1.Hello{Version: "1"}}}
}

func proxyHello() *agentv1alpha1.ProxyMessage {
	return &agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Hello{Hello: &agentv1alpha1.Hello{Version: "1"}}}
}

// openServer greets with a token and returns the first answer's error.
func (f *fixture) openServer(ctx context.Context, client agentv1alpha1.ChannelClient, token string) error {
	f.Helper()
	stream, err := client.ServerSession(withToken(ctx, token))
	if err != nil {
		return err
	}
	_ = stream.Send(serverHello())
	first, err := stream.Recv()
	if err == nil && first.GetWelcome() == nil {
		f.Errorf("the first order is %v", first)
	}
	return err
}

func TestWhoMayOpenASession(t *testing.T) {
	tests := map[string]struct {
		token string
		proxy bool
		want  codes.Code
	}{
		"an agent":                             {token: "spawnery-server/a", want: codes.OK},
		"a proxy":                              {token: "spawnery-proxy/b", proxy: true, want: codes.OK},
		"an agent that poses as a proxy":       {token: "spawnery-server/a", proxy: true, want: codes.PermissionDenied},
		"a proxy that poses as an agent":       {token: "spawnery-proxy/b", want: codes.PermissionDenied},
		"another ServiceAccount":               {token: "default/a", want: codes.Unauthenticated},
		"somebody without a token":             {token: "", want: codes.Unauthenticated},
		"somebody with an invented token":      {token: "invented", want: codes.Unauthenticated},
		"a pod that the cache does not show":   {token: "spawnery-server/unseen", want: codes.Unavailable},
		"a proxy that the cache does not show": {token: "spawnery-proxy/unseen", proxy: true, want: codes.Unavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Limits{}, clock.RealClock{})
			f.unseen.Store(types.UID("unseen"), true)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var err error
			if test.proxy {
				stream, opening := f.dial().ProxySession(withToken(ctx, test.token))
				if opening != nil {
					t.Fatal(opening)
				}
				_ = stream.Send(proxyHello())
				_, err = stream.Recv()
			} else {
				err = f.openServer(ctx, f.dial(), test.token)
			}
			if got := status.Code(err); got != test.want {
				t.Errorf("code = %v (%v), want %v", got, err, test.want)
			}
		})
	}
}

func TestTheProtocolIsKept(t *testing.T) {
	report := &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: &agentv1alpha1.ServerReport{}}}
	tests := map[string][]*agentv1alpha1.ServerMessage{
		"a session begins with a hello": {report},
		"a session holds one hello":     {serverHello(), serverHello()},
	}
	for name, messages := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Limits{}, clock.RealClock{})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			stream, err := f.dial().ServerSession(withToken(ctx, "spawnery-server/a"))
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range messages {
				_ = stream.Send(message)
			}
			for err == nil {
				_, err = stream.Recv()
			}
			if got := status.Code(err); got != codes.InvalidArgument {
				t.Errorf("code = %v (%v)", got, err)
			}
		})
	}
}

func TestAMessageOutOfAllProportionEndsTheSession(t *testing.T) {
	f := newFixture(t, Limits{}, clock.RealClock{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stream, err := f.dial().ServerSession(withToken(ctx, "spawnery-server/a"))
	if err != nil {
		t.Fatal(err)
	}
	large := &agentv1alpha1.ServerReport{Detail: strings.Repeat("x", largestMessage)}
	for _, message := range []*agentv1alpha1.ServerMessage{serverHello(), {Message: &agentv1alpha1.ServerMessage_Report{Report: large}}} {
		_ = stream.Send(message)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.ResourceExhausted || f.store.Server("a").Report != nil {
		t.Errorf("the session ended with %v, and %v was taken in", err, f.store.Server("a").Report)
	}
}

func TestASilentStreamEndsWithoutAHello(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	f := newFixture(t, Limits{}, clk)
	stream, err := f.dial().ServerSession(withToken(t.Context(), "spawnery-server/a"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := stream.Recv()
		ended <- err
	}()
	f.eventually("the end of the stream", func() bool {
		clk.Step(time.Second)
		select {
		case err := <-ended:
			if status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("the stream ended with %v", err)
			}
			return true
		default:
			return false
		}
	})
}

func TestUnprovenConnectionsAreLimitedAndDropped(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	f := newFixture(t, Limits{Unproven: 3}, clk)
	idle := make([]net.Conn, 3)
	for i := range idle {
		conn, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		idle[i] = conn
	}
	f.eventually("three connections", func() bool { return f.total().all == 3 })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.openServer(ctx, f.dial(), "spawnery-server/a"); status.Code(err) != codes.Unavailable {
		t.Fatalf("a fourth connection: %v, want it to be closed", err)
	}
	f.eventually("the idle ones to be dropped", func() bool {
		clk.Step(time.Second)
		return f.total().all == 0
	})
	for _, conn := range idle {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("an idle connection still stands: %v", err)
		}
	}
	if err := f.openServer(ctx, f.dial(), "spawnery-server/a"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if got := f.total(); got != (count{all: 1}) {
		t.Errorf("counted %+v, want one proven connection", got)
	}
}

func (f *fixture) total() count {
	f.server.guard.mu.Lock()
	defer f.server.guard.mu.Unlock()
	return f.server.guard.total
}

func TestAConnectionThatGuessesTokensIsClosed(t *testing.T) {
	f := newFixture(t, Limits{}, clock.RealClock{})
	raw, err := tls.Dial("tcp", f.address, f.tls())
	if err != nil {
		t.Fatal(err)
	}
	dialled := false
	conn, err := grpc.NewClient("passthrough:///guess", grpc.WithTransportCredentials(plainOver{}),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if dialled {
				return nil, errors.New("the connection was closed")
			}
			dialled = true
			return raw, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := agentv1alpha1.NewChannelClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range 10 {
		err := f.openServer(ctx, client, fmt.Sprintf("guess-%d", i))
		if status.Code(err) == codes.Unavailable {
			if got := f.reviews.Load(); got > 3 {
				t.Errorf("%d guesses were reviewed", got)
			}
			return
		}
	}
	t.Error("ten guesses on one connection were answered")
}

// plainOver hands a connection that is TLS already to gRPC as it is.
type plainOver struct {
	credentials.TransportCredentials
}

func (plainOver) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, credentials.TLSInfo{CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

func (plainOver) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (p plainOver) Clone() credentials.TransportCredentials { return p }

func (plainOver) OverrideServerName(string) error { return nil }

func TestAPodThatOpensTooOftenIsRefused(t *testing.T) {
	f := newFixture(t, Limits{SessionBurst: 3}, clocktesting.NewFakeClock(time.Now()))
	client := f.dial()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range 3 {
		if err := f.openServer(ctx, client, "spawnery-server/a"); err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
	}
	if err := f.openServer(ctx, client, "spawnery-server/a"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one session too many: %v", err)
	}
	if err := f.openServer(ctx, client, "spawnery-server/b"); err != nil {
		t.Errorf("another pod: %v", err)
	}
}

func TestASlowConsumerIsCut(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	f := newFixture(t, Limits{}, clk)
	stream, err := f.dial().ProxySession(withToken(t.Context(), "spawnery-proxy/a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(proxyHello()); err != nil {
		t.Fatal(err)
	}
	f.eventually("the session", func() bool { return f.store.Proxy("a").Connected })
	// The proxy goes on reporting but reads nothing; each directory is larger
	// than what the transport buffers.
	stop := make(chan struct{})
	var reporting sync.WaitGroup
	defer reporting.Wait()
	defer close(stop)
	reporting.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				_ = stream.Send(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Report{Report: &agentv1alpha1.ProxyReport{}}})
			}
		}
	})
	size := int32(0)
	f.eventually("the session to be cut", func() bool {
		size++
		f.store.SetDirectory(types.NamespacedName{Namespace: "minecraft", Name: "production"}, sessions.Directory{
			Servers: []*agentv1alpha1.DirectoryServer{{Name: "lobby-a", Slots: size, Phase: strings.Repeat("x", 256<<10)}},
		})
		clk.Step(time.Second)
		return !f.store.Proxy("a").Connected
	})
	for err == nil {
		_, err = stream.Recv()
	}
	if !strings.Contains(err.Error(), "an order was not taken") {
		t.Errorf("the session ended with %v", err)
	}
}

// agent runs the client that agents and proxies run, against the fixture.
func (f *fixture) agent(ctx context.Context, token string, peer channelclient.ServerPeer) {
	f.Helper()
	dir := f.TempDir()
	for name, content := range map[string]string{
		"endpoint": f.address, "ca.crt": string(f.authority.Bundle()),
		"serverName": ServiceName + "." + namespace + ".svc", "token": token,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	_ = channelclient.RunServer(ctx, channelclient.Config{
		Directory: dir, TokenFile: filepath.Join(dir, "token"), Clock: clock.RealClock{},
	}, peer)
}

func TestAnAgentReportsAndTakesOrders(t *testing.T) {
	f := newFixture(t, Limits{}, clock.RealClock{})
	settings := &agentv1alpha1.ServerSettings{Server: "pod-a", MaxPlayers: 20}
	f.store.SetServerSettings("a", settings)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var got atomic.Pointer[agentv1alpha1.ServerSettings]
	running.Go(func() {
		f.agent(ctx, "spawnery-server/a", channelclient.ServerPeer{
			Report: func() *agentv1alpha1.ServerMessage {
				return &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: &agentv1alpha1.ServerReport{Online: 3}}}
			},
			OnOrder: func(_ context.Context, order *agentv1alpha1.ServerOrder, answer func(*agentv1alpha1.ServerMessage)) {
				if order.GetSettings() != nil {
					got.Store(order.GetSettings())
				}
				if save := order.GetSave(); save != nil {
					answer(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{SaveResult: &agentv1alpha1.SaveResult{Id: save.GetId()}}})
				}
			},
		})
	})
	f.eventually("the report", func() bool { return f.store.Server("a").Report.GetOnline() == 3 })
	f.eventually("the settings", func() bool { return got.Load().GetMaxPlayers() == 20 })
	if err := f.store.Save(ctx, "a"); err != nil {
		t.Errorf("saving: %v", err)
	}
	if state := f.store.Server("a"); state.Pod.Server.Name != "pod-a" || !state.Connected {
		t.Errorf("state = %+v", state)
	}
}

// TestAThousandAgentsBehindOneAddressComeAtOnce is a node's or a network's
// fleet that lost its manager: nobody is told to wait.
func TestAThousandAgentsBehindOneAddressComeAtOnce(t *testing.T) {
	const fleet = 1000
	// How many is what counts here: a machine of two cores that looks for races
	// meanwhile takes its time for so many handshakes.
	f := newFixture(t, Limits{HandshakeWithin: time.Minute, ProveWithin: time.Minute}, clock.RealClock{})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin := make(chan struct{})
	var opening sync.WaitGroup
	var refused atomic.Int32
	for i := range fleet {
		client := f.dial()
		opening.Go(func() {
			<-begin
			if err := f.openServer(ctx, client, fmt.Sprintf("spawnery-server/%d", i)); err != nil {
				if refused.Add(1) == 1 {
					t.Errorf("agent %d was refused: %v", i, err)
				}
			}
		})
	}
	started := time.Now()
	close(begin)
	opening.Wait()
	t.Logf("%d of %d sessions stand after %s", fleet-refused.Load(), fleet, time.Since(started))
	for i := range fleet {
		if !f.store.Server(types.UID(strconv.Itoa(i))).Connected {
			t.Fatalf("agent %d is not connected", i)
		}
	}
	if got := f.total(); got != (count{all: fleet}) {
		t.Errorf("counted %+v", got)
	}
}
