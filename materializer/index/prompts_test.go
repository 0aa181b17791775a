package index_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	pidialect "github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
)

// plainPi is pi with a Read that returns texts only.
type plainPi struct{ pidialect.Dialect }

func (plainPi) Read(e core.Entry) []item.Item {
	var l struct {
		Message struct {
			Role    item.Role `json:"role"`
			Content string    `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(e.Line, &l) != nil {
		return nil
	}
	return []item.Item{{
		Kind: item.Message, Role: l.Message.Role, Time: e.Time,
		Blocks: []item.Block{{Kind: item.BlockText, Text: l.Message.Content}},
	}}
}

// A rig is a log in memory and sessions on it.
type rig struct {
	log      *memlog.Log
	sessions *engine.Sessions
	all      map[core.SessionID]*engine.Session
}

func newRig() *rig {
	l := memlog.New("test")
	return &rig{log: l, all: map[core.SessionID]*engine.Session{}, sessions: engine.NewSessions(engine.Config{
		Log: engine.Plain(l), Dialects: core.Dialects{"pi": plainPi{}}, Host: "host", Logger: slog.New(slog.DiscardHandler),
	})}
}

// A node is an index that runs.
type node struct {
	*index.Index
	t    *testing.T
	logs *logs
	stop func()
}

// start runs an index in a file until stop is called or the test ends, and puts all
// sessions into it.
func (r *rig) start(t *testing.T, path string) *node {
	t.Helper()
	n := &node{t: t, logs: &logs{}}
	x, err := index.Open(t.Context(), index.Config{Path: path, Log: "test", Logger: slog.New(slog.NewTextHandler(n.logs, nil))})
	testkit.Must(t, err)
	n.Index = x
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		testkit.Must(t, x.Close())
	})
	t.Cleanup(n.stop)
	for _, s := range r.all {
		x.Put(viewOf(s))
	}
	return n
}

func viewOf(s *engine.Session) (v materializer.View) {
	_ = s.View(func(st *core.State) error {
		v = materializer.ViewOf(st)
		return nil
	})
	return v
}

// logs collects what an index logs.
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

// Prompts searches what was put.
func (n *node) Prompts(ctx context.Context, q catalog.PromptQuery) (catalog.PromptPage, error) {
	n.Sync(ctx)
	return n.Index.Prompts(ctx, q)
}

// search returns the prompts that a query finds, as "session/entry: prompt".
func (n *node) search(q catalog.PromptQuery) []string {
	n.t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	page, err := n.Prompts(n.t.Context(), q)
	testkit.Must(n.t, err)
	return promptLines(page)
}

func promptLines(page catalog.PromptPage) []string {
	var out []string
	for _, p := range page.Prompts {
		out = append(out, fmt.Sprintf("%s/%s: %s", p.Session, p.Entry, p.Prompt))
	}
	return out
}

// put puts s into nodes.
func (r *rig) put(t *testing.T, s *engine.Session, to ...*node) {
	t.Helper()
	if err := s.Refresh(t.Context()); err != nil && !errors.Is(err, core.ErrDeleted) {
		t.Fatal(err)
	}
	r.all[s.ID()] = s
	for _, n := range to {
		n.Put(viewOf(s))
	}
}

func (r *rig) create(t *testing.T, id, cwd string, to ...*node) *engine.Session {
	t.Helper()
	h, err := pidialect.Dialect{}.Header(pidialect.Dialect{}.NewHeader(core.HeaderFields{ID: id, Time: "2026-01-01T00:00:00.000Z", CWD: cwd}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.sessions.Create(t.Context(), engine.CreateRequest{ID: core.SessionID(id), Origin: core.Origin{Dialect: "pi", Host: "laptop"}, Header: h})
	if err != nil {
		t.Fatal(err)
	}
	r.put(t, s, to...)
	return s
}

// asks is an entry's line.
func asks(id string, minute int, role, text string) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"message","id":%q,"timestamp":"2026-01-01T00:%02d:00.000Z","message":{"role":%q,"content":%s}}`, id, minute, role, b)
}

// say appends a prompt that was given at that minute.
func (r *rig) say(t *testing.T, s *engine.Session, id string, minute int, text string, to ...*node) {
	t.Helper()
	r.add(t, s, asks(id, minute, "user", text), to...)
}

func (r *rig) add(t *testing.T, s *engine.Session, line string, to ...*node) {
	t.Helper()
	if _, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
		t.Fatal(err)
	}
	r.put(t, s, to...)
}

