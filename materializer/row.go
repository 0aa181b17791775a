package materializer

import (
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/session/catalog"
)

// rowOf returns the row of a state.
func rowOf(st *core.State) catalog.Row {
	r := catalog.Row{
		ID:       st.ID,
		Dialect:  st.Dialect.Name(),
		CWD:      st.Header.CWD,
		Entries:  len(st.Entries),
		Seq:      st.Seq,
		Closed:   st.Closed != nil,
		Deleted:  st.Deleted != nil || st.Erased != nil,
		Erased:   st.Erased != nil,
		Held:     st.LegalHold,
		Snapshot: st.Checkpointed,
		Size:     int64(len(st.Header.Line)) + 1,
		Lineage:  lineage.Of(st),
		Summary:  st.Dialect.Summary(st.Header, st.Entries),
	}
	r.Kept, r.Changes = keptOf(&st.Snapshot)
	if string(st.ID) != st.Header.ID {
		r.AgentID = clip(st.Header.ID)
	}
	for i := range st.Entries {
		r.Size += int64(len(st.Entries[i].Line)) + 1
		if st.Entries[i].Aside {
			r.Aside++
		}
	}
	r.CWD, r.Name, r.First, r.Tags = clip(r.CWD), clip(r.Name), clip(r.First), clipTags(r.Tags)
	if h := st.Heads[core.MainHead]; h != nil {
		r.Holder = h.Claim
	}
	return r
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
}

// ViewOf returns the View of a session in state st.
func ViewOf(st *core.State) View {
	v := View{Row: rowOf(st), Host: clip(st.Origin.Host), Claims: map[string]core.Claim{}, Dialect: st.Dialect, Entries: st.Entries}
	for name, h := range st.Heads {
		if h.Claim != nil {
			v.Claims[name] = *h.Claim
		}
	}
	return v
}
