package core

import "slices"

// An Entry is one line of a session and what the log needs to know of it. The
// line is whole and unchanged, without its newline. Nobody may change Line's
// bytes: entries share them.
type Entry struct {
	Line   []byte
	ID     string // empty where the line has none
	Parent string // empty for a root
	Type   string
	Time   string // the line's own timestamp as written, empty where it is no string
	Aside  bool   // the line has no place in the tree, and moves no head
	// Tidy says that the line is laid out as its agent lays lines out, as far as
	// the dialect asks for it: it may be read and copied without being checked
	// again. Where it is false that is not so, or nobody has found out. What it
	// means for each dialect is in docs/FORMAT.md.
	Tidy bool
}

// AnyInTree reports whether one of es has a place in the tree.
func AnyInTree(es []Entry) bool {
	return slices.ContainsFunc(es, func(e Entry) bool { return !e.Aside })
}

// A Header is the line that begins a session and what the log needs to know of
// it. Line may not be changed.
type Header struct {
	Line   []byte
	ID     string // the agent's own name of the session
	CWD    string // the directory the agent worked in, as the agent wrote it
	Time   string
	Parent string // the agent's own link to the session this one came from, as written
	// Parents are the agent's own ids of the sessions that this one came from,
	// in the agent's order, and Lineage is how: "fork", "merge", or another of
	// the kinds in docs/DIALECTS.md. Both are empty where the header says
	// nothing.
	Parents []string
	Lineage string
}

// A File is an agent's session file, read by its dialect.
type File struct {
	Dialect string
	Header  Header
	Entries []Entry   // every valid line behind the header, in order, migrated where the file was old
	Lines   []int     // the line number in the file of each entry
	Skipped []BadLine // lines that are no entry, in order
	Version string    // the format version the file had, as its header says; for people
	// Exact says that the dialect's Layout of header and entries, a newline
	// behind each line, is the file's bytes. Where it is false the original is
	// worth keeping.
	Exact bool
}

// A BadLine is a line of a file that is no entry.
type BadLine struct {
	Line  int    `json:"line"` // counted from 1
	Error string `json:"error"`
}
