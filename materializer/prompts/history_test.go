package prompts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/prompts"
	"github.com/sesslog/sesslog/stream"
)

// plainPi is pi with a Read that knows texts and nothing else.
type plainPi struct{ pi.Dialect }

func (plainPi) Read(e core.Entry) []core.Item {
	var l struct {
		Message struct {
			Role    core.Role `json:"role"`
			Content string    `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(e.Line, &l) != nil {
		return nil
	}
	return []core.Item{{
		Kind: core.ItemMessage, Role: l.Message.Role, Time: e.Time,
		Blocks: []core.Block{{Kind: core.BlockText, Text: l.Message.Content}},
	}}
}

// A rig is a log in memory and sessions on it.
type rig struct {
	log      *memlog.Log
	sessions *stream.Sessions
	changes  []stream.Change // of all there was
}

func newRig() *rig {
	l := memlog.New("test")
	return &rig{log: l, sessions: stream.NewSessions(stream.Config{
		Log: l, Dialects: core.Dialects{"pi": plainPi{}}, Host: "host", Logger: slog.New(slog.DiscardHandler),
	})}
}

// A keeper is a history that runs.
type keeper struct {
	*prompts.History
	t    *testing.T
	path string
	logs *logs
	stop func()
}

// keep runs a history in a file until stop is called or the test ends, and
// notes what there is.
func (r *rig) keep(t *testing.T, path string) *keeper {
	t.Helper()
	k := &keeper{t: t, path: path, logs: &logs{}}
	h, err := prompts.Open(t.Context(), prompts.Config{
		Path: path, Log: "test", Session: r.sessions.Open, Logger: slog.New(slog.NewTextHandler(k.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	k.History = h
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	k.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(k.stop)
	// As the materializer does it: where each session is.
	seqs := map[core.SessionID]uint64{}
	for _, ch := range r.changes {
		seqs[ch.Session] = ch.Seq
	}
	for id, seq := range seqs {
		h.Note(stream.Change{Session: id, Seq: seq})
	}
	return k
}

// logs is what a history said.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) warnings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), "level=WARN")
}

// search returns what a query finds, as "session/entry: prompt".
func (k *keeper) search(q materializer.PromptQuery) []string {
	k.t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	if err := k.CatchUp(k.t.Context()); err != nil { // a search alone does not wait for ever
		k.t.Fatal(err)
	}
	page, err := k.Search(k.t.Context(), q)
	if err != nil {
		k.t.Fatal(err)
	}
	if page.Behind != 0 {
		k.t.Fatalf("the answer lacks %d sessions", page.Behind)
	}
	return lines(page)
}

func lines(page materializer.PromptPage) []string {
	var out []string
	for _, p := range page.Prompts {
		out = append(out, fmt.Sprintf("%s/%s: %s", p.Session, p.Entry, p.Prompt))
	}
	return out
}

// note has histories hear of s's last record.
func (r *rig) note(t *testing.T, s *stream.Session, kind core.Kind, to ...*keeper) {
	t.Helper()
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	ch := stream.Change{Session: s.ID(), Kind: kind}
	_ = s.View(func(st *core.State) error {
		ch.Seq = st.Seq
		return nil
	})
	r.changes = append(r.changes, ch)
	for _, k := range to {
		k.Note(ch)
	}
}

func (r *rig) create(t *testing.T, id, cwd string, to ...*keeper) *stream.Session {
	t.Helper()
	h, err := pi.Dialect{}.Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: id, Time: "2026-01-01T00:00:00.000Z", CWD: cwd}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.sessions.Create(t.Context(), stream.Birth{ID: core.SessionID(id), Origin: core.Origin{Dialect: "pi", Host: "laptop"}, Header: h})
	if err != nil {
		t.Fatal(err)
	}
	r.note(t, s, core.KindOpen, to...)
	return s
}

// said is an entry's line.
func said(id string, minute int, role, text string) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"message","id":%q,"timestamp":"2026-01-01T00:%02d:00.000Z","message":{"role":%q,"content":%s}}`, id, minute, role, b)
}

// say appends a prompt that was given at that minute.
func (r *rig) say(t *testing.T, s *stream.Session, id string, minute int, text string, to ...*keeper) {
	t.Helper()
	r.add(t, s, said(id, minute, "user", text), to...)
}

func (r *rig) add(t *testing.T, s *stream.Session, line string, to ...*keeper) {
	t.Helper()
	if _, err := s.Append(t.Context(), stream.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
		t.Fatal(err)
	}
	r.note(t, s, core.KindAppend, to...)
}

// put stores a record that this version does not write.
func (r *rig) put(t *testing.T, s *stream.Session, kind core.Kind, body string, to ...*keeper) {
	t.Helper()
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec := &core.Record{Kind: kind, Body: []byte(body), Count: 1}
	var after core.Pos
	_ = s.View(func(st *core.State) error {
		rec.Seq, rec.Base, rec.Epoch, after = st.Seq+1, st.Base, st.Epoch, st.Pos
		rec.Chain = st.Chain.Next(rec)
		return nil
	})
	if _, err := r.log.Append(t.Context(), s.ID(), after, rec); err != nil {
		t.Fatal(err)
	}
	r.note(t, s, kind, to...)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func dbPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "prompts.db")
}

