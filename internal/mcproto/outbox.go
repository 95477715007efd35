// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"io"
	"sync"
)

// outbox gathers small writes. Its buffer is borrowed for as long as it holds
// something: of thousands of connections few do at any moment. After an error
// it takes nothing more.
type outbox struct {
	dst io.Writer
	buf *[]byte // nil while empty
	err error
}

var outboxBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize)
	return &b
}}

// Write gathers p, or passes it on at once when it is large.
func (o *outbox) Write(p []byte) (int, error) {
	if o.buf != nil && len(*o.buf)+len(p) > bufferSize {
		o.send()
	}
	if o.err != nil {
		return 0, o.err
	}
	if len(p) >= bufferSize {
		n, err := o.dst.Write(p)
		o.err = err
		return n, err
	}
	if o.buf == nil {
		o.buf = outboxBuffers.Get().(*[]byte)
	}
	*o.buf = append(*o.buf, p...)
	return len(p), nil
}

// Flush sends what was gathered.
func (o *outbox) Flush() error {
	o.send()
	return o.err
}

func (o *outbox) send() {
	if o.buf == nil {
		return
	}
	if o.err == nil {
		_, o.err = o.dst.Write(*o.buf)
	}
	*o.buf = (*o.buf)[:0]
	outboxBuffers.Put(o.buf)
	o.buf = nil
}
