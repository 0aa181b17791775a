package materializer

import (
	"slices"
	"strings"
	"sync"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/session/catalog"
)

// A rowMaker makes the rows of one session. It reads only the entries that it has
// not seen, unless earlier ones were replaced.
type rowMaker struct {
	mu         sync.Mutex
	growth     *core.Growth // of the entries seen
	summarizer optional.Summarizer
	seen       int
	size       int64
	aside      int
	reported   *catalog.Row // the last one that Config.Changed got
}

// row returns the row of a state. r.mu is held.
func (r *rowMaker) row(st *core.State) catalog.Row {
	r.read(st)
	row := catalog.Row{
		ID:       st.ID,
		Dialect:  st.Dialect.Name(),
		CWD:      st.Header.CWD,
		By:       clip(st.Origin.By),
		Entries:  len(st.Entries),
		Seq:      st.Seq,
		Closed:   st.Closed != nil,
		Deleted:  st.Deleted != nil || st.Erased != nil,
		Erased:   st.Erased != nil,
		Held:     st.LegalHold,
		Snapshot: st.Checkpointed,
		Size:     r.size,
		Aside:    r.aside,
		Lineage:  lineage.Of(st),
		Summary:  r.summarizer.Summary(st.Entries),
	}
	row.Closed = row.Closed || row.Summary.Closed
	if row.Modified == "" && row.Messages > 0 && !st.Appended.IsZero() { // the agent's messages have no time
		row.Modified = st.Appended.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	row.Changed = row.LastChange()
	row.Kept, row.Changes = keptOf(&st.Snapshot)
	if string(st.ID) != st.Header.ID {
		row.AgentID = clip(st.Header.ID)
	}
	row.CWD, row.Name, row.First, row.Tags = clip(row.CWD), clip(row.Name), clip(row.First), clipTags(row.Tags)
	if h := st.Heads[core.MainHead]; h != nil {
		row.Holder = h.Claim
	}
	row.Heads, row.Waits = sideHeads(st), waits(st)
	return row
}

// maxHeads limits the heads in a row.
const maxHeads = 16

// sideHeads returns the heads beside main.
func sideHeads(st *core.State) []string {
	if len(st.Heads) < 2 { // most sessions
		return nil
	}
	names := slices.DeleteFunc(st.HeadNames(), func(name string) bool { return name == core.MainHead })
	return names[:min(len(names), maxHeads)]
}

// waits returns the answer after which the agent of a session waits for its user,
// empty if it does not wait. It reads few and short entries, since an answer that
// ends a turn is among the last, and is short.
func waits(st *core.State) string {
	const most, longest = 4, 64 << 10
	es := st.Entries[max(len(st.Entries)-most, 0):]
	for i := range es {
		if len(es[i].Line) > longest {
			return ""
		}
	}
	if i, ended := tree.TurnEnd(st.Dialect, es); ended {
		return clip(es[i].ID)
	}
	return ""
}

// read counts the entries that were not seen, or all if earlier ones may differ.
func (r *rowMaker) read(st *core.State) {
	if r.growth != st.Growth() {
		r.growth, r.summarizer = st.Growth(), optional.NewSummarizer(st.Dialect, st.Header)
		r.seen, r.aside, r.size = 0, 0, int64(len(st.Header.Line))+1
	}
	for ; r.seen < len(st.Entries); r.seen++ {
		r.size += int64(len(st.Entries[r.seen].Line)) + 1
		if st.Entries[r.seen].Aside {
			r.aside++
		}
	}
}

// keptOf returns the seqs in the names of the objects of a snapshot.
func keptOf(ref *core.SnapshotRef) (first uint64, changes []uint64) {
	if len(ref.Parts) == 0 {
		return SnapshotSeq(ref.Object), nil
	}
	for _, p := range ref.Parts[1:] {
		if p.Object != "" {
			changes = append(changes, SnapshotSeq(p.Object))
		}
	}
	return SnapshotSeq(ref.Parts[0].Object), changes
}

// maxText limits the bytes of an agent's text in a row.
const maxText = 1 << 10

// Clip cuts s as rows do, between characters. A text must be clipped before it is
// compared with a row's.
func Clip(s string) string { return clip(s) }

// clip cuts s to maxText bytes, between characters.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// maxTags limits the tags in a row.
const maxTags = 64

// clipTags returns the first of tags, each cut to maxText bytes.
func clipTags(tags []string) []string {
	var out []string
	for _, tag := range tags[:min(len(tags), maxTags)] {
		out = append(out, clip(tag))
	}
	return out
}

// A View is what the directory reads of a session. Its entries do not change.
type View struct {
	Row     catalog.Row
	Host    string                // where the session was created
	Claims  map[string]core.Claim // by head
	Dialect core.Dialect          // reads Entries
	Entries []core.Entry
	Growth  *core.Growth // of Entries; nil if unknown
}

// ViewOf returns the View of a session in state st.
func ViewOf(st *core.State) View { return new(rowMaker).view(st) }

// view returns the View of the session in state st.
func (r *rowMaker) view(st *core.State) View {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := View{
		Row: r.row(st), Host: clip(st.Origin.Host), Claims: map[string]core.Claim{},
		Dialect: st.Dialect, Entries: st.Entries, Growth: st.Growth(),
	}
	for name, h := range st.Heads {
		if h.Claim != nil {
			v.Claims[name] = *h.Claim
		}
	}
	return v
}