// OMP-43
func TestPromptsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	a, b := r.create(t, "session-a", "/src/site", k), r.create(t, "session-b", "/src/api", k)
	r.say(t, a, "a1", 1, "Fix the login page, please", k)
	r.add(t, a, said("a2", 2, "assistant", "The login page is fixed"), k)
	r.say(t, b, "b1", 3, "Why does Login fail?\nSee the café's log", k)
	r.say(t, a, "a3", 4, "Now the footer", k)

	want(t, k.search(materializer.PromptQuery{}), "session-a/a3: Now the footer",
		"session-b/b1: Why does Login fail?\nSee the café's log", "session-a/a1: Fix the login page, please")
	want(t, k.search(materializer.PromptQuery{Text: "login"}),
		"session-b/b1: Why does Login fail?\nSee the café's log", "session-a/a1: Fix the login page, please")
	for _, q := range []materializer.PromptQuery{
		{Text: "login page"},
		{Text: "PLEASE fix"},
		{Text: "page pleas"}, // the beginning of the last word
		{Text: "login", CWD: "/src/site"},
		{Text: "login", Session: "session-a"},
	} {
		want(t, k.search(q), "session-a/a1: Fix the login page, please")
	}
	want(t, k.search(materializer.PromptQuery{Text: "cafe's LOG"}), "session-b/b1: Why does Login fail?\nSee the café's log")
	want(t, k.search(materializer.PromptQuery{CWD: "/src/api"}), "session-b/b1: Why does Login fail?\nSee the café's log")
	for _, q := range []materializer.PromptQuery{
		{Text: "fixed"}, {Text: "log page"}, {CWD: "/src"}, {Dialect: "omp"}, {Session: "session-c"},
	} {
		if got := k.search(q); got != nil {
			t.Errorf("%+v finds %q", q, got)
		}
	}
}

// OMP-43: what is in the store of a prompt.
func TestAPromptSaysWhereAndWhenItWasGiven(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	s := r.create(t, "session-a", "/src/site", k)
	r.say(t, s, "a1", 1, "fix the login page", k)
	page, err := k.Search(t.Context(), materializer.PromptQuery{Text: "log", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]materializer.Prompt{{
		Session: "session-a", Entry: "a1", Dialect: "pi", Host: "laptop", CWD: "/src/site",
		Time: "2026-01-01T00:01:00.000Z", Prompt: "fix the login page", Snippet: "fix the login page",
	}}, page.Prompts); diff != "" {
		t.Error(diff)
	}
}

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b%20#")
	r, path := newRig(), filepath.Join(dir, "prompts.db")
	cfg := prompts.Config{Path: path, Log: "test", Logger: slog.New(slog.DiscardHandler)}
	if _, err := prompts.Open(t.Context(), cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its directory: %v", err)
	}
	must(t, os.Mkdir(dir, 0o700))
	k := r.keep(t, path)
	s := r.create(t, "session-a", "/w", k)
	r.say(t, s, "a1", 1, "one", k)
	want(t, k.search(materializer.PromptQuery{}), "session-a/a1: one")
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		must(t, err)
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", f, info.Mode())
		}
	}
}