// store stores a record that this version does not write.
func (r *rig) store(t *testing.T, s *engine.Session, kind core.Kind, body string, to ...*node) {
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
	r.put(t, s, to...)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func dbPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "index.db")
}

// OMP-43
func TestPromptsAreFoundByWords(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	a, b := r.create(t, "session-a", "/src/site", n), r.create(t, "session-b", "/src/api", n)
	r.say(t, a, "a1", 1, "Fix the login page, please", n)
	r.add(t, a, asks("a2", 2, "assistant", "The login page is fixed"), n)
	r.say(t, b, "b1", 3, "Why does Login fail?\nSee the café's log", n)
	r.say(t, a, "a3", 4, "Now the footer", n)

	want(t, n.search(catalog.PromptQuery{}), "session-a/a3: Now the footer",
		"session-b/b1: Why does Login fail?\nSee the café's log", "session-a/a1: Fix the login page, please")
	want(t, n.search(catalog.PromptQuery{Text: "login"}),
		"session-b/b1: Why does Login fail?\nSee the café's log", "session-a/a1: Fix the login page, please")
	for _, q := range []catalog.PromptQuery{
		{Text: "login page"},
		{Text: "PLEASE fix"},
		{Text: "page pleas"}, // the beginning of the last word
		{Text: "login", CWD: "/src/site"},
		{Text: "login", Session: "session-a"},
	} {
		want(t, n.search(q), "session-a/a1: Fix the login page, please")
	}
	want(t, n.search(catalog.PromptQuery{Text: "cafe's LOG"}), "session-b/b1: Why does Login fail?\nSee the café's log")
	want(t, n.search(catalog.PromptQuery{CWD: "/src/api"}), "session-b/b1: Why does Login fail?\nSee the café's log")
	for _, q := range []catalog.PromptQuery{
		{Text: "fixed"}, {Text: "log page"}, {CWD: "/src"}, {Dialect: "omp"}, {Session: "session-c"},
	} {
		if got := n.search(q); got != nil {
			t.Errorf("%+v finds %q", q, got)
		}
	}
}

// OMP-43: the fields of a prompt.
func TestPromptFields(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	s := r.create(t, "session-a", "/src/site", n)
	r.say(t, s, "a1", 1, "fix the login page", n)
	page, err := n.Prompts(t.Context(), catalog.PromptQuery{Text: "log", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]catalog.Prompt{{
		Session: "session-a", Entry: "a1", Dialect: "pi", Host: "laptop", CWD: "/src/site",
		Time: "2026-01-01T00:01:00.000Z", Prompt: "fix the login page", Snippet: "fix the login page", Matches: []catalog.Span{{From: 8, To: 13}},
	}}, page.Prompts); diff != "" {
		t.Error(diff)
	}
}

func TestFileIsReadableByOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b%20#")
	r, path := newRig(), filepath.Join(dir, "index.db")
	testkit.Must(t, os.Mkdir(dir, 0o700))
	n := r.start(t, path)
	s := r.create(t, "session-a", "/w", n)
	r.say(t, s, "a1", 1, "one", n)
	want(t, n.search(catalog.PromptQuery{}), "session-a/a1: one")
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		testkit.Must(t, err)
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", f, info.Mode())
		}
	}
}

// OMP-44
func TestRepeatedPromptIsKeptOnce(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	s := r.create(t, "session-a", "/w", n)
	for i, text := range []string{"go on", "go on", "stop", "go on", "go on", "go on"} {
		r.say(t, s, fmt.Sprint("a", i), i+1, text, n)
		if i%2 == 0 { // read now, or together with the next
			n.Sync(t.Context())
		}
	}
	all := []string{"session-a/a3: go on", "session-a/a2: stop", "session-a/a0: go on"}
	want(t, n.search(catalog.PromptQuery{}), all...)
	n.stop()

	again := r.start(t, dbPath(t)) // all at once
	want(t, again.search(catalog.PromptQuery{}), all...)
}

