package catalog

import (
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A Filter narrows a listing or a search, and orders a listing. The zero value of a
// field does not narrow.
type Filter struct {
	Prefix  string // of the id, or of the agent's own id
	Within  string // prefix of the id: what the caller may see of the log
	CWD     string // the directory that the agent works in, as it wrote it
	Below   bool   // CWD and the directories below it
	Dialect string
	Holder  string   // agent, host, by or writer of a claim on any head
	Tags    []string // all of them
	Label   string   // of any entry
	Name    string   // part of the name; case does not matter
	Text    string   // part of the name or of the first message; case does not matter
	Fuzzy   string   // words, each of whose characters are in that order in the name and the first message
	State   State
	Deleted bool // only the trash

	Created  Range[time.Time]
	Modified Range[time.Time] // or created, if nothing was said
	Size     Range[int64]
	Cost     Range[float64]

	// Silence names the active writers, for StateInterrupted.
	Silence *Silence

	Sort    Sort   // default SortModified
	Reverse bool   // reversed: smallest first, names from Z to A
	After   string // the Next of the previous page
	Limit   int    // at most this many rows, 0 for all
}

// A Range includes both bounds. Nil is no bound.
type Range[T any] struct{ From, To *T }

// A State is a condition of sessions.
type State string

// States of sessions. A session whose writer vanished is open, held and
// interrupted.
const (
	StateOpen        State = "open"        // not closed
	StateClosed      State = "closed"      // its agent ended it
	StateHeld        State = "held"        // a writer has claimed one of its heads
	StateInterrupted State = "interrupted" // held by a writer that is not active
)

// Silence decides which claims are interrupted: those since Since or earlier that
// are not in Alive.
type Silence struct {
	Alive []session.HeldClaim
	Since time.Time
}

// A Sort is the order of a listing. Ties are ordered by id.
type Sort string

// Orders. All but SortName are descending.
const (
	SortModified Sort = "modified" // by the last message
	SortChanged  Sort = "changed"  // by the last change of any kind: what agents call the last session
	SortCreated  Sort = "created"
	SortName     Sort = "name" // case does not matter
	SortSize     Sort = "size"
	SortCost     Sort = "cost"
	SortEntries  Sort = "entries"
)

// Sorts are all orders.
var Sorts = []Sort{SortModified, SortChanged, SortCreated, SortName, SortSize, SortCost, SortEntries}

// States are all states.
var States = []State{StateOpen, StateClosed, StateHeld, StateInterrupted}

// A Page is a page of a listing.
type Page struct {
	Rows []Row
	Next string // pass as After for more; empty at the end
	Mark Mark   // Changes continues after it
}

// A Mark is a position among the changes of one directory.
type Mark string

// A Change is a session whose row changed.
type Change struct {
	ID core.SessionID
	// Row is the current row; nil if the filter does not select it, or if it was
	// removed.
	Row  *Row
	Mark Mark // of this change
}

// A SearchQuery selects entries by their text.
type SearchQuery struct {
	// Text is words, all of which an entry must have; "a phrase" in double quotes;
	// begin* for a prefix of a word. Case and accents do not matter.
	Text string
	// Sessions selects the sessions to search. Its Sort, After and Limit are
	// ignored.
	Sessions Filter
	Session  core.SessionID   // only this one
	Time     Range[time.Time] // of the entries
	Before   string           // the Next of the previous page
	Limit    int              // at most this many hits
}

// A Hit is an entry that was found.
type Hit struct {
	Session core.SessionID `json:"session"`
	ShortID string         `json:"shortId,omitempty"` // the shortest beginning of Session that is unique
	Entry   string         `json:"entry,omitempty"`   // its id, if it has one
	// Kind is the kind of speaker: "user", "assistant", "tool", "system",
	// "summary", "note", "label", or "name" for the session's name.
	Kind    string `json:"kind"`
	Time    string `json:"time,omitempty"` // ISO 8601, to the second
	Snippet string `json:"snippet"`        // the text around the first match
	// Matches are the words of Snippet that were searched for.
	Matches []Span `json:"matches,omitempty"`
	Name    string `json:"name,omitempty"` // of the session
	CWD     string `json:"cwd"`
	Dialect string `json:"dialect"`
}

// A Span is a part of a text: the offsets of its first byte, and of the byte after
// it, in UTF-8.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// A SearchPage is a page of hits, newest first.
type SearchPage struct {
	Hits []Hit  `json:"hits"`
	Next string `json:"next,omitempty"` // pass as Before for more
}