// OMP-44
func TestWhatIsSaidAgainAtOnceIsKeptOnce(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	s := r.create(t, "session-a", "/w", k)
	for i, text := range []string{"go on", "go on", "stop", "go on", "go on", "go on"} {
		r.say(t, s, fmt.Sprint("a", i), i+1, text, k)
		if i%2 == 0 { // read now, or together with the next
			if err := k.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := []string{"session-a/a3: go on", "session-a/a2: stop", "session-a/a0: go on"}
	want(t, k.search(materializer.PromptQuery{}), all...)
	k.stop()

	again := r.keep(t, dbPath(t)) // all at once
	want(t, again.search(materializer.PromptQuery{}), all...)
}

// OMP-44: a turn waits for nothing here, whatever the history does.
func TestNotingNeverBlocks(t *testing.T) {
	t.Parallel()
	r := newRig()
	s := r.create(t, "session-a", "/w")
	stuck := make(chan struct{})
	h, err := prompts.Open(t.Context(), prompts.Config{
		Path: dbPath(t), Log: "test", Logger: slog.New(slog.DiscardHandler),
		Session: func(ctx context.Context, id core.SessionID) (*stream.Session, error) {
			select {
			case <-stuck:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return r.sessions.Open(ctx, id)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Run(ctx) }()
	k := &keeper{History: h, t: t}
	for i := range 500 {
		r.say(t, s, fmt.Sprint("a", i), 1, fmt.Sprint("prompt ", i), k)
	}
	if n := h.Behind(); n < 1 || n > 2 { // one session, not 500 records; perhaps another time while it is read
		t.Errorf("%d works wait", n)
	}
	close(stuck)
	if got := k.search(materializer.PromptQuery{}); len(got) != 500 {
		t.Errorf("%d prompts", len(got))
	}
	cancel()
	<-done
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// OMP-43, FLEET-19
func TestTwoNodesGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	r := newRig()
	one := r.keep(t, dbPath(t))
	var all []*stream.Session
	for i := range 5 {
		all = append(all, r.create(t, fmt.Sprintf("session-%d", i), fmt.Sprint("/w", i%2), one))
	}
	for i := range 60 {
		r.say(t, all[i*7%5], fmt.Sprint("e", i), i*13%60, fmt.Sprintf("do thing %d again", i/3), one)
	}
	other := r.keep(t, dbPath(t))
	for _, q := range []materializer.PromptQuery{
		{}, {Text: "thing"}, {Text: "thing 1"}, {CWD: "/w1"}, {Session: "session-3", Text: "do"}, {Limit: 7},
	} {
		a, b := one.search(q), other.search(q)
		if len(a) == 0 {
			t.Errorf("%+v finds nothing", q)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%+v: %s", q, diff)
		}
	}
	// Page by page it is the same.
	q := materializer.PromptQuery{Limit: 7}
	var paged []string
	for {
		page, err := one.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, lines(page)...)
		if q.Before = page.Next; q.Before == "" {
			break
		}
	}
	want(t, paged, other.search(materializer.PromptQuery{})...)
}

func TestAHistoryGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	k := r.keep(t, path)
	a, b := r.create(t, "session-a", "/w", k), r.create(t, "session-b", "/w", k)
	r.say(t, a, "a1", 1, "one", k)
	r.say(t, b, "b1", 2, "two", k)
	k.search(materializer.PromptQuery{})
	k.stop()

	r.say(t, a, "a2", 3, "three") // while nobody ran
	k = r.keep(t, path)
	if n := k.Behind(); n > 1 {
		t.Errorf("%d sessions are read again, one has changed", n)
	}
	want(t, k.search(materializer.PromptQuery{}), "session-a/a2: three", "session-b/b1: two", "session-a/a1: one")
	if k.logs.warnings() != 0 {
		t.Errorf("it warned:\n%s", &k.logs.b)
	}
}

func TestAHistoryGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	k := r.keep(t, path)
	s := r.create(t, "session-a", "/w", k)
	r.say(t, s, "a1", 1, "one", k)
	k.search(materializer.PromptQuery{})
	left := dbPath(t) // as a process leaves it that had no time to close it
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(left+suffix, b, 0o600))
	}
	r.say(t, s, "a2", 2, "two", k)
	k = r.keep(t, left)
	want(t, k.search(materializer.PromptQuery{Text: "o"}), "session-a/a1: one")
	want(t, k.search(materializer.PromptQuery{}), "session-a/a2: two", "session-a/a1: one")
	if k.logs.warnings() != 0 {
		t.Errorf("it warned:\n%s", &k.logs.b)
	}
}

func TestAFileThatIsOfNoUseIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, path string){
		"lost":           func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"no database":    func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("hello, I am a text"), 0o600)) },
		"first page bad": func(t *testing.T, path string) { overwrite(t, path, 100, 3000) },
		"older schema":   func(t *testing.T, path string) { execSQL(t, path, `PRAGMA user_version = 99`) },
		"another log's":  func(t *testing.T, path string) { execSQL(t, path, `UPDATE meta SET value = 'other'`) },
		"without index":  func(t *testing.T, path string) { execSQL(t, path, `DROP TABLE words`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, path := newRig(), dbPath(t)
			k := r.keep(t, path)
			s := r.create(t, "session-a", "/w", k)
			r.say(t, s, "a1", 1, "one", k)
			k.search(materializer.PromptQuery{})
			k.stop()
			harm(t, path)
			k = r.keep(t, path)
			want(t, k.search(materializer.PromptQuery{Text: "one"}), "session-a/a1: one")
			r.say(t, s, "a2", 2, "two", k)
			want(t, k.search(materializer.PromptQuery{}), "session-a/a2: two", "session-a/a1: one")
			warned := 1
			if name == "lost" {
				warned = 0
			}
			if n := k.logs.warnings(); n != warned {
				t.Errorf("%d warnings, want %d:\n%s", n, warned, &k.logs.b)
			}
		})
	}
}

