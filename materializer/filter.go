package materializer

import (
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A Filter narrows a listing or a search, and orders a listing. The zero value
// of a field narrows nothing.
type Filter struct {
	Prefix  string // of the id, or of the agent's own id
	Within  string // of the id: what who asks may see of the log
	CWD     string // the directory that the agent works in, as it wrote it
	Below   bool   // CWD and the directories below it
	Dialect string
	Holder  string   // agent, host, by or writer of a claim on any head
	Tags    []string // all of them
	Label   string   // of any entry
	Name    string   // in the name; case does not count
	Text    string   // in the name or in the first message; case does not count
	State   State
	Deleted bool // the trash, and only that

	Created  Range[time.Time]
	Modified Range[time.Time] // or created, where nothing was said
	Size     Range[int64]
	Cost     Range[float64]

	// Silence is who is there, for StateInterrupted.
	Silence *Silence

	Sort    Sort   // default SortModified
	Reverse bool   // the other way round: the least first, names from the last
	After   string // the Next of the page before
	Limit   int    // rows at most, 0 for all
}

// A Range is from a value to another, which are in it. Nil is no bound.
type Range[T any] struct{ From, To *T }

// A State is what a session is at.
type State string

// What sessions are at. One that was held when its holder vanished is open, held
// and interrupted.
const (
	StateOpen        State = "open"        // not closed
	StateClosed      State = "closed"      // its agent ended it
	StateHeld        State = "held"        // a writer claims one of its heads
	StateInterrupted State = "interrupted" // of a writer that claims one nothing is heard
)

// Silence is who is there to hold a session: those who hold one and are not named
// here, by a claim before Since, are not heard of.
type Silence struct {
	Alive []session.HeldClaim
	Since time.Time
}

// A Sort is what a listing is ordered by. Where two are equal, the id decides.
type Sort string

// Orders. All but SortName begin with the greatest.
const (
	SortModified Sort = "modified"
	SortCreated  Sort = "created"
	SortName     Sort = "name" // case does not count
	SortSize     Sort = "size"
	SortCost     Sort = "cost"
	SortEntries  Sort = "entries"
)

// Sorts are the orders that there are.
var Sorts = []Sort{SortModified, SortCreated, SortName, SortSize, SortCost, SortEntries}

// States are those that can be asked for.
var States = []State{StateOpen, StateClosed, StateHeld, StateInterrupted}

// A Page is rows of a listing.
type Page struct {
	Rows []Row
	Next string // pass as After for more; empty at the end
	Mark Mark   // what came later is in Changes after it
}

// A Mark is a place among the changes of one directory.
type Mark string

// A Change is a session whose row changed.
type Change struct {
	ID core.SessionID
	// Row is what it is now; nil where it is none that the filter asks for, or is
	// gone.
	Row  *Row
	Mark Mark // of this change
}

// A SearchQuery says what to search for and where.
type SearchQuery struct {
	// Text is words, all of which an entry must have; "a phrase" between double
	// quotes; begin* for the beginning of a word. Case and accents do not matter.
	Text string
	// Sessions narrows the sessions that are searched; its Sort, After and Limit
	// are not looked at.
	Sessions Filter
	Session  core.SessionID   // only this one
	Time     Range[time.Time] // of what is found
	Before   string           // the Next of the page before
	Limit    int              // hits at most
}

// A Hit is an entry that was found.
type Hit struct {
	Session core.SessionID `json:"session"`
	Entry   string         `json:"entry,omitempty"` // where that has an id
	// Kind is what speaks: "user", "assistant", "tool", "system", "summary",
	// "note", "label", or "name" for the session's name.
	Kind    string `json:"kind"`
	Time    string `json:"time,omitempty"` // ISO 8601, to the second
	Snippet string `json:"snippet"`        // the words around the first that were found
	Name    string `json:"name,omitempty"` // of the session
	CWD     string `json:"cwd"`
	Dialect string `json:"dialect"`
}

// A SearchPage is hits, the newest first.
type SearchPage struct {
	Hits []Hit  `json:"hits"`
	Next string `json:"next,omitempty"` // pass as Before for more
}
