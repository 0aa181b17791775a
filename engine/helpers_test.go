package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.MoreParallel()
	os.Exit(m.Run())
}

// node returns the sessions of l as seen by one node.
func node(l core.Log, b *streamtest.Blobs) *engine.Sessions {
	return engine.NewSessions(engine.Config{
		Log: full(l), Blobs: b, Snapshots: b, Dialects: dialect.All(), Host: "host",
		Timeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
}

// memory returns an in-memory log and one node on it.
func inMemory() (*memlog.Log, *engine.Sessions, *streamtest.Blobs) {
	l, b := memlog.New("test"), streamtest.NewBlobs()
	return l, node(l, b), b
}

// create makes a session that holds lines.
func create(t *testing.T, ss *engine.Sessions, id core.SessionID, lines ...string) *engine.Session {
	t.Helper()
	s, err := ss.Create(t.Context(), birth(t, id, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// birth describes a new session that holds lines.
func birth(t testing.TB, id core.SessionID, lines ...string) engine.CreateRequest {
	t.Helper()
	b := engine.CreateRequest{ID: id, Origin: core.Origin{Dialect: "pi"}}
	var err error
	b.Header, err = pi.Dialect{}.Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: string(id), Time: "2026-01-02T03:04:05.678Z", CWD: "/w"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		e, err := pi.Dialect{}.Entry([]byte(l))
		if err != nil {
			t.Fatal(err)
		}
		b.Entries = append(b.Entries, e)
	}
	return b
}

func open(t *testing.T, ss *engine.Sessions, id core.SessionID) *engine.Session {
	t.Helper()
	s, err := ss.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// message is an entry line without a parent and a time.
func message(id string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"message":{"role":"user","content":"hi"}}`, id)
}

// entry is a complete entry line. An empty parent makes a root.
func entry(id, parent string) string {
	p, _ := json.Marshal(parent)
	if parent == "" {
		p = []byte("null")
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"hi"}}`, id, p)
}

func appendLines(ctx context.Context, s *engine.Session, lines ...string) (core.Receipt, error) {
	return s.Append(ctx, engine.Append{Lines: rawLines(lines)})
}

func rawLines(lines []string) [][]byte {
	raw := make([][]byte, len(lines))
	for i := range lines {
		raw[i] = []byte(lines[i])
	}
	return raw
}

// mustAppend appends lines to head as writer.
func mustAppend(t *testing.T, s *engine.Session, head, writer string, lines ...string) core.Receipt {
	t.Helper()
	rec, err := s.Append(t.Context(), engine.Append{Head: head, Writer: writer, Lines: rawLines(lines)})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func claim(t *testing.T, s *engine.Session, q core.ClaimRequest) core.Claim {
	t.Helper()
	mine, _, err := s.Claim(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return mine
}

// records returns all of a session's records.
func records(t *testing.T, l core.Log, id core.SessionID) []*core.Record {
	t.Helper()
	last, err := l.Last(t.Context(), id)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var rs []*core.Record
	var after core.Pos
	for after < last.Pos {
		for r, err := range l.Read(t.Context(), id, after, last.Pos) {
			if err != nil {
				t.Fatal(err)
			}
			rs, after = append(rs, r), r.Pos
		}
	}
	return rs
}

// folded returns the state that results from rs.
func folded(t *testing.T, l core.Log, id core.SessionID, rs []*core.Record) *core.State {
	t.Helper()
	st := core.NewState(l.Name(), id, dialect.All())
	for _, r := range rs {
		if err := st.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// state returns the session's state. The caller must not write to the session
// meanwhile.
func state(t *testing.T, s *engine.Session) *core.State {
	t.Helper()
	var st *core.State
	if err := s.View(func(v *core.State) error { st = v; return nil }); err != nil {
		t.Fatal(err)
	}
	return st
}

func ids(st *core.State) []string {
	var ids []string
	for i := range st.Entries {
		ids = append(ids, st.Entries[i].ID)
	}
	return ids
}

// sameState compares states field by field.
func sameState(t *testing.T, what string, want, got *core.State) {
	t.Helper()
	asWhole := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
	opts := cmp.Options{cmpopts.IgnoreUnexported(core.State{}), cmpopts.IgnoreFields(core.State{}, "Appended"), cmpopts.EquateEmpty(), cmp.AllowUnexported(core.Leaf{}), asWhole}
	if d := cmp.Diff(want, got, opts); d != "" {
		t.Errorf("%s: another state (-want +got)\n%s", what, d)
	}
}

// checkpoint stores a snapshot of s and the record that names it.
func checkpoint(t *testing.T, s *engine.Session, b *streamtest.Blobs) {
	t.Helper()
	if err := tryCheckpoint(t.Context(), s, b); err != nil {
		t.Fatal(err)
	}
}

func tryCheckpoint(ctx context.Context, s *engine.Session, b *streamtest.Blobs) error {
	d := draft(s)
	if _, err := b.Put(ctx, d.Plain); err != nil {
		return err
	}
	return s.Checkpoint(ctx, d)
}

func draft(s *engine.Session) *engine.Draft {
	return s.Draft(func(seq uint64, sum core.Digest) string { return fmt.Sprintf("%d-%s", seq, sum) })
}
