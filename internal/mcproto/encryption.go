// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"crypto/aes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"crypto/x509"
	"fmt"
)

const (
	maxKeyBytes      = 1024
	maxServerIDChars = 20
)

// EncryptionRequest asks a client to encrypt, and to authenticate.
type EncryptionRequest struct {
	ServerID     string // empty since long
	PublicKey    []byte // X.509 subject public key info of an RSA key
	VerifyToken  []byte
	Authenticate bool // whether the client has to call the session server
}

// Payload is the packet e describes.
func (e EncryptionRequest) Payload() []byte {
	return NewWriter().String(e.ServerID).ByteArray(e.PublicKey).ByteArray(e.VerifyToken).Bool(e.Authenticate).Bytes()
}

// ParseEncryptionRequest reads the request to encrypt.
func ParseEncryptionRequest(payload []byte) (EncryptionRequest, error) {
	r := NewReader(payload)
	e := EncryptionRequest{ServerID: r.String(maxServerIDChars)}
	e.PublicKey = append([]byte{}, r.ByteArray(maxKeyBytes)...)
	e.VerifyToken = append([]byte{}, r.ByteArray(maxKeyBytes)...)
	e.Authenticate = r.Bool()
	return e, r.Err()
}

// EncryptionResponse carries the shared secret and the token of the request,
// both encrypted with the server's public key.
type EncryptionResponse struct {
	SharedSecret []byte
	VerifyToken  []byte
}

// Payload is the packet e describes.
func (e EncryptionResponse) Payload() []byte {
	return NewWriter().ByteArray(e.SharedSecret).ByteArray(e.VerifyToken).Bytes()
}

// ParseEncryptionResponse reads the answer to an encryption request.
func ParseEncryptionResponse(payload []byte) (EncryptionResponse, error) {
	r := NewReader(payload)
	e := EncryptionResponse{}
	e.SharedSecret = append([]byte{}, r.ByteArray(maxKeyBytes)...)
	e.VerifyToken = append([]byte{}, r.ByteArray(maxKeyBytes)...)
	return e, r.Err()
}

// Answer encrypts a shared secret of 16 bytes, and the token, for the server.
func (e EncryptionRequest) Answer(secret []byte) (EncryptionResponse, error) {
	public, err := x509.ParsePKIXPublicKey(e.PublicKey)
	if err != nil {
		return EncryptionResponse{}, malformed("read the public key", err)
	}
	key, ok := public.(*rsa.PublicKey)
	if !ok {
		return EncryptionResponse{}, fmt.Errorf("%w: public key is %T", ErrMalformed, public)
	}
	var answer EncryptionResponse
	if answer.SharedSecret, err = rsa.EncryptPKCS1v15(rand.Reader, key, secret); err != nil { //nolint:staticcheck // the protocol's padding
		return EncryptionResponse{}, fmt.Errorf("encrypt the shared secret: %w", err)
	}
	if answer.VerifyToken, err = rsa.EncryptPKCS1v15(rand.Reader, key, e.VerifyToken); err != nil { //nolint:staticcheck // the protocol's padding
		return EncryptionResponse{}, fmt.Errorf("encrypt the verify token: %w", err)
	}
	return answer, nil
}

// Open decrypts the answer to a request and returns the shared secret. A token
// other than the one of the request is an error.
func (e EncryptionResponse) Open(key *rsa.PrivateKey, token []byte) ([]byte, error) {
	secret, err := rsa.DecryptPKCS1v15(nil, key, e.SharedSecret) //nolint:staticcheck // the protocol's padding
	if err != nil || len(secret) != aes.BlockSize {
		return nil, fmt.Errorf("%w: shared secret cannot be decrypted", ErrMalformed)
	}
	echoed, err := rsa.DecryptPKCS1v15(nil, key, e.VerifyToken) //nolint:staticcheck // the protocol's padding
	if err != nil || subtle.ConstantTimeCompare(echoed, token) != 1 {
		return nil, fmt.Errorf("%w: verify token is not the one that was sent", ErrMalformed)
	}
	return secret, nil
}
