// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"crypto/aes"
	"crypto/cipher"
	"io"
)

type cfb8Direction int

const (
	cfb8Encrypt cfb8Direction = iota
	cfb8Decrypt
)

// cfb8 is AES in 8-bit cipher feedback, which the standard library lacks. The
// register of the last 16 ciphertext bytes slides through a larger buffer, so
// that it is moved once per 512 bytes and not once per byte.
type cfb8 struct {
	block     cipher.Block
	direction cfb8Direction
	window    [aes.BlockSize + 512]byte
	at        int
	out       [aes.BlockSize]byte
}

func newCFB8(secret []byte, direction cfb8Direction) (*cfb8, error) {
	if len(secret) != aes.BlockSize {
		return nil, aes.KeySizeError(len(secret))
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	x := &cfb8{block: block, direction: direction}
	copy(x.window[:], secret)
	return x, nil
}

func (x *cfb8) xor(p []byte) {
	for i, in := range p {
		if x.at+aes.BlockSize == len(x.window) {
			copy(x.window[:], x.window[x.at:])
			x.at = 0
		}
		x.block.Encrypt(x.out[:], x.window[x.at:x.at+aes.BlockSize])
		out := in ^ x.out[0]
		p[i] = out
		feedback := out
		if x.direction == cfb8Decrypt {
			feedback = in
		}
		x.window[x.at+aes.BlockSize] = feedback
		x.at++
	}
}

type cfb8Reader struct {
	src    io.Reader
	stream *cfb8
}

func (r *cfb8Reader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	r.stream.xor(p[:n])
	return n, err
}

type cfb8Writer struct {
	dst    io.Writer
	stream *cfb8
	buf    []byte
}

// Write encrypts into its own memory: the caller's bytes must stay as they are.
func (w *cfb8Writer) Write(p []byte) (int, error) {
	if cap(w.buf) > keepScratch {
		w.buf = nil
	}
	w.buf = append(w.buf[:0], p...)
	w.stream.xor(w.buf)
	return w.dst.Write(w.buf)
}
