package index_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// view returns a session with an entry for each text.
func view(id string, seq uint64, texts ...string) materializer.View {
	v := materializer.View{Dialect: pi, Row: catalog.Row{ID: core.SessionID(id), Dialect: "pi", CWD: "/w", Seq: seq, Summary: display.Summary{Created: iso(noon), Modified: iso(noon)}}}
	for i, text := range texts {
		v.Entries = append(v.Entries, message(i, "user", text, noon.Add(time.Duration(i)*time.Second)))
	}
	if len(texts) > 0 {
		v.Row.First = texts[0]
	}
	return v
}

func find(t testing.TB, x *index.Index, text string) (found []string) {
	t.Helper()
	found, _ = searchAll(t, x, catalog.SearchQuery{Text: text, Limit: 100})
	return found
}

// onDisk returns which files of the index contain text.
func onDisk(t *testing.T, path, text string) (in []string) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b := testkit.ReadFile(t, file)
		if bytes.Contains(bytes.ToLower(b), []byte(text)) {
			in = append(in, filepath.Base(file))
		}
	}
	return in
}

// Erased and removed sessions and redacted entries leave no text, in the file or
// beside it.
func TestErasedTextIsOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	defer x.Close()
	secrets := []string{"xylophonesecret", "quagmiresecret", "zeppelinsecret"}
	for i, s := range secrets {
		v := view(fmt.Sprintf("session-%d", i), 1, s+" at first", "and "+s+" again")
		v.Row.Name = "about " + s
		x.Put(v)
	}
	for i := range 300 { // other sessions, so that segments are merged
		x.Put(view(fmt.Sprintf("other-%04d", i), 1, fmt.Sprintf("something else %d", i)))
	}
	x.Sync(t.Context())
	for _, s := range secrets {
		if len(onDisk(t, path, s)) == 0 || len(find(t, x, s)) != 3 {
			t.Fatalf("%s: nothing to erase", s)
		}
	}
	erased := view("session-0", 2)
	erased.Row.Deleted, erased.Row.Erased = true, true
	x.Put(erased)
	redacted := view("session-1", 2, "redacted", "redacted")
	x.Put(redacted)
	x.Forget("session-2")
	x.Sync(t.Context())
	for _, s := range secrets {
		if in := onDisk(t, path, s); len(in) > 0 {
			t.Errorf("%s is still in %v", s, in)
		}
		if found := find(t, x, s); len(found) > 0 {
			t.Errorf("%s is found in %q", s, found)
		}
		// FTS5 stores words without their common prefixes.
		if in := onDisk(t, path, s[1:]); len(in) > 0 {
			t.Errorf("most of %s is still in %v", s, in)
		}
	}
	if len(find(t, x, "redacted")) != 2 || len(find(t, x, "else")) != 100 && len(find(t, x, "else")) != 300 {
		t.Error("other sessions lost text")
	}
}

// A row is only replaced by one of a higher seq, and Seq knows what was put before
// and after it is written.
func TestPutIgnoresOlderRows(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	x.Put(view("session-1", 5, "five"))
	x.Put(view("session-1", 4, "four"))
	if x.Seq("session-1") != 5 || x.Seq("session-2") != 0 {
		t.Error(x.Seq("session-1"))
	}
	x.Sync(t.Context())
	x.Put(view("session-1", 5, "five again"))
	x.Put(view("session-1", 3, "three"))
	x.Sync(t.Context())
	if x.Seq("session-1") != 5 || len(find(t, x, "five")) != 1 || len(find(t, x, "again"))+len(find(t, x, "three"))+len(find(t, x, "four")) != 0 {
		t.Error("an older row took a newer one's place")
	}
	x.Forget("session-1")
	if x.Seq("session-1") != 0 {
		t.Error("a forgotten row still has a seq")
	}
	x.Put(view("session-1", 2, "two"))
	x.Sync(t.Context())
	if x.Seq("session-1") != 2 || len(find(t, x, "two")) != 1 || x.Len() != 1 {
		t.Error("a forgotten row is not stored again")
	}
}

