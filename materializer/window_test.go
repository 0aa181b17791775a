package materializer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// unread fails the test if a snapshot is loaded.
type unread struct{ t *testing.T }

func (u unread) Load(context.Context, *core.Manifest) ([]byte, func() error, error) {
	u.t.Error("a snapshot is loaded")
	return nil, nil, core.ErrUnavailable
}

// compacted creates a session of 5 MiB whose last compaction kept little, with a
// checkpoint.
func (r *rig) compacted(t *testing.T, m *materializer.Materializer, id string) *engine.Session {
	t.Helper()
	s := r.create(t, id)
	r.say(t, s, `{"type":"thinking_level_change","thinkingLevel":"high"}`)
	for range 50 {
		add(t, s, 100<<10)
	}
	r.say(t, s, `{"type":"message","id":"kept","message":{"role":"user","content":"go on"}}`)
	r.say(t, s, `{"type":"compaction","id":"summary","summary":"S","firstKeptEntryId":"kept","tokensBefore":9}`)
	if _, err := m.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *rig) say(t *testing.T, s *engine.Session, lines ...string) {
	t.Helper()
	var raw [][]byte
	for _, l := range lines {
		raw = append(raw, []byte(l))
	}
	if _, err := s.Append(t.Context(), engine.Append{Lines: raw}); err != nil {
		t.Fatal(err)
	}
}

// window is what another node reads of a session without its snapshot.
func (r *rig) window(t *testing.T, id core.SessionID) *core.Window {
	t.Helper()
	ss := engine.NewSessions(engine.Config{Log: r.log, Blobs: materializer.NewBlobs(r.blobs), Snapshots: unread{t}, Dialects: dialect.All(), Logger: r.quiet})
	t.Cleanup(func() { ss.Close(context.WithoutCancel(t.Context())) })
	return materializer.NewCache(ss, 64<<20).Window(t.Context(), id)
}

// contextAt returns the context of s and its number of entries.
func contextAt(t *testing.T, s *engine.Session) (built []byte, entries int) {
	t.Helper()
	err := s.View(func(st *core.State) (err error) {
		entries = len(st.Entries)
		built, err = st.Dialect.Context(st.Entries, st.Leaf(core.MainHead))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return built, entries
}

func TestContextOfCompactedSessionNeedsNoSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, _ := r.runAs(t, manual)
	s := r.compacted(t, m, "session-long")
	for range 3 {
		w := r.window(t, s.ID())
		if w == nil {
			t.Fatal("there is no window")
		}
		got, ok := w.Context(w.State.Leaf(core.MainHead))
		want, entries := contextAt(t, s)
		if !ok || !bytes.Equal(got, want) || len(w.State.Entries) > entries-45 {
			t.Fatalf("of %d entries of %d:\n%s %v\n%s", len(w.State.Entries), entries, got, ok, want)
		}
		r.say(t, s, `{"type":"message","message":{"role":"user","content":"later"}}`)
	}
	// A compaction that keeps more than the last one needs the session.
	first := ""
	_ = s.View(func(st *core.State) error { first = st.Entries[3].ID; return nil })
	r.say(t, s, fmt.Sprintf(`{"type":"compaction","summary":"T","firstKeptEntryId":%q,"tokensBefore":9}`, first))
	w := r.window(t, s.ID())
	if w == nil {
		t.Fatal("there is no window")
	}
	if got, ok := w.Context(w.State.Leaf(core.MainHead)); ok {
		t.Errorf("a context is made of entries that the window lacks: %s", got)
	}
}

// A record that replaces entries makes a window useless, and a window never holds what
// was redacted.
func TestWindowEndsWithRedaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, _ := r.runAs(t, manual)
	s := r.compacted(t, m, "session-long")
	r.say(t, s, `{"type":"message","id":"secret","message":{"role":"user","content":"hunter2"}}`)
	draft := s.Draft(func(seq uint64, sum core.Digest) string { return materializer.SnapshotKey("main", s.ID(), seq, sum) })
	if err := r.snapshots.Keep(t.Context(), draft); err != nil || draft.Manifest.Window == nil {
		t.Fatalf("%+v: %v", draft.Manifest, err)
	}
	if err := s.Redact(t.Context(), engine.Redaction{IDs: []string{"secret"}, Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(t.Context(), draft); !errors.Is(err, engine.ErrStaleDraft) {
		t.Errorf("one with what was redacted: %v", err)
	}
	if w := r.window(t, s.ID()); w != nil {
		t.Errorf("after a redaction there is a window of %d entries", len(w.State.Entries))
	}
	if _, err := m.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := r.window(t, s.ID())
	if w == nil {
		t.Fatal("there is no window")
	}
	got, ok := w.Context(w.State.Leaf(core.MainHead))
	if want, _ := contextAt(t, s); !ok || !bytes.Equal(got, want) || bytes.Contains(got, []byte("hunter2")) {
		t.Errorf("%s\n%s", got, want)
	}
}

// Windows in a manifest are untrusted input.
func TestInvalidWindowIsIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, _ := r.runAs(t, manual)
	s := r.compacted(t, m, "session-long")
	for name, spoil := range map[string]func(w *core.WindowPart){
		"no bytes":     func(w *core.WindowPart) { w.Inline = nil },
		"other bytes":  func(w *core.WindowPart) { w.Inline = bytes.Clone(w.Inline[:len(w.Inline)-1]) },
		"another size": func(w *core.WindowPart) { w.Size++ },
		"too large":    func(w *core.WindowPart) { w.Size = 1 << 40 },
		"negative":     func(w *core.WindowPart) { w.Size = -1 },
		"no entries":   func(w *core.WindowPart) { w.Before = 1 << 30 },
		"before all":   func(w *core.WindowPart) { w.Before = -1 },
	} {
		r.say(t, s, `{"type":"message","message":{"role":"user","content":"later"}}`)
		draft := s.Draft(func(seq uint64, sum core.Digest) string { return materializer.SnapshotKey("main", s.ID(), seq, sum) })
		if err := r.snapshots.Keep(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
		spoil(draft.Manifest.Window)
		if err := s.Checkpoint(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
		if r.window(t, s.ID()) != nil {
			t.Errorf("%s: it is used", name)
		}
		if _, err := r.sessions.Open(t.Context(), s.ID()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
