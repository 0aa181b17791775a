package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
)

// windowed are the dialects with windows, and lines of theirs that no item stands for.
// In these, $ID stands for an id that may exist.
var windowed = map[string][]string{
	"pi": {
		`{"type":"context_edit","targetId":"$ID","replacement":{"content":"edited"}}`,
		`{"type":"context_edit","targetId":"$ID","replacement":null}`,
		`{"type":"compaction","summary":"S","firstKeptEntryId":"$ID","systemMessage":{"role":"system","content":"new"},"tokensBefore":9}`,
		`{"type":"compaction","summary":"S","tokensBefore":9}`,
		`{"type":"message","message":{"role":"system","content":"rules"}}`,
		`{"type":"message","message":{"role":"assistant","provider":"p","model":"m-$ID","content":[]}}`,
		`{"type":"message","message":null}`,
		`{"type":"session","version":3}`,
		`{"type":"unknown"}`,
	},
	"omp": {
		`{"type":"reset_boundary"}`,
		`{"type":"compaction","summary":"S","firstKeptEntryId":"","providerReplayThroughEntryId":"$ID","preserveData":{"anthropicCompaction":{"provider":"a","content":"c"}}}`,
		`{"type":"compaction","summary":"S","firstKeptEntryId":"$ID","preserveData":{"anthropicCompaction":{"provider":"a","content":"c"}}}`,
		`{"type":"compaction","summary":"S","firstKeptEntryId":"$ID","providerReplayThroughEntryId":"$ID","preserveData":{"openaiRemoteCompaction":{"provider":"o","replacementHistory":[]}}}`,
		`{"type":"compaction","summary":"S","firstKeptEntryId":"$ID","details":{"kind":"experimental-context-rollover"}}`,
		`{"type":"custom","customType":"experimental_context_notes","data":{"version":1,"text":"notes at $ID"}}`,
		`{"type":"custom","customType":"experimental_context_notes","data":{"version":1,"text":""}}`,
		`{"type":"custom","customType":"experimental_context_notes","data":{"version":2}}`,
		`{"type":"model_change","model":"m/$ID","role":"smol"}`,
		`{"type":"model_change","model":"m/$ID"}`,
		`{"type":"service_tier_change","serviceTier":"priority"}`,
		`{"type":"mode_change","mode":"plan","data":{"of":"$ID"}}`,
		`{"type":"ttsr_injection","injectedRules":["a","$ID"]}`,
		`{"type":"title","v":1,"title":"t","updatedAt":"x","pad":""}`,
		`{"type":"message","message":{"role":"assistant","provider":"p","model":"m-$ID","content":[{"type":"toolCall","id":"c-$ID","name":"x"}]}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c-$ID","content":[]}}`,
		`{"type":"message","message":{"role":"assistant","stopReason":"aborted","provider":"p","model":"m","content":[{"type":"text","text":"$ID"}]}}`,
	},
	"operator": {
		`{"type":"leaf","target_id":"$ID"}`,
		`{"type":"leaf"}`,
		`{"type":"compaction","summary":"S","first_kept_entry_id":"$ID"}`,
		`{"type":"compaction","summary":"without what it needs"}`,
		`{"type":"thinking_level_change","thinking_level":"no level"}`,
		`{"type":"thinking_level_change","thinking_level":"max"}`,
		`{"type":"model_change","model_id":"m-$ID","provider_id":"p"}`,
		`{"type":"model_change","model_id":"m"}`,
		`{"type":"unknown"}`,
	},
}

// A history is records of a session, and the session that they give.
type history struct {
	st    *core.State
	count int  // entries made
	late  bool // one of them is late
}