// Floors are on disk together with the rows that they describe, or not at all.
func TestFloorsAreStoredWithTheirRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	floor := materializer.Floor{Pos: 7, Chain: core.Chain{1, 2}}
	x.Put(view("session-1", 5, "five"))
	x.SetFloor(3, floor)
	other := open(t, path) // as a start after a crash sees it
	if other.Floor(3) != (materializer.Floor{}) || other.Seq("session-1") != 0 {
		t.Error("it is visible before it was written")
	}
	_ = other.Close()
	x.Sync(t.Context())
	other = open(t, path)
	defer other.Close()
	if other.Floor(3) != floor || other.Seq("session-1") != 5 || other.Len() != 1 {
		t.Errorf("floor %v, seq %d, %d sessions", other.Floor(3), other.Seq("session-1"), other.Len())
	}
	_ = x.Close()
}

func TestUnusableFileIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"another version": func(t *testing.T, path string) { execSQL(t, path, `PRAGMA user_version = 77`) },
		"another log":     func(t *testing.T, path string) { execSQL(t, path, `UPDATE meta SET value = 'other' WHERE key = 'log'`) },
		"a lost table":    func(t *testing.T, path string) { execSQL(t, path, `DROP TABLE marks`) },
		"no database": func(t *testing.T, path string) {
			testkit.WriteFile(t, path, bytes.Repeat([]byte("no database"), 1000))
		},
		"cut short": func(t *testing.T, path string) {
			if err := os.Truncate(path, 5000); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "index.db")
			x := open(t, path)
			x.Put(view("session-1", 5, "five"))
			x.SetFloor(0, materializer.Floor{Pos: 9})
			x.Sync(t.Context())
			_ = x.Close()
			spoil(t, path)
			x = open(t, path)
			defer x.Close()
			if x.Len() != 0 || x.Floor(0).Pos != 0 || len(find(t, x, "five")) != 0 {
				t.Fatal("the file was not rebuilt")
			}
			x.Put(view("session-1", 5, "five"))
			x.Sync(t.Context())
			if len(find(t, x, "five")) != 1 {
				t.Error("the new one does not work")
			}
		})
	}
	if _, err := index.Open(t.Context(), index.Config{Path: filepath.Join(t.TempDir(), "none", "index.db"), Log: "main"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

func execSQL(t *testing.T, path, stmt string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), stmt); err != nil {
		t.Fatal(err)
	}
}

// A file whose tables contradict each other is rebuilt, instead of refusing writes
// forever.
func TestContradictingFileIsRebuilt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	defer x.Close()
	x.Put(view("session-0001", 5, "some words"))
	x.SetFloor(0, materializer.Floor{Pos: 9})
	x.Sync(t.Context())
	execSQL(t, path, `DELETE FROM sessions`)
	x.Put(view("session-0001", 6, "some words", "more words"))
	x.Sync(t.Context())
	if !x.Lost(0) {
		t.Fatal("the file is not rebuilt")
	}
	x.Restart(0)
	x.Put(view("session-0001", 7, "some words", "more words", "other words"))
	x.Sync(t.Context())
	if got := find(t, x, "other"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

func TestFailedWritesAreReportedUntilOneSucceeds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	defer x.Close()
	execSQL(t, path, `ALTER TABLE sessions RENAME TO hidden`)
	x.Put(view("session-0001", 5, "some words"))
	x.Sync(t.Context())
	if err := x.Err(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the file cannot be written, and the error is %v", err)
	}
	execSQL(t, path, `ALTER TABLE hidden RENAME TO sessions`)
	x.Sync(t.Context())
	if err := x.Err(); err != nil {
		t.Errorf("the file is written again: %v", err)
	}
}

// A file found corrupt at runtime is rebuilt, and its shards are lost until each is
// read again.
func TestFileCorruptedAtRuntimeIsRebuilt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	for i := range 500 {
		x.Put(view(fmt.Sprintf("session-%04d", i), 5, strings.Repeat("some words ", 50)))
	}
	x.SetFloor(0, materializer.Floor{Pos: 9})
	x.Sync(t.Context())
	_ = x.Close()
	x = open(t, path)
	defer x.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xA5}, int(info.Size())-8192), 8192); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	for range 20 { // until the corruption is met
		_, _ = allRows(t, x)
		_, _ = x.Search(t.Context(), catalog.SearchQuery{Text: "some", Limit: 100})
		x.Put(view("session-0007", 6, "other"))
		x.Sync(t.Context())
		if x.Lost(0) {
			break
		}
	}
	if !x.Lost(0) || x.Floor(0).Pos != 0 {
		t.Fatal("the damage is not met")
	}
	x.SetFloor(0, materializer.Floor{Pos: 10})
	if x.Floor(0).Pos != 0 {
		t.Error("SetFloor takes effect while the shard is lost")
	}
	x.Restart(0)
	x.SetFloor(0, materializer.Floor{Pos: 10})
	x.Put(view("session-0008", 6, "anew"))
	x.Sync(t.Context())
	if x.Lost(0) || x.Floor(0).Pos != 10 || len(find(t, x, "anew")) != 1 {
		t.Error("the index does not work after Restart")
	}
}

