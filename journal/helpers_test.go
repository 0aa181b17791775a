package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/journal"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
)

var (
	seed = flag.Uint64("seed", 0, "play this random history alone")
	long = flag.Bool("long", false, "play many random histories")
)

var quiet = slog.New(slog.DiscardHandler)

// blobs are kept in memory, for snapshots, too.
type blobs struct {
	mu  sync.Mutex
	all map[core.Digest][]byte
}

func (b *blobs) Put(_ context.Context, p []byte) (core.Digest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := core.DigestOf(p)
	b.all[d] = bytes.Clone(p)
	return d, nil
}

func (b *blobs) Get(_ context.Context, d core.Digest) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.all[d]
	if !ok {
		return nil, core.ErrNotFound
	}
	return p, nil
}

// logOn returns a log for package session on l.
func logOn(l core.Log) *stream.Local {
	return stream.NewLocal(stream.NewSessions(stream.Config{
		Log: l, Blobs: &blobs{all: map[core.Digest][]byte{}}, Dialects: dialect.All(), Host: "host",
		Timeout: 20 * time.Second, Logger: quiet,
	}), nil)
}

// A line is a log that can be away, and lose answers.
type line struct {
	session.Log
	mu   sync.Mutex
	down bool
	odds func() (before, after bool) // what goes wrong by chance
}

func (f *line) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func (f *line) call(do func() error) error {
	f.mu.Lock()
	down, before, after := f.down, false, false
	if f.odds != nil {
		before, after = f.odds()
	}
	f.mu.Unlock()
	if down || before {
		return fmt.Errorf("away: %w", core.ErrUnavailable)
	}
	err := do()
	if after {
		return fmt.Errorf("the answer was lost: %w", core.ErrUncertain)
	}
	return err
}

func (f *line) Create(ctx context.Context, n session.New) (at core.Cursor, err error) {
	err = f.call(func() (err error) { at, err = f.Log.Create(ctx, n); return })
	return at, err
}

func (f *line) Load(ctx context.Context, id core.SessionID) (out session.Loaded, err error) {
	err = f.call(func() (err error) { out, err = f.Log.Load(ctx, id); return })
	return out, err
}

func (f *line) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (rec session.Receipt, err error) {
	err = f.call(func() (err error) { rec, err = f.Log.Append(ctx, id, w, lines); return })
	return rec, err
}

func (f *line) Amend(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (at core.Cursor, err error) {
	err = f.call(func() (err error) { at, err = f.Log.Amend(ctx, id, w, lines); return })
	return at, err
}

func (f *line) Move(ctx context.Context, id core.SessionID, w session.Writing, leaf core.Leaf) (at core.Cursor, err error) {
	err = f.call(func() (err error) { at, err = f.Log.Move(ctx, id, w, leaf); return })
	return at, err
}

func (f *line) Claim(ctx context.Context, id core.SessionID, c session.Claim) (mine core.Claim, err error) {
	err = f.call(func() (err error) { mine, err = f.Log.Claim(ctx, id, c); return })
	return mine, err
}

func (f *line) Release(ctx context.Context, id core.SessionID, w session.Writing) error {
	return f.call(func() error { return f.Log.Release(ctx, id, w) })
}

// A world is a log, the line to it, and a journal on this side.
type world struct {
	t    *testing.T
	log  session.Log
	line *line
	dir  string
	j    *journal.Journal
	*journal.Log
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOn(t, memlog.New("test"))
}

func worldOn(t *testing.T, l core.Log) *world {
	t.Helper()
	w := &world{t: t, log: logOn(l), dir: t.TempDir()}
	w.line = &line{Log: w.log}
	w.open()
	t.Cleanup(func() { _ = w.j.Close() })
	return w
}

// open opens the journal, as the next process would.
func (w *world) open() {
	w.t.Helper()
	if w.j != nil {
		must(w.t, w.j.Close())
	}
	w.j = openJournal(w.t, w.dir, journal.Options{})
	w.Log = journal.New(w.line, w.j, journal.Config{Logger: quiet})
}

func openJournal(t *testing.T, dir string, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), dir, o)
	must(t, err)
	return j
}

const id = core.SessionID("session-one")

// create makes the session in the log, with one entry.
func (w *world) create() {
	w.t.Helper()
	_, err := w.log.Create(w.t.Context(), newSession())
	must(w.t, err)
}

func newSession() session.New {
	h := pi.Dialect{}.NewHeader(core.HeaderFields{ID: string(id), Time: "2026-01-02T03:04:05.678Z", CWD: "/w"})
	return session.New{ID: id, Dialect: "pi", Header: h, Lines: [][]byte{whole("first", "")}, Key: "key"}
}

// whole is an entry line with all it needs, bare one without id, parent, time.
func whole(id, parent string) []byte {
	p, _ := json.Marshal(parent)
	if parent == "" {
		p = []byte("null")
	}
	return fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"hi"}}`, id, p)
}

func bare(text string) []byte {
	return fmt.Appendf(nil, `{"type":"message","message":{"role":"user","content":%q}}`, text)
}

// append appends through the journal.
func (w *world) append(wr session.Writing, lines ...[]byte) session.Receipt {
	w.t.Helper()
	rec, err := w.Append(w.t.Context(), id, wr, lines)
	must(w.t, err)
	return rec
}

func (w *world) send() journal.Sent {
	w.t.Helper()
	sent, err := w.Send(w.t.Context(), id)
	must(w.t, err)
	return sent
}

// waits is how many steps wait.
func (w *world) waits() int {
	n := 0
	for _, s := range w.j.Sessions() {
		n += s.Entries
	}
	return n
}

// has is the session as the log has it.
func (w *world) has() *session.Session {
	w.t.Helper()
	s, err := session.Open(w.t.Context(), w.log, id, session.Options{Access: session.ReadOnly})
	must(w.t, err)
	return s
}

// path is the texts or ids of the entries from the root to where head stands.
func path(t *testing.T, l session.Log, head string) []string {
	t.Helper()
	loaded, err := l.Load(t.Context(), id)
	must(t, err)
	es := make([]core.Entry, len(loaded.Lines))
	for i, line := range loaded.Lines {
		es[i], err = pi.Dialect{}.Entry(line)
		must(t, err)
	}
	leaf, ok := loaded.Heads[head]
	if !ok {
		t.Fatalf("there is no head %q in %v", head, loaded.Heads)
	}
	on, err := pi.Dialect{}.Path(es, leaf)
	must(t, err)
	var out []string
	for _, e := range on {
		var m struct{ Message struct{ Content string } }
		must(t, json.Unmarshal(e.Line, &m))
		if m.Message.Content != "hi" {
			out = append(out, m.Message.Content)
		} else {
			out = append(out, e.ID)
		}
	}
	return out
}

// ownHead is the one head of the log that the journal made.
func ownHead(t *testing.T, l session.Log) string {
	t.Helper()
	loaded, err := l.Load(t.Context(), id)
	must(t, err)
	own := ""
	for head := range loaded.Heads {
		if strings.HasPrefix(head, "offline-") {
			if own != "" {
				t.Fatalf("heads %v", loaded.Heads)
			}
			own = head
		}
	}
	if own == "" {
		t.Fatalf("no head of its own among %v", loaded.Heads)
	}
	return own
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

func equal(t *testing.T, what string, want, got []string) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func newRand(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 7)) }

func textOf(t *testing.T, e core.Entry) string {
	t.Helper()
	var m struct{ Message struct{ Content string } }
	must(t, json.Unmarshal(e.Line, &m))
	return m.Message.Content
}