// OMP-43, FLEET-19
func TestPromptsAreTheSameOnAllNodes(t *testing.T) {
	t.Parallel()
	r := newRig()
	one := r.start(t, dbPath(t))
	var all []*engine.Session
	for i := range 5 {
		all = append(all, r.create(t, fmt.Sprintf("session-%d", i), fmt.Sprint("/w", i%2), one))
	}
	for i := range 60 {
		r.say(t, all[i*7%5], fmt.Sprint("e", i), i*13%60, fmt.Sprintf("do thing %d again", i/3), one)
	}
	other := r.start(t, dbPath(t))
	for _, q := range []catalog.PromptQuery{
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
	q := catalog.PromptQuery{Limit: 7}
	var paged []string
	for {
		page, err := one.Prompts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, promptLines(page)...)
		if q.Before = page.Next; q.Before == "" {
			break
		}
	}
	want(t, paged, other.search(catalog.PromptQuery{})...)
}

func TestPromptsAfterRestart(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	n := r.start(t, path)
	a, b := r.create(t, "session-a", "/w", n), r.create(t, "session-b", "/w", n)
	r.say(t, a, "a1", 1, "one", n)
	r.say(t, b, "b1", 2, "two", n)
	n.search(catalog.PromptQuery{})
	n.stop()

	r.say(t, a, "a2", 3, "three") // while no index runs
	n = r.start(t, path)
	want(t, n.search(catalog.PromptQuery{}), "session-a/a2: three", "session-b/b1: two", "session-a/a1: one")
	if n.logs.warnings() != 0 {
		t.Errorf("it warned:\n%s", &n.logs.b)
	}
}

func TestPromptsAfterKill(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	n := r.start(t, path)
	s := r.create(t, "session-a", "/w", n)
	r.say(t, s, "a1", 1, "one", n)
	n.search(catalog.PromptQuery{})
	left := dbPath(t) // as a process leaves it that had no time to close it
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(left+suffix, b, 0o600))
	}
	r.say(t, s, "a2", 2, "two", n)
	n = r.start(t, left)
	want(t, n.search(catalog.PromptQuery{Text: "o"}), "session-a/a1: one")
	want(t, n.search(catalog.PromptQuery{}), "session-a/a2: two", "session-a/a1: one")
	if n.logs.warnings() != 0 {
		t.Errorf("it warned:\n%s", &n.logs.b)
	}
}

func TestPromptsOfUnusableFileAreReadAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"lost": func(t *testing.T, path string) { testkit.Must(t, os.Remove(path)) },
		"no database": func(t *testing.T, path string) {
			testkit.Must(t, os.WriteFile(path, []byte("hello, I am a text"), 0o600))
		},
		"first page bad": func(t *testing.T, path string) { overwrite(t, path, 100, 3000) },
		"older schema":   func(t *testing.T, path string) { execSQL(t, path, `PRAGMA user_version = 99`) },
		"another log's":  func(t *testing.T, path string) { execSQL(t, path, `UPDATE meta SET value = 'other' WHERE key = 'log'`) },
		"without index":  func(t *testing.T, path string) { execSQL(t, path, `DROP TABLE prompt_words`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, path := newRig(), dbPath(t)
			n := r.start(t, path)
			s := r.create(t, "session-a", "/w", n)
			r.say(t, s, "a1", 1, "one", n)
			n.search(catalog.PromptQuery{})
			n.stop()
			spoil(t, path)
			n = r.start(t, path)
			want(t, n.search(catalog.PromptQuery{Text: "one"}), "session-a/a1: one")
			r.say(t, s, "a2", 2, "two", n)
			want(t, n.search(catalog.PromptQuery{}), "session-a/a2: two", "session-a/a1: one")
			warned := 1
			if name == "lost" {
				warned = 0
			}
			if got := n.logs.warnings(); got != warned {
				t.Errorf("%d warnings, want %d:\n%s", got, warned, &n.logs.b)
			}
		})
	}
}