func TestAFileThatIsDamagedWhileItIsUsedIsMadeAgain(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	k := r.keep(t, path)
	s := r.create(t, "session-a", "/w", k)
	for i := range 300 {
		r.say(t, s, fmt.Sprint("a", i), 1, fmt.Sprintf("prompt %d %s", i, strings.Repeat("x", 1000)), k)
	}
	k.search(materializer.PromptQuery{})
	k.stop()
	info, err := os.Stat(path)
	must(t, err)
	overwrite(t, path, 1<<16, int(info.Size())-1<<16)

	k = r.keep(t, path) // its first page is fine
	q := materializer.PromptQuery{Text: "prompt", Limit: 1000}
	deadline := time.Now().Add(20 * time.Second)
	for {
		page, err := k.Search(t.Context(), q)
		if err == nil && page.Behind == 0 && len(page.Prompts) == 300 {
			break
		}
		if err != nil && !errors.Is(err, core.ErrUnavailable) {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d prompts, %v:\n%s", len(page.Prompts), err, &k.logs.b)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A file that is sound and wrong is nothing that a history can see.
func TestAHistoryIsMadeAnewWhenAskedTo(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	k := r.keep(t, path)
	s := r.create(t, "session-a", "/w", k)
	r.say(t, s, "a1", 1, "one", k)
	want(t, k.search(materializer.PromptQuery{}), "session-a/a1: one")
	execSQL(t, path, `DELETE FROM prompts`)
	want(t, k.search(materializer.PromptQuery{}))
	must(t, k.Rebuild(t.Context()))
	want(t, k.search(materializer.PromptQuery{Text: "one"}), "session-a/a1: one")
	r.say(t, s, "a2", 2, "two", k)
	want(t, k.search(materializer.PromptQuery{}), "session-a/a2: two", "session-a/a1: one")
}

func TestSessionsInTheTrashAreNotFound(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	s := r.create(t, "session-a", "/w", k)
	r.say(t, s, "a1", 1, "one", k)
	want(t, k.search(materializer.PromptQuery{}), "session-a/a1: one")
	must(t, s.Delete(t.Context(), core.Notice{}))
	r.note(t, s, core.KindDelete, k)
	want(t, k.search(materializer.PromptQuery{}))
	must(t, s.Undelete(t.Context(), core.Notice{}))
	r.note(t, s, core.KindUndelete, k)
	want(t, k.search(materializer.PromptQuery{}), "session-a/a1: one")
}

func TestWhatIsErasedOrRedactedLeavesNothingInTheFile(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	k := r.keep(t, path)
	a, b := r.create(t, "session-a", "/w", k), r.create(t, "session-b", "/w", k)
	r.say(t, a, "a1", 1, "the password is swordfish", k)
	r.say(t, a, "a2", 2, "thanks", k)
	r.say(t, b, "b1", 3, "my name is ishmael", k)
	want(t, k.search(materializer.PromptQuery{Text: "swordfish"}), "session-a/a1: the password is swordfish")

	r.put(t, a, core.KindAmend, said("a1", 1, "user", "the password is gone"), k)
	r.put(t, b, core.KindErase, `{"time":"2026-01-01T00:00:00Z"}`, k)
	want(t, k.search(materializer.PromptQuery{}), "session-a/a2: thanks", "session-a/a1: the password is gone")
	want(t, k.search(materializer.PromptQuery{Text: "swordfish"}))
	for _, f := range []string{path, path + "-wal"} {
		raw, err := os.ReadFile(f)
		must(t, err)
		for _, word := range []string{"swordfish", "ishmael"} {
			if bytes.Contains(raw, []byte(word)) {
				t.Errorf("%s still has %q", filepath.Base(f), word)
			}
		}
	}
}

func TestAnAmendmentIsNotMissedWhenTheNodeStopsBetween(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	k := r.keep(t, path)
	s := r.create(t, "session-a", "/w", k)
	r.say(t, s, "a1", 1, "secret", k)
	k.search(materializer.PromptQuery{})
	// The history reads the session while the amendment is stored, but hears of
	// the append alone before the node stops.
	r.say(t, s, "a2", 2, "next")
	heard := r.changes[len(r.changes)-1]
	r.put(t, s, core.KindAmend, said("a1", 1, "user", "redacted"))
	k.Note(heard)
	must(t, k.CatchUp(t.Context()))
	k.stop()
	k = r.keep(t, path)
	want(t, k.search(materializer.PromptQuery{}), "session-a/a2: next", "session-a/a1: redacted")
}

func TestAForkShowsWhatItWasToldAlone(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	a, b := r.create(t, "session-a", "/w", k), r.create(t, "session-b", "/w", k)
	for _, s := range []*stream.Session{a, b} {
		r.say(t, s, "a1", 1, "shared", k)
	}
	r.say(t, b, "b1", 2, "own", k)
	want(t, k.search(materializer.PromptQuery{}), "session-b/b1: own", "session-a/a1: shared")
	want(t, k.search(materializer.PromptQuery{Text: "shared"}), "session-a/a1: shared")
	want(t, k.search(materializer.PromptQuery{Session: "session-b"}), "session-b/b1: own", "session-b/a1: shared")
	must(t, a.Delete(t.Context(), core.Notice{}))
	r.note(t, a, core.KindDelete, k)
	want(t, k.search(materializer.PromptQuery{}), "session-b/b1: own", "session-b/a1: shared")
}

func TestLongPromptsAreCut(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	s := r.create(t, "session-a", "/w", k)
	r.say(t, s, "a1", 1, strings.Repeat("héllo ", 20_000)+"end", k)
	page, err := k.Search(t.Context(), materializer.PromptQuery{Text: "hello", Limit: 1})
	must(t, err)
	p := page.Prompts[0]
	if !p.Cut || len(p.Prompt) > 64<<10 || len(p.Prompt) < 64<<10-4 || !strings.HasPrefix(p.Snippet, "héllo") || len(p.Snippet) > 500 {
		t.Errorf("cut %v, %d bytes, snippet %q", p.Cut, len(p.Prompt), p.Snippet)
	}
	want(t, k.search(materializer.PromptQuery{Text: "end"}))
}

func TestASnippetShowsTheWordThatWasFound(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	s := r.create(t, "session-a", "/w", k)
	for i, mid := range []string{"Ünïcode", "数据库迁移", "main.go", "e\u0301tude", "ภาษาไทย"} {
		r.say(t, s, fmt.Sprint("a", i), i, strings.Repeat("long words ", 50)+mid+strings.Repeat(" more", 100), k)
	}
	for q, found := range map[string]string{
		"unicode": "words Ünïcode more", "uni": "words Ünïcode more", "数据": "words 数据库迁移 more", "迁移": "库迁移 more",
		"main.go": "words main.go more", "étude": "words e\u0301tude more", "ไทย": "ไทย more",
	} {
		page, err := k.Search(t.Context(), materializer.PromptQuery{Text: q, Limit: 9})
		must(t, err)
		if len(page.Prompts) != 1 || !strings.Contains(page.Prompts[0].Snippet, found) || len(page.Prompts[0].Snippet) > 200 {
			t.Errorf("%q: %+v", q, page.Prompts)
		}
	}
}

func TestNoQueryIsASyntaxError(t *testing.T) {
	t.Parallel()
	r := newRig()
	k := r.keep(t, dbPath(t))
	s := r.create(t, "session-a", "/w", k)
	odd := `say "hello" AND NEAR(x) OR NOT {a b}: col^2 -- 'q' foo* + bar`
	r.say(t, s, "a1", 1, odd, k)
	r.say(t, s, "a2", 2, "数据库迁移到新的服务器 ภาษาไทย Ünïcode 🙂 ok", k)
	for q, found := range map[string]string{
		`"hello"`:                        "a1",
		`"hello`:                         "a1",
		`AND OR NOT`:                     "a1",
		`NEAR(x)`:                        "a1",
		`NEAR(x, 2`:                      "a1",
		`{a b}:`:                         "a1",
		`col^2`:                          "a1",
		`^say`:                           "a1",
		`'q'`:                            "a1",
		`foo*`:                           "a1",
		`+ bar`:                          "a1",
		`*** bar`:                        "a1",
		"hello\x00AND":                   "a1",
		"say\x00AND":                     "",
		"prompt:hello":                   "",
		"); DROP TABLE":                  "",
		"\xff\xfe hello":                 "a1",
		"数据库":                            "a2",
		"迁移":                             "a2",
		"服务":                             "a2",
		"器服":                             "",
		"ไทย":                            "a2",
		"unicode":                        "a2",
		"ok 🙂":                           "a2",
		"\U0001E4D0":                     "", // a letter that is newer than SQLite's tables
		"\U0001E4D0 hello":               "?",
		"e\u0301":                        "",
		strings.Repeat(`"`, 500) + "say": "a1",
	} {
		got := k.search(materializer.PromptQuery{Text: q})
		ids := ""
		for _, l := range got {
			ids += l[len("session-a/"):][:2]
		}
		if found != "?" && ids != found {
			t.Errorf("%q finds %q, want %q", q, ids, found)
		}
	}
	for _, q := range []materializer.PromptQuery{
		{Text: "***"},
		{Text: " "},
		{Text: "🙂"},
		{Text: "\u0301"},
		{Text: "\x00"},
		{Text: strings.Repeat("a ", 33)},
		{Text: strings.Repeat("a", 2000)},
		{Before: "x"},
		{Before: "1.2.3"},
		{Before: "1.2.x.session"},
		{Before: "99999999999999999999.1.1.s"},
		{Before: "+1.2.3.s"},
	} {
		if _, err := k.Search(t.Context(), materializer.PromptQuery{Text: q.Text, Before: q.Before, Limit: 1}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{`"a`, "a*", "NEAR(", "数", "\x00a", "-- a", "a\u200b"} {
		f.Add(s)
	}
	h, err := prompts.Open(context.Background(), prompts.Config{Path: filepath.Join(f.TempDir(), "p.db"), Log: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = h.Close() })
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := h.Search(t.Context(), materializer.PromptQuery{Text: text, Limit: 1}); err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Error(err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, from, n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	if len(b) < from+n {
		t.Fatalf("the file has %d bytes", len(b))
	}
	copy(b[from:], slices.Repeat([]byte{0xA5}, n))
	must(t, os.WriteFile(path, b, 0o600))
}
