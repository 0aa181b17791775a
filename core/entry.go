package core

import "slices"

// An Entry is one line of a session and what the log needs to know of it. The
// line is complete and unchanged, without its newline. Entries share Line's
// bytes: they must not be modified.
type Entry struct {
	Line   []byte
	ID     string // empty if the line has none
	Parent string // empty for a root
	Type   string
	Time   string // the line's own timestamp as written; empty if it is not a string
	Aside  bool   // the line has no place in the tree, and moves no head
	// Tidy says that the line is laid out as its agent writes lines, so it can
	// be read and copied without being checked again. False if that is not so,
	// or is unknown. docs/FORMAT.md defines it for each dialect.
	Tidy bool
}

// AnyInTree reports whether one of es has a place in the tree.
func AnyInTree(es []Entry) bool {
	return slices.ContainsFunc(es, func(e Entry) bool { return !e.Aside })
}

// CountInTree returns how many of es have a place in the tree.
func CountInTree(es []Entry) (n int) {
	for i := range es {
		if !es[i].Aside {
			n++
		}
	}
	return n
}

// A Header is the line that begins a session and what the log needs to know of
// it. Line must not be modified.
type Header struct {
	Line   []byte
	ID     string // the agent's own name of the session
	CWD    string // the directory the agent worked in, as the agent wrote it
	Time   string
	Parent string // the agent's own link to the session this one came from, as written
	// Parents are the agent's own ids of the sessions that this one came from,
	// in the agent's order. Lineage is how: "fork", "merge", or another kind
	// listed in docs/DIALECTS.md. Both are empty if the header names none.
	Parents []string
	Lineage string
}

// A File is an agent's session file, read by its dialect.
type File struct {
	Dialect string
	Header  Header
	Entries []Entry   // every valid line after the header, in order; migrated if the file was old
	Lines   []int     // the line number in the file of each entry
	Skipped []BadLine // lines that are not entries, in order
	Version string    // the format version that the file's header names, for people
	// Exact says that the dialect's Layout of header and entries, with a
	// newline after each line, is the file byte for byte. If it is false, the
	// original is worth keeping.
	Exact bool
}

// A BadLine is a line of a file that is not an entry.
type BadLine struct {
	Line  int    `json:"line"` // counted from 1
	Error string `json:"error"`
}