func newHistory(t rapid.TB, d core.Dialect) *history {
	h := &history{st: core.NewState("main", "a-session", dialect.All())}
	header, err := d.Header(d.NewHeader(core.HeaderFields{ID: "a-session", Time: aTime, CWD: "/w"}))
	if err != nil {
		t.Fatal(err)
	}
	body, err := core.OpenBody(core.Origin{Dialect: d.Name()}, header, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(t, h.record(core.KindOpen, core.MainHead, body))
	return h
}

const aTime = "2026-01-02T03:04:05.678Z"

func (h *history) record(kind core.Kind, head string, body []byte) *core.Record {
	r := &core.Record{Kind: kind, Seq: h.st.Seq + 1, Pos: h.st.Pos + 1, Head: head, Writer: "w", Epoch: h.st.Epoch, Body: body}
	r.Chain = h.st.Chain.Next(r)
	return r
}

func (h *history) apply(t rapid.TB, r *core.Record) {
	if err := h.st.Apply(r); err != nil {
		t.Fatal(err)
	}
}

// late is the id of an entry that others may name before it is there.
const late = "late"

// someID draws the id of an entry, rather one of the last; now and then of none.
func (h *history) someID(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
		return late
	}
	back := rapid.OneOf(rapid.IntRange(0, 4), rapid.IntRange(0, h.count+2)).Draw(t, "back")
	return fmt.Sprintf("e%d", h.count-back)
}

// someItem draws what an entry says.
func (h *history) someItem(t *rapid.T) item.Item {
	text := fmt.Sprintf("text %d", h.count)
	switch rapid.IntRange(0, 11).Draw(t, "item") {
	case 0, 1:
		return item.Item{Kind: item.Compaction, Text: text, Tokens: 9, Target: h.someID(t)}
	case 2:
		return item.Item{Kind: item.Level, Text: rapid.SampledFrom([]string{"low", "high"}).Draw(t, "level")}
	case 3:
		return item.Item{Kind: item.Model, Provider: "p", Model: "chosen " + text}
	case 4:
		return item.Item{Kind: item.Branch, Text: text, Target: h.someID(t)}
	case 5:
		return item.Item{Kind: item.Label, Text: text, Target: h.someID(t)}
	case 6:
		return item.Item{Kind: item.Note, Type: "x", Blocks: []item.Block{{Kind: item.BlockText, Text: text}}}
	case 7, 8:
		return item.Item{Kind: item.Message, Role: item.RoleAssistant, Provider: "p", Model: "m " + text, Blocks: []item.Block{{Kind: item.BlockText, Text: text}}}
	}
	return item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: text}}}
}

// someEntry draws an entry that follows parent, or, now and then, another one.
func (h *history) someEntry(t *rapid.T, d core.Dialect, parent core.Leaf) core.Entry {
	var line []byte
	if rapid.IntRange(0, 2).Draw(t, "odd") == 0 {
		line = []byte(strings.ReplaceAll(rapid.SampledFrom(windowed[d.Name()]).Draw(t, "line"), "$ID", h.someID(t)))
	} else {
		line, _ = d.Write(h.someItem(t))
	}
	if line == nil {
		line, _ = d.Write(item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: "plain"}}})
	}
	if rapid.IntRange(0, 15).Draw(t, "branch") == 0 {
		parent = core.LeafAt(h.someID(t))
	}
	h.count++
	id := fmt.Sprintf("e%d", h.count)
	if !h.late && rapid.IntRange(0, 20).Draw(t, "be late") == 0 {
		id, h.late = late, true
	}
	e, err := d.Fill(line, core.Fields{ID: id, Parent: parent, Time: aTime})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// step draws the next record.
func (h *history) step(t *rapid.T, d core.Dialect) *core.Record {
	head := rapid.SampledFrom([]string{core.MainHead, core.MainHead, core.MainHead, "side"}).Draw(t, "head")
	switch rapid.IntRange(0, 12).Draw(t, "record") {
	case 0:
		move, err := json.Marshal(core.Move{Leaf: rapid.SampledFrom([]core.Leaf{{}, core.NoLeaf, core.LeafAt(h.someID(t)), core.LeafAt(h.someID(t))}).Draw(t, "leaf")})
		if err != nil {
			t.Fatal(err)
		}
		return h.record(core.KindHead, head, move)
	case 1:
		kind := rapid.SampledFrom([]core.Kind{core.KindClaim, core.KindRelease, core.KindClose, core.KindHold}).Draw(t, "kind")
		return h.record(kind, head, []byte("{}"))
	}
	var es []core.Entry
	leaf := h.st.Leaf(head)
	for range rapid.IntRange(1, 4).Draw(t, "entries") {
		e := h.someEntry(t, d, leaf)
		es, leaf = append(es, e), core.LeafAt(e.ID)
	}
	return h.record(core.KindAppend, head, core.LinesBody(es))
}

