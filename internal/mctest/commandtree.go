// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// Parts of a node of the command tree.
const (
	nodeRoot, nodeLiteral, nodeArgument = 0x00, 0x01, 0x02
	nodeType                            = 0x03
	nodeExecutable                      = 0x04
	nodeRedirect                        = 0x08
	nodeSuggestions                     = 0x10
	parserString                        = 5
	maxNodes                            = 1 << 10
)

// errUnknownArgument is a tree that ours are not like, as those of real servers.
var errUnknownArgument = errors.New("a command has an argument of an unknown kind")

// node is one of a command tree.
type node struct {
	children []int32
	name     string
}

// commandTree is a root with literals that run.
func commandTree(literals ...string) []byte {
	w := mcproto.NewWriter().VarInt(int32(1 + len(literals)))
	w.Raw(nodeRoot).VarInt(int32(len(literals)))
	for i := range literals {
		w.VarInt(int32(i + 1))
	}
	for _, literal := range literals {
		w.Raw(nodeLiteral | nodeExecutable).VarInt(0).String(literal)
	}
	return w.VarInt(0).Bytes()
}

// parseCommandTree reads a tree to its end and returns the names at its root.
func parseCommandTree(payload []byte) ([]string, error) {
	r := mcproto.NewReader(payload)
	nodes := make([]node, r.Count(1))
	if len(nodes) == 0 || len(nodes) > maxNodes {
		return nil, fmt.Errorf("%w: a command tree of %d nodes", mcproto.ErrMalformed, len(nodes))
	}
	for i := range nodes {
		var err error
		if nodes[i], err = parseNode(r); err != nil {
			return nil, err
		}
	}
	root := r.VarInt()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if int(root) >= len(nodes) || r.Len() > 0 {
		return nil, fmt.Errorf("%w: a command tree with the root %d, and %d bytes after it", mcproto.ErrMalformed, root, r.Len())
	}
	var names []string
	for _, child := range nodes[root].children {
		if int(child) >= len(nodes) || nodes[child].name == "" {
			return nil, fmt.Errorf("%w: a command tree whose root has the child %d", mcproto.ErrMalformed, child)
		}
		names = append(names, nodes[child].name)
	}
	slices.Sort(names)
	return names, nil
}

func parseNode(r *mcproto.Reader) (node, error) {
	flags := r.Byte()
	n := node{children: make([]int32, r.Count(1))}
	for i := range n.children {
		n.children[i] = r.VarInt()
	}
	if flags&nodeRedirect != 0 {
		r.VarInt()
	}
	if flags&nodeType != nodeRoot {
		n.name = r.String(maxChatChars)
	}
	if flags&nodeType == nodeArgument {
		if parser := r.VarInt(); parser != parserString {
			return node{}, fmt.Errorf("%w: %d", errUnknownArgument, parser)
		}
		r.VarInt()
	}
	if flags&nodeSuggestions != 0 {
		r.String(maxChatChars)
	}
	return n, r.Err()
}
