package openrath

// A LineageKind is how a session came to be.
type LineageKind string

// How sessions come to be.
const (
	LineageUnknown  LineageKind = "unknown"
	LineageUser     LineageKind = "leaf_user"
	LineageSystem   LineageKind = "leaf_system"
	LineageCreate   LineageKind = "op_create"
	LineageLoop     LineageKind = "op_session_loop"
	LineageFork     LineageKind = "op_fork"
	LineageDetach   LineageKind = "op_detach"
	LineageMerge    LineageKind = "op_merge"
	LineageCompress LineageKind = "op_session_compress"
)

// lineageKinds lists the kinds, for people.
const lineageKinds = "unknown, leaf_user, leaf_system, op_create, op_session_loop, op_fork, op_detach, op_merge, op_session_compress"

// words are the kinds as core.Header.Lineage has them.
var words = map[LineageKind]string{
	LineageUser:     "create",
	LineageSystem:   "create",
	LineageCreate:   "create",
	LineageLoop:     "loop",
	LineageFork:     "fork",
	LineageDetach:   "detach",
	LineageMerge:    "merge",
	LineageCompress: "compress",
}

// Word is the kind in the words that all agents share: fork, merge, detach,
// compress, loop, or create for a session that came from no other. It is empty
// for LineageUnknown and for an invalid kind.
func (k LineageKind) Word() string { return words[k] }

// known returns k, or LineageUnknown if k is invalid.
func (k LineageKind) known() LineageKind {
	if _, ok := words[k]; ok {
		return k
	}
	return LineageUnknown
}
