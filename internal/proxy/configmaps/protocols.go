// SPDX-License-Identifier: Apache-2.0

package configmaps

import (
	"bytes"
	"encoding/json"
	"fmt"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

const protocolsPart = agentv1alpha1.ConfigPart_CONFIG_PART_PROTOCOLS

// rows are the protocols as they were last found.
type rows struct {
	found    mount
	table    *mcproto.Protocols
	problems []*agentv1alpha1.ConfigProblem
	origin   map[int32]string
}

// look reads them again, and reports whether they are others.
func (r *rows) look(dir string, builtIn *mcproto.Protocols) bool {
	found := read(dir, "protocols")
	if r.table != nil && found.equal(r.found) {
		return false
	}
	*r = rows{found: found, table: builtIn, origin: map[int32]string{}}
	if broken := whole(protocolsPart, found); broken != nil {
		r.problems = append(r.problems, broken)
	}
	for _, key := range sorted(found.files) {
		r.take(key, found.files[key])
	}
	return true
}

// take adds the rows of one key, a list of them or a single one.
func (r *rows) take(key string, content []byte) {
	var single json.RawMessage
	if err := json.Unmarshal(content, &single); err != nil {
		r.refuse(key, fmt.Sprintf("it is no JSON (%v); the form is that of the built-in table", err))
		return
	}
	list := []json.RawMessage{single}
	if bytes.HasPrefix(bytes.TrimSpace(single), []byte("[")) {
		// It is valid, and a list.
		_ = json.Unmarshal(single, &list)
	}
	for i, row := range list {
		one, err := mcproto.ParseProtocols(bytes.Join([][]byte{[]byte("["), row, []byte("]")}, nil))
		if err != nil {
			r.refuse(key, fmt.Sprintf("row %d is left out: %v", i+1, err))
			continue
		}
		number := one.Newest().Number
		if before, taken := r.origin[number]; taken {
			r.refuse(key, fmt.Sprintf("row %d is left out: protocol %d is in key %s already", i+1, number, before))
			continue
		}
		r.origin[number] = key
		r.table = r.table.With(one)
	}
}

func (r *rows) refuse(key, reason string) {
	r.problems = append(r.problems, problem(protocolsPart, key, reason))
}
