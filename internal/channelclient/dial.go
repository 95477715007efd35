// SPDX-License-Identifier: Apache-2.0

package channelclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// endpoint is where the manager is, as the mounted ConfigMap says right now.
type endpoint struct {
	address   string
	host      string
	certified string
	roots     *x509.CertPool
}

func readEndpoint(directory string) (endpoint, error) {
	content, err := os.ReadFile(filepath.Join(directory, "endpoint"))
	if err != nil {
		return endpoint{}, fmt.Errorf("reading the manager's address: %w", err)
	}
	address := strings.TrimSpace(string(content))
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return endpoint{}, fmt.Errorf("reading the manager's address: %w", err)
	}
	bundle, err := os.ReadFile(filepath.Join(directory, "ca.crt"))
	if err != nil {
		return endpoint{}, fmt.Errorf("reading the manager's CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return endpoint{}, errors.New("reading the manager's CA: ca.crt holds no certificate")
	}
	name, err := os.ReadFile(filepath.Join(directory, "serverName"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return endpoint{}, fmt.Errorf("reading the name of the manager's certificate: %w", err)
	}
	return endpoint{
		address: address, host: host, roots: roots,
		certified: cmp.Or(strings.TrimSpace(string(name)), host),
	}, nil
}

// dial prepares a connection of its own for one session: name, CA and token
// are those of this moment, and nothing of an earlier failure is remembered.
// Every address of the name is tried; a follower refuses.
func dial(at endpoint, tokenFile string, within time.Duration) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("dns:///"+at.address,
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13,
			RootCAs:    at.roots,
			ServerName: at.certified,
		})),
		grpc.WithPerRPCCredentials(bearer{file: tokenFile}),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: within / 2}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
	)
	if err != nil {
		return nil, fmt.Errorf("preparing to dial %s: %w", at.address, err)
	}
	return conn, nil
}

// bearer sends the token that the kubelet keeps fresh in a file.
type bearer struct{ file string }

// GetRequestMetadata reads the token for one stream.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := os.ReadFile(b.file)
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	return map[string]string{"authorization": "Bearer " + strings.TrimSpace(string(token))}, nil
}

// RequireTransportSecurity keeps the token from ever travelling in the clear.
func (bearer) RequireTransportSecurity() bool { return true }

// addresses returns what the manager's name resolves to, sorted; nothing when
// that cannot be told. A changed answer means that managers came or went.
func addresses(ctx context.Context, directory string) []string {
	at, err := readEndpoint(directory)
	if err != nil {
		return nil
	}
	found, err := net.DefaultResolver.LookupHost(ctx, at.host)
	if err != nil {
		return nil
	}
	slices.Sort(found)
	return append(found, at.address)
}