// The beginning of a long entry is found, and the newest part of a long session,
// whether it was put at once or in steps.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	filler := strings.Repeat("filling words ", 280) // nearly the limit of an entry
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("number%d %s", i, filler))
	}
	x.Put(view("session-whole", 9, texts...))
	for n := 1; n <= len(texts); n += 3 {
		x.Put(view("session-bits", uint64(n), texts[:n]...))
		x.Sync(t.Context())
	}
	x.Put(view("session-bits", 1000, texts...))
	x.Put(view("session-long", 1, "early "+strings.Repeat("x ", 4<<10)+" late"))
	x.Sync(t.Context())
	whole, bits := 0, 0
	for i := range texts {
		found := find(t, x, fmt.Sprintf("number%d", i))
		for _, f := range found {
			if strings.HasPrefix(f, "session-whole") {
				whole++
			} else {
				bits++
			}
		}
		if len(found) == 1 {
			t.Errorf("number%d is found in %q alone", i, found)
		}
		if i > 190 && len(found) != 2 {
			t.Errorf("the newest, number%d, is found in %q", i, found)
		}
	}
	if whole != bits || whole < 60 || whole > 70 {
		t.Errorf("%d entries of one that came at once, %d of one that came bit by bit", whole, bits)
	}
	if len(find(t, x, "early")) != 1 || len(find(t, x, "late")) != 0 {
		t.Error("of a long entry not the beginning is found")
	}
}

// Words are found and shown without the colors that a tool gave them.
func TestColorsAreNotText(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	v := view("session-0001", math.MaxInt64, "ESC[31mneedleESC[0m ESC]0;titleESC\\thread")
	v.Entries[0].Line = bytes.ReplaceAll(v.Entries[0].Line, []byte("ESC"), []byte(`\u001b`))
	x.Put(v)
	x.Sync(t.Context())
	page, err := x.Search(t.Context(), catalog.SearchQuery{Text: "needle", Limit: 5})
	if err != nil || len(page.Hits) != 1 || page.Hits[0].Snippet != "needle thread" {
		t.Errorf("%+v, %v", page.Hits, err)
	}
}

// The index accepts arbitrary text from agents, and finds what can be found.
func TestHostileText(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("needle1 in a picture 0123456789\xff\xfe"), 20))
	hostile := []string{
		"", "\x00", "needle\x00needle", "\xff\xfe needle", strings.Repeat("n", 1<<20), "needle " + image, "\u202eneedle", strings.Repeat("é", 5000),
		`"needle" OR text:x NEAR(`, "日本語のneedle検索", "needle'; DROP TABLE sessions; --", "a\x1fneedle\x1fb",
	}
	for i, s := range hostile {
		v := view(fmt.Sprintf("session-%04d", i), math.MaxInt64, s, s)
		short := materializer.Clip(s) // as in rows
		v.Row.Name, v.Row.CWD, v.Row.First, v.Row.Tags = short, short, short, []string{short, short, "same"}
		v.Row.Created, v.Row.Modified, v.Row.AgentID = s, s, s
		v.Row.Usage.Cost = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1}[i%5]
		v.Claims = map[string]core.Claim{s: {Agent: s, Host: s, Writer: s}, core.MainHead: {}}
		v.Entries = append(v.Entries,
			core.Entry{Line: []byte(s), ID: s, Time: s}, // not JSON
			labelEntry(9, s, s, noon),
			message(10, "user", s, time.Unix(1<<60, 0)), message(11, "user", s, time.Unix(-1<<60, 0)))
		x.Put(v)
	}
	x.Sync(t.Context())
	rows, err := allRows(t, x)
	if err != nil || len(rows) != len(hostile) || x.Len() != len(hostile) {
		t.Fatalf("%d rows of %d, %v", len(rows), len(hostile), err)
	}
	for _, s := range hostile {
		for _, f := range []catalog.Filter{
			{CWD: s},
			{CWD: s, Below: true},
			{Tags: []string{s}},
			{Label: s},
			{Holder: s},
			{Name: s},
			{Text: s},
			{Prefix: s},
			{Dialect: s},
			{Text: s, Sort: catalog.SortName},
			{Limit: 1, Sort: catalog.SortName, Text: s},
		} {
			if _, err := x.List(t.Context(), f); err != nil {
				t.Errorf("%.60q: %v", s, err)
			}
			if _, err := x.Search(t.Context(), catalog.SearchQuery{Text: s, Sessions: f, Limit: 5}); err != nil && !errors.Is(err, core.ErrInvalid) {
				t.Errorf("%.60q: %v", s, err)
			}
		}
		if ids := listAll(t, x, catalog.Filter{CWD: s, Limit: 3}); s != "" && len(ids) == 0 {
			t.Errorf("a session of cwd %.60q is not listed", s)
		}
	}
	if n := len(listAll(t, x, catalog.Filter{Tags: []string{"same"}, Limit: 2})); n != len(hostile) {
		t.Errorf("%d sessions have the tag", n)
	}
	if found := find(t, x, "needle*"); len(found) == 0 {
		t.Error("no needle is found")
	}
	if found := find(t, x, image[:80]); len(found) != 0 {
		t.Errorf("base64 is found in %q", found)
	}
	if found := find(t, x, "検索"); len(found) == 0 {
		t.Error("a word in a script without blanks is not found")
	}
}