func TestPromptsOfCorruptFileAreReadAgain(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	n := r.start(t, path)
	s := r.create(t, "session-a", "/w", n)
	for i := range 300 {
		r.say(t, s, fmt.Sprint("a", i), 1, fmt.Sprintf("prompt %d %s", i, strings.Repeat("x", 1000)), n)
	}
	n.search(catalog.PromptQuery{})
	n.stop()
	info, err := os.Stat(path)
	testkit.Must(t, err)
	overwrite(t, path, 1<<17, int(info.Size())-1<<17)

	n = r.start(t, path) // its first pages are fine
	q := catalog.PromptQuery{Text: "prompt", Limit: 1000}
	for range 100 {
		page, err := n.Prompts(t.Context(), q)
		if err == nil && len(page.Prompts) == 300 {
			return
		}
		if err != nil && !errors.Is(err, core.ErrUnavailable) {
			t.Fatal(err)
		}
		n.Sync(t.Context())
		n.Put(viewOf(s)) // as the materializer does, which reads the log again
		n.Sync(t.Context())
	}
	t.Fatalf("the prompts are not found again:\n%s", &n.logs.b)
}

// An index cannot see that a file which is intact is wrong.
func TestPromptsAreReadAgainAfterForget(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	n := r.start(t, path)
	s := r.create(t, "session-a", "/w", n)
	r.say(t, s, "a1", 1, "one", n)
	r.say(t, s, "a2", 2, "two", n)
	right := []string{"session-a/a2: two", "session-a/a1: one"}
	want(t, n.search(catalog.PromptQuery{}), right...)
	execSQL(t, path, `UPDATE prompts SET created = 1 WHERE text = 'two'`)
	want(t, n.search(catalog.PromptQuery{}), right[1], right[0])
	n.ForgetIf(func(core.SessionID) bool { return true })
	want(t, n.search(catalog.PromptQuery{}))
	n.Put(viewOf(s))
	want(t, n.search(catalog.PromptQuery{}), right...)
	want(t, n.search(catalog.PromptQuery{Text: "one"}), right[1])
}

func TestPromptsOfDeletedSessionsAreNotFound(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	s := r.create(t, "session-a", "/w", n)
	r.say(t, s, "a1", 1, "one", n)
	want(t, n.search(catalog.PromptQuery{}), "session-a/a1: one")
	testkit.Must(t, s.Delete(t.Context(), core.Notice{}))
	r.put(t, s, n)
	want(t, n.search(catalog.PromptQuery{}))
	testkit.Must(t, s.Undelete(t.Context(), core.Notice{}))
	r.put(t, s, n)
	want(t, n.search(catalog.PromptQuery{}), "session-a/a1: one")
}

func TestErasedAndRedactedPromptsAreOverwritten(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	n := r.start(t, path)
	a, b := r.create(t, "session-a", "/w", n), r.create(t, "session-b", "/w", n)
	r.say(t, a, "a1", 1, "the password is swordfish", n)
	r.say(t, a, "a2", 2, "thanks", n)
	r.say(t, b, "b1", 3, "my name is ishmael", n)
	want(t, n.search(catalog.PromptQuery{Text: "swordfish"}), "session-a/a1: the password is swordfish")

	r.store(t, a, core.KindAmend, asks("a1", 1, "user", "the password is gone"), n)
	r.store(t, b, core.KindErase, `{"time":"2026-01-01T00:00:00Z"}`, n)
	want(t, n.search(catalog.PromptQuery{}), "session-a/a2: thanks", "session-a/a1: the password is gone")
	want(t, n.search(catalog.PromptQuery{Text: "swordfish"}))
	for _, f := range []string{path, path + "-wal"} {
		raw, err := os.ReadFile(f)
		testkit.Must(t, err)
		for _, word := range []string{"swordfish", "ishmael"} {
			if bytes.Contains(raw, []byte(word)) {
				t.Errorf("%s still has %q", filepath.Base(f), word)
			}
		}
	}
}

func TestPromptAmendedWhileIndexWasStopped(t *testing.T) {
	t.Parallel()
	r, path := newRig(), dbPath(t)
	n := r.start(t, path)
	s := r.create(t, "session-a", "/w", n)
	r.say(t, s, "a1", 1, "secret", n)
	n.search(catalog.PromptQuery{})
	n.stop()
	r.say(t, s, "a2", 2, "next")
	r.store(t, s, core.KindAmend, asks("a1", 1, "user", "redacted"))
	n = r.start(t, path)
	want(t, n.search(catalog.PromptQuery{}), "session-a/a2: next", "session-a/a1: redacted")
}

