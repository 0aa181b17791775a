package core

// What the fold asks of some dialects, besides Dialect.

// A TidyDecoder is a Dialect that can read a tidy line without scanning all of
// it.
type TidyDecoder interface {
	Dialect
	// TidyEntry returns what Entry returns for line. The caller guarantees that
	// an earlier Entry reported the line as Tidy; otherwise the result is
	// undefined.
	TidyEntry(line []byte) Entry
}

// An Admitter is a Dialect whose agent refuses some lines because of the
// session that they would be added to. optional.Checker has the rules that need
// no more than the line.
type Admitter interface {
	// Admit returns nil if the agent would add e to the session, and otherwise
	// an ErrInvalid that says why not.
	Admit(s Admission, e Entry) error
}

// An Admission is a session that an entry would be added to.
type Admission struct {
	Header Header
	Last   Entry                // the entry added last; zero if there is none
	Has    func(id string) bool // whether an entry with that id was added
	Count  func() int           // how many entries that have a place in the tree were added
}

// A Linker is a Dialect whose agent does not always continue at the last of the
// lines it wrote. Heads of its sessions follow LeafAfter instead of Leaf.
type Linker interface {
	// LeafAfter returns the position of a head that was at was, after added was
	// appended to it. es has all entries of the session in order, added
	// included. find returns the entry with an id.
	LeafAfter(was Leaf, added, es []Entry, find func(id string) (Entry, bool)) Leaf
}
