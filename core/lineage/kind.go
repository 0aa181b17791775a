package lineage

// A Kind is how a session came to be.
type Kind string

// How sessions come to be. A session without parents may be of any kind: they
// may have been left out on purpose (Detach), or be forgotten.
const (
	Unknown  Kind = "unknown"  // nothing is known
	Create   Kind = "create"   // it began empty
	Fork     Kind = "fork"     // it began as another's whole path
	Branch   Kind = "branch"   // it began as another's path up to an entry, by its agent's rules
	Merge    Kind = "merge"    // it began as two others, one after the other
	Compress Kind = "compress" // it began as a summary of others
	Resume   Kind = "resume"   // it continues where another ended
	Subagent Kind = "subagent" // another's agent had it done
	Detach   Kind = "detach"   // it began as a copy that does not name its source
	Loop     Kind = "loop"     // a run of a model over others
	Convert  Kind = "convert"  // it is another in a different agent's words
)

// KindsOfParents lists the kinds for sessions with parents, for people.
const KindsOfParents = "create, fork, branch, merge, compress, resume, subagent, loop, convert"

// A Word is OpenRath's expression for a Kind.
type Word struct {
	Operator string // what made the session; any text
	Kind     string // one of OpenRath's nine
}

// OpenRath's kinds.
const (
	rathUnknown    = "unknown"
	rathLeafUser   = "leaf_user"
	rathLeafSystem = "leaf_system"
	rathCreate     = "op_create"
	rathLoop       = "op_session_loop"
	rathFork       = "op_fork"
	rathDetach     = "op_detach"
	rathMerge      = "op_merge"
	rathCompress   = "op_session_compress"
)

// words are OpenRath's for each kind. It has no operator for five of them: they
// get one with our name in front, under the nearest of its nine kinds.
var words = map[Kind]Word{
	Unknown:  {"implicit", rathUnknown},
	Create:   {"sesslog.create", rathCreate},
	Fork:     {"Session.fork", rathFork},
	Branch:   {"sesslog.branch", rathFork},
	Merge:    {"Session.merge", rathMerge},
	Compress: {"run_session_compress", rathCompress},
	Resume:   {"sesslog.resume", rathFork},
	Subagent: {"sesslog.subagent", rathCreate},
	Detach:   {"Session.detach", rathDetach},
	Loop:     {"run_session_loop", rathLoop},
	Convert:  {"sesslog.convert", rathFork},
}

// kinds maps OpenRath's kinds to ours, if the operator is not one of ours.
var kinds = map[string]Kind{
	rathUnknown:    Unknown,
	rathLeafUser:   Create,
	rathLeafSystem: Create,
	rathCreate:     Create,
	rathLoop:       Loop,
	rathFork:       Fork,
	rathDetach:     Detach,
	rathMerge:      Merge,
	rathCompress:   Compress,
}

// ours are the kinds whose operators only we write.
var ours = func() map[string]Kind {
	m := map[string]Kind{}
	for k, w := range words {
		if k == kinds[w.Kind] && k != Create {
			continue
		}
		m[w.Operator] = k
	}
	return m
}()

// ParseKind returns the kind that word names, ours or one of OpenRath's nine,
// and reports whether there is one; Unknown otherwise.
func ParseKind(word string) (Kind, bool) {
	if _, ok := words[Kind(word)]; ok {
		return Kind(word), true
	}
	if k, ok := kinds[word]; ok {
		return k, true
	}
	return Unknown, false
}

// Word returns OpenRath's word for k; an invalid kind becomes unknown.
func (k Kind) Word() Word {
	if w, ok := words[k]; ok {
		return w
	}
	return words[Unknown]
}

// KindOf is the inverse of Word. OpenRath's three ways to begin with an empty
// session are all Create.
func KindOf(w Word) Kind {
	if k, ok := ours[w.Operator]; ok {
		return k
	}
	if k, ok := kinds[w.Kind]; ok {
		return k
	}
	return Unknown
}