func TestForkShowsOnlyItsOwnPrompts(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	a, b := r.create(t, "session-a", "/w", n), r.create(t, "session-b", "/w", n)
	for _, s := range []*engine.Session{a, b} {
		r.say(t, s, "a1", 1, "shared", n)
	}
	r.say(t, b, "b1", 2, "own", n)
	want(t, n.search(catalog.PromptQuery{}), "session-b/b1: own", "session-a/a1: shared")
	want(t, n.search(catalog.PromptQuery{Text: "shared"}), "session-a/a1: shared")
	want(t, n.search(catalog.PromptQuery{Session: "session-b"}), "session-b/b1: own", "session-b/a1: shared")
	testkit.Must(t, a.Delete(t.Context(), core.Notice{}))
	r.put(t, a, n)
	want(t, n.search(catalog.PromptQuery{}), "session-b/b1: own", "session-b/a1: shared")
}

func TestLongPromptsAreCut(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	s := r.create(t, "session-a", "/w", n)
	r.say(t, s, "a1", 1, strings.Repeat("héllo ", 20_000)+"end", n)
	page, err := n.Prompts(t.Context(), catalog.PromptQuery{Text: "hello", Limit: 1})
	testkit.Must(t, err)
	p := page.Prompts[0]
	if !p.Cut || len(p.Prompt) > 64<<10 || len(p.Prompt) < 64<<10-4 || !strings.HasPrefix(p.Snippet, "héllo") || len(p.Snippet) > 500 {
		t.Errorf("cut %v, %d bytes, snippet %q", p.Cut, len(p.Prompt), p.Snippet)
	}
	want(t, n.search(catalog.PromptQuery{Text: "end"}))
}

func TestSnippetShowsMatch(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	s := r.create(t, "session-a", "/w", n)
	for i, mid := range []string{"Ünïcode", "数据库迁移", "main.go", "e\u0301tude", "ภาษาไทย"} {
		r.say(t, s, fmt.Sprint("a", i), i, strings.Repeat("long words ", 50)+mid+strings.Repeat(" more", 100), n)
	}
	for q, found := range map[string]string{
		"unicode": "words Ünïcode more", "uni": "words Ünïcode more", "数据": "words 数据库迁移 more", "迁移": "库迁移 more",
		"main.go": "words main.go more", "étude": "words e\u0301tude more", "ไทย": "ไทย more",
	} {
		page, err := n.Prompts(t.Context(), catalog.PromptQuery{Text: q, Limit: 9})
		testkit.Must(t, err)
		if len(page.Prompts) != 1 || !strings.Contains(page.Prompts[0].Snippet, found) || len(page.Prompts[0].Snippet) > 200 {
			t.Errorf("%q: %+v", q, page.Prompts)
		}
	}
}

func TestPromptQueryIsNeverASyntaxError(t *testing.T) {
	t.Parallel()
	r := newRig()
	n := r.start(t, dbPath(t))
	s := r.create(t, "session-a", "/w", n)
	odd := `say "hello" AND NEAR(x) OR NOT {a b}: col^2 -- 'q' foo* + bar`
	r.say(t, s, "a1", 1, odd, n)
	r.say(t, s, "a2", 2, "数据库迁移到新的服务器 ภาษาไทย Ünïcode 🙂 ok", n)
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
		got := n.search(catalog.PromptQuery{Text: q})
		ids := ""
		for _, l := range got {
			ids += l[len("session-a/"):][:2]
		}
		if found != "?" && ids != found {
			t.Errorf("%q finds %q, want %q", q, ids, found)
		}
	}
	for _, q := range []catalog.PromptQuery{
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
		if _, err := n.Prompts(t.Context(), catalog.PromptQuery{Text: q.Text, Before: q.Before, Limit: 1}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func FuzzPromptQuery(f *testing.F) {
	for _, s := range []string{`"a`, "a*", "NEAR(", "数", "\x00a", "-- a", "a\u200b"} {
		f.Add(s)
	}
	x := newIndex(f)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := x.Prompts(t.Context(), catalog.PromptQuery{Text: text, Limit: 1}); err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Error(err)
		}
	})
}

func overwrite(t *testing.T, path string, from, n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	testkit.Must(t, err)
	if len(b) < from+n {
		t.Fatalf("the file has %d bytes", len(b))
	}
	copy(b[from:], slices.Repeat([]byte{0xA5}, n))
	testkit.Must(t, os.WriteFile(path, b, 0o600))
}