// The context that is made of a window is that of the whole session, wherever the window
// says that it suffices.
func TestWindowsGiveTheContextsOfWholeSessions(t *testing.T) {
	t.Parallel()
	for name := range windowed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, known := dialect.All()[name], 0
			rapid.Check(t, func(t *rapid.T) {
				h := newHistory(t, d)
				for range rapid.IntRange(1, 20).Draw(t, "before") {
					h.apply(t, h.step(t, d))
				}
				w := windowOf(t, h.st)
				if w == nil {
					return
				}
				known += sameContexts(t, h.st, w)
				for range rapid.IntRange(1, 8).Draw(t, "after") {
					r := h.step(t, d)
					h.apply(t, r)
					if !w.Accepts(r) {
						t.Fatalf("a %s record is not accepted", r.Kind)
					}
					if err := w.State.Apply(r); err != nil {
						t.Fatal(err)
					}
					known += sameContexts(t, h.st, w)
				}
			})
			if known == 0 && !testing.Short() { // which draws few
				t.Error("no window had a context")
			}
		})
	}
}

// Of omp's settings, the order of the models is that in which they were first named.
func TestWindowKeepsTheOrderOfModels(t *testing.T) {
	t.Parallel()
	d := dialect.All()["omp"]
	h := newHistory(t, d)
	answer := `{"type":"message","message":{"role":"assistant","provider":"p","model":"$ID","content":[]}}`
	var es []core.Entry
	for _, line := range []string{
		answer, `{"type":"model_change","model":"m","role":"smol"}`, answer, `{"type":"message","message":{"role":"user","content":"go on"}}`,
		`{"type":"compaction","summary":"S","firstKeptEntryId":"e4"}`,
	} {
		id, parent := fmt.Sprintf("e%d", len(es)+1), core.NoLeaf
		if len(es) > 0 {
			parent = core.LeafAt(es[len(es)-1].ID)
		}
		e, err := d.Fill([]byte(strings.ReplaceAll(line, "$ID", id)), core.Fields{ID: id, Parent: parent, Time: aTime})
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	h.apply(t, h.record(core.KindAppend, core.MainHead, core.LinesBody(es)))
	w := windowOf(t, h.st)
	if w == nil || sameContexts(t, h.st, w) == 0 {
		t.Fatal("there is no window")
	}
}

// windowOf returns the window of st as a reader gets it, nil if there is none.
func windowOf(t rapid.TB, st *core.State) *core.Window {
	es, before, ok := st.Window()
	if !ok {
		return nil
	}
	m := st.Manifest(st.Render(), "object")
	plain := core.Lines(st.Header.Before(es))
	m.Window = &core.WindowPart{Part: core.Part{Size: int64(len(plain))}, Before: before}
	w, err := core.RestoreWindow(m, plain, st.Pos, dialect.All())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sameContexts compares the contexts that w knows with those of st, and returns how many
// there are.
func sameContexts(t rapid.TB, st *core.State, w *core.Window) (known int) {
	leaves := []core.Leaf{{}, core.NoLeaf, core.LeafAt("nowhere")}
	for i := range st.Entries {
		leaves = append(leaves, core.LeafAt(st.Entries[i].ID))
	}
	for _, leaf := range leaves {
		got, ok := w.Context(leaf)
		if !ok {
			continue
		}
		known++
		want, err := st.Dialect.Context(st.Entries, leaf)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("at %v, of %d entries:\n%s\nof all %d:\n%s %v\n%s", leaf, len(w.State.Entries), got, len(st.Entries), want, err, st.Render())
		}
	}
	for _, head := range st.HeadNames() {
		if id, ok := w.State.Leaf(head).ID(); ok && w.State.Leaf(head) != st.Leaf(head) {
			t.Fatalf("head %s is at %s in the window, not at %v", head, id, st.Leaf(head))
		}
	}
	if !slices.Equal(st.HeadNames(), w.State.HeadNames()) || w.State.Cursor() != st.Cursor() {
		t.Fatalf("heads %v at %v, not %v at %v", w.State.HeadNames(), w.State.Cursor(), st.HeadNames(), st.Cursor())
	}
	return known
}