// FLEET-18
func TestRootHasNoSessionsWithoutDirectory(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	for id, cwd := range map[string]string{"none": "", "root": "/", "in-root": "/w", "windows": `C:\w`} {
		v := view(id, 1, "word")
		v.Row.CWD = cwd
		x.Put(v)
	}
	x.Sync(t.Context())
	want := []core.SessionID{"in-root", "root"}
	for _, f := range []catalog.Filter{{}, {Sort: catalog.SortName}, {Text: "word"}} {
		f.CWD, f.Below = "/", true
		got := listAll(t, x, f)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	found, _ := searchAll(t, x, catalog.SearchQuery{Text: "word", Sessions: catalog.Filter{CWD: "/", Below: true}, Limit: 10})
	if len(found) != len(want) {
		t.Errorf("found %q", found)
	}
}

// A thousand texts of the same second are all found, and a page that ends among
// them loses none.
func TestTextsOfTheSameSecond(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	for i := range 40 {
		v := view(fmt.Sprintf("session-%04d", i), 1)
		for j := range 30 {
			v.Entries = append(v.Entries, message(j, "user", "together", noon))
		}
		x.Put(v)
	}
	x.Sync(t.Context())
	found, _ := searchAll(t, x, catalog.SearchQuery{Text: "together", Limit: 7})
	seen := map[string]bool{}
	for _, f := range found {
		seen[f] = true
	}
	if len(found) != 1200 || len(seen) != 1200 {
		t.Errorf("%d found, %d of them different", len(found), len(seen))
	}
}

// A client that follows changes sees each session once, in its current state, and
// those that were removed.
func TestChangesContinueAfterMark(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	x.Put(view("session-1", 1))
	x.Sync(t.Context())
	page, err := x.List(t.Context(), catalog.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	changed := x.Changed()
	x.Put(view("session-2", 1))
	x.Sync(t.Context())
	select {
	case <-changed:
	default:
		t.Error("a change is not told")
	}
	x.Put(view("session-2", 2))
	x.Put(view("session-3", 1))
	x.Forget("session-1")
	x.Sync(t.Context())
	var got []string
	mark := page.Mark
	for {
		cs, end, err := x.Changes(t.Context(), catalog.Filter{}, mark, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			seq := uint64(0)
			if c.Row != nil {
				seq = c.Row.Seq
			}
			got = append(got, fmt.Sprintf("%s %d", c.ID, seq))
		}
		if mark = end; len(cs) < 2 {
			break
		}
	}
	if want := "session-1 0, session-2 2, session-3 1"; strings.Join(slices.Sorted(slices.Values(got)), ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// Only the last removed sessions are remembered. A client that is further behind
// gets an error, others continue.
func TestRemovedSessionsAreRememberedWithinLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	for _, id := range []string{"session-1", "session-2", "session-3"} {
		x.Put(view(id, 1))
	}
	x.Sync(t.Context())
	mark := func() catalog.Mark {
		t.Helper()
		page, err := x.List(t.Context(), catalog.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return page.Mark
	}
	before := mark()
	x.Forget("session-1")
	x.Sync(t.Context())
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE sessions SET change = change + 10000`) // as after so many changes
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}

	x = open(t, path)
	t.Cleanup(func() { _ = x.Close() })
	later := mark()
	x.Forget("session-2")
	x.Sync(t.Context())
	if _, _, err := x.Changes(t.Context(), catalog.Filter{}, before, 10); !errors.Is(err, core.ErrLost) {
		t.Errorf("the changes since before what is forgotten: %v", err)
	}
	cs, _, err := x.Changes(t.Context(), catalog.Filter{}, later, 10)
	if err != nil || len(cs) != 1 || cs[0].ID != "session-2" || cs[0].Row != nil {
		t.Errorf("the changes since a late mark: %+v, %v", cs, err)
	}
}

// Erased sessions are listed by Erased, can be put again, and can be forgotten.
func TestErasedListsErasedSessionsUntilForgotten(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	x.Put(view("session-1", 1, "one"))
	x.Sync(t.Context())
	for seq := range uint64(2) {
		v := view("session-1", 2+seq)
		v.Row.Deleted, v.Row.Erased = true, true
		x.Put(v)
		x.Sync(t.Context())
		if x.Seq("session-1") != 2+seq || len(x.Erased()) != 1 || x.Len() != 0 {
			t.Fatalf("seq %d, %v erased, %d live", x.Seq("session-1"), x.Erased(), x.Len())
		}
	}
	x.Forget("session-1")
	x.Put(view("session-2", 1, "two"))
	x.Sync(t.Context())
	if len(x.Erased()) != 0 || x.Len() != 1 || len(find(t, x, "two")) != 1 {
		t.Errorf("%v erased, %d live", x.Erased(), x.Len())
	}
}

// Text that was trimmed, because its session has more than is kept, is found no more. If
// its entry is replaced later, or its session erased or removed, it leaves nothing in the
// file either, also if the node restarts meanwhile.
func TestTrimmedTextIsErasedToo(t *testing.T) {
	t.Parallel()
	const secret = "xylophonesecret"
	for name, erase := range map[string]func(*index.Index, materializer.View){
		"session erased": func(x *index.Index, v materializer.View) {
			v.Entries, v.Row.Deleted, v.Row.Erased = nil, true, true
			x.Put(v)
		},
		"entry replaced": func(x *index.Index, v materializer.View) {
			v.Entries[0] = message(0, "user", "redacted", noon)
			x.Put(v)
		},
		"session removed": func(x *index.Index, v materializer.View) { x.Forget(v.Row.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "index.db")
			x := open(t, path)
			x.Put(view("other", 1, "something else"))
			v := view("session-1", 1, secret)
			v.Row.First = ""
			x.Put(v)
			x.Sync(t.Context())
			for seq := uint64(2); seq < 6; seq++ { // beyond the limit, a part at a time
				for range 40 {
					i := len(v.Entries)
					v.Entries = append(v.Entries, message(i, "user", strings.Repeat(fmt.Sprintf("word%d ", i), 500), noon.Add(time.Duration(i)*time.Second)))
				}
				v.Row.Seq = seq
				x.Put(v)
				x.Sync(t.Context())
			}
			if found := find(t, x, secret); len(found) > 0 {
				t.Fatalf("trimmed text is found in %q", found)
			}
			v.Row.Seq++
			v.Entries = slices.Clone(v.Entries)
			erase(x, v)
			x.Sync(t.Context())
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = open(t, path)
			defer x.Close()
			for range 100 {
				if x.Sync(t.Context()); len(onDisk(t, path, secret[1:])) == 0 {
					break
				}
			}
			if in := onDisk(t, path, secret[1:]); len(in) > 0 {
				t.Errorf("it is still in %v", in)
			}
			if len(find(t, x, "else")) != 1 || name == "entry replaced" && len(find(t, x, "word150")) != 1 {
				t.Error("other text is gone")
			}
			check(t, path)
		})
	}
}

// check lets FTS5 check its table of texts.
func check(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `INSERT INTO words(words) VALUES('integrity-check')`); err != nil {
		t.Error(err)
	}
}
