// SPDX-License-Identifier: Apache-2.0

package mcproto

import "fmt"

// Node flags and parser of the command tree.
const (
	nodeTypeMask       = 0x03
	nodeRoot           = 0x00
	nodeLiteral        = 0x01
	nodeArgument       = 0x02
	nodeExecutable     = 0x04
	nodeRedirect       = 0x08
	nodeHasSuggestions = 0x10

	parserString      = 5 // brigadier:string, in every supported version
	stringGreedy      = 2
	suggestionsServer = "minecraft:ask_server"

	maxCommandNodes = 1 << 18
)

// InjectCommands adds literals to the root of a command tree, each with one
// greedy argument whose suggestions the client asks for. Only the root node is
// parsed, which makes this work whatever argument types a version has; servers
// write the root first, and a tree that does not is ErrMalformed.
func InjectCommands(tree []byte, literals ...string) ([]byte, error) {
	r := NewReader(tree)
	count := r.Count(1)
	flags := r.Byte()
	children := make([]int32, r.Count(1))
	for i := range children {
		children[i] = r.VarInt()
	}
	nodes := r.Rest()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if flags&(nodeTypeMask|nodeRedirect) != nodeRoot || count == 0 || count > maxCommandNodes || len(nodes) == 0 || nodes[len(nodes)-1] != 0 {
		return nil, fmt.Errorf("%w: the command tree does not begin with its root", ErrMalformed)
	}
	nodes = nodes[:len(nodes)-1]

	w := NewWriter().VarInt(int32(count + 2*len(literals))).Raw(flags).VarInt(int32(len(children) + len(literals)))
	for _, child := range children {
		w.VarInt(child)
	}
	for i := range literals {
		w.VarInt(int32(count + 2*i))
	}
	w.Raw(nodes...)
	for i, literal := range literals {
		w.Raw(nodeLiteral | nodeExecutable).VarInt(1).VarInt(int32(count + 2*i + 1)).String(literal)
		w.Raw(nodeArgument | nodeExecutable | nodeHasSuggestions).VarInt(0).String("args")
		w.VarInt(parserString).VarInt(stringGreedy).String(suggestionsServer)
	}
	return w.VarInt(0).Bytes(), nil
}
