package engine_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// raw returns a session file that holds lines.
func raw(id string, lines ...string) []byte {
	h := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`
	return []byte(strings.Join(append([]string{h}, lines...), "\n") + "\n")
}

func file(t *testing.T, id string, lines ...string) *core.File {
	t.Helper()
	f, err := pi.Dialect{}.File(raw(id, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func importLines(t *testing.T, ss *engine.Sessions, id string, lines ...string) (engine.Imported, error) {
	t.Helper()
	return ss.Import(t.Context(), file(t, id, lines...), raw(id, lines...), core.Origin{By: "me"}, engine.ImportOptions{})
}

func TestImportTwiceAddsNothing(t *testing.T) {
	l, ss, _ := inMemory()
	lines := []string{entry("root", ""), imageLine("img", strings.Repeat("QUJD", 400)), `{"type":"custom"}`, `{"type":"custom"}`}
	first, err := importLines(t, ss, "session1", lines...)
	if err != nil || !first.Created || first.Entries != 4 || first.Blobs != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := importLines(t, ss, "session1", lines...)
	if err != nil || again.Created || again.Entries != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	testkit.Equal(t, "records", 1, len(records(t, l, "session1")))
	back, err := ss.Inline(t.Context(), state(t, again.Session).Entries[1].Line)
	if err != nil || string(back) != lines[1] {
		t.Errorf("the image is read as %.100s, %v", back, err)
	}
}

func TestImportOfGrownFileAddsNewLines(t *testing.T) {
	l, ss, _ := inMemory()
	old := []string{entry("root", ""), entry("a", "root")}
	grown := append(old, imageLine("img", strings.Repeat("QUJD", 400)), imageLine("odd", "blob:sha256:"+strings.Repeat("a", 64)), `{"type":"custom"}`)
	for i, c := range []struct {
		lines []string
		added int
	}{{old, 2}, {grown, 3}, {grown, 0}, {old, 0}} {
		res, err := importLines(t, ss, "session1", c.lines...)
		if err != nil || res.Entries != c.added {
			t.Fatalf("import %d: added %d, %v", i+1, res.Entries, err)
		}
	}
	st := folded(t, l, "session1", records(t, l, "session1"))
	var out []string
	for _, e := range st.Entries {
		line, err := ss.Inline(t.Context(), e.Line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
	testkit.Equal(t, "lines", grown, out)
}

func TestContradictingImportErrorNamesTheLine(t *testing.T) {
	l, ss, _ := inMemory()
	if _, err := importLines(t, ss, "session1", entry("root", ""), entry("a", "root")); err != nil {
		t.Fatal(err)
	}
	_, err := importLines(t, ss, "session1", entry("root", ""), entry("new", "root"), entry("a", "new"))
	e, ok := errors.AsType[*core.LineError](err)
	if !ok || e.Line != 4 || e.ID != "a" || !errors.Is(err, core.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	testkit.Equal(t, "records", 1, len(records(t, l, "session1")))
}

// Hosts import the same file concurrently, and again after it has grown. The result is
// one session that has each line once.
func TestConcurrentImportsMakeOneSession(t *testing.T) {
	l, _, b := inMemory()
	old := []string{entry("root", ""), `{"type":"custom"}`}
	for _, lines := range [][]string{old, append(old, `{"type":"custom","n":1}`, entry("a", "root"))} {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := importLines(t, node(l, b), "session1", lines...); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		st := folded(t, l, "session1", records(t, l, "session1"))
		testkit.Equal(t, "entries", len(lines), len(st.Entries))
	}
	testkit.Equal(t, "records", 2, len(records(t, l, "session1")))
}

func TestFileWithInvalidLinesIsKeptUnchanged(t *testing.T) {
	_, ss, b := inMemory()
	lines := []string{entry("root", ""), "not json", entry("a", "root")}
	res, err := importLines(t, ss, "session1", lines...)
	if err != nil {
		t.Fatal(err)
	}
	o := state(t, res.Session).Origin
	was, err := b.Get(t.Context(), o.Original)
	if err != nil || string(was) != string(raw("session1", lines...)) {
		t.Errorf("the original is %q, %v", was, err)
	}
	if len(o.Skipped) != 1 || o.Skipped[0].Line != 3 {
		t.Errorf("skipped %+v", o.Skipped)
	}
}

func TestForkCopiesThePath(t *testing.T) {
	l, ss, _ := inMemory()
	src := create(t, ss, "session1", entry("root", ""), entry("a", "root"), entry("b", "a"), entry("c", "a"))
	f, err := ss.Fork(t.Context(), src, session.Fork{ID: "the-fork", At: core.LeafAt("b"), By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	st := folded(t, l, "the-fork", records(t, l, "the-fork"))
	sameState(t, "fork", st, state(t, f))
	testkit.Equal(t, "entries", []string{"root", "a", "b"}, ids(st))
	testkit.Equal(t, "line", string(state(t, src).Entries[1].Line), string(st.Entries[1].Line))
	want := []core.Lineage{{Session: "session1", Entry: "b", Cursor: state(t, src).Cursor(), Kind: "fork"}}
	testkit.Equal(t, "origin", want, st.Origin.Lineages())
	_, err = ss.Fork(t.Context(), src, session.Fork{ID: "the-fork"})
	testkit.WantErr(t, err, core.ErrExists)
	_, err = ss.Fork(t.Context(), src, session.Fork{At: core.LeafAt("nowhere")})
	testkit.WantErr(t, err, core.ErrNotFound)
	_, err = ss.Fork(t.Context(), src, session.Fork{ID: "../x.*.>"})
	testkit.WantErr(t, err, core.ErrInvalid)
}

// If a file and its session diverged, both are kept: main stays with its writer, and
// the importer decides.
func TestImportKeepsBothSidesOfADivergedFile(t *testing.T) {
	_, ss, _ := inMemory()
	old := []string{entry("root", ""), entry("a", "root")}
	res, err := importLines(t, ss, "session1", old...)
	if err != nil {
		t.Fatal(err)
	}
	other, err := res.Session.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(entry("theirs", "a"))}})
	if err != nil {
		t.Fatal(err)
	}
	grown := append(slices.Clone(old), entry("b", "a"), entry("c", "b"))
	before := state(t, res.Session).Seq

	_, err = importLines(t, ss, "session1", grown...)
	moved, ok := errors.AsType[*core.ConflictError](err)
	if !ok || !errors.Is(err, core.ErrConflict) {
		t.Fatalf("%v", err)
	}
	if len(moved.Since) != 1 || !slices.Equal(moved.Since[0].Entries, []string{"theirs"}) || moved.Have != other.Cursor || moved.Want.Seq != 1 || len(moved.Lines) != 2 {
		t.Errorf("the error reports %+v", moved)
	}
	if got := state(t, res.Session); got.Seq != before {
		t.Errorf("a rejected import stored %d records", got.Seq-before)
	}
	if res, err := importLines(t, ss, "session1", old...); err != nil || res.Entries != 0 {
		t.Errorf("a file with nothing new: %+v, %v", res, err)
	}

	branch := func(leaf string, want, more int, lines ...string) {
		t.Helper()
		res, err := ss.Import(t.Context(), file(t, "session1", lines...), nil, core.Origin{}, engine.ImportOptions{OnConflict: session.Branch, Branch: "mine"})
		if err != nil || res.Entries != more || more > 0 && res.Head != "mine" {
			t.Fatalf("%+v, %v", res, err)
		}
		st := state(t, res.Session)
		if st.Leaf(core.MainHead) != core.LeafAt("theirs") || st.Leaf("mine") != core.LeafAt(leaf) {
			t.Errorf("main points to %v, the branch to %v", st.Leaf(core.MainHead), st.Leaf("mine"))
		}
		testkit.Equal(t, "entries", want, len(st.Entries))
	}
	branch("c", 5, 2, grown...)
	branch("c", 5, 0, grown...)
	// The next import of the file continues there, with or without the option.
	grown = append(grown, entry("d", "c"))
	res, err = importLines(t, ss, "session1", grown...)
	if err != nil || res.Entries != 1 || res.Head != "mine" {
		t.Errorf("%+v, %v", res, err)
	}
	branch("d", 6, 0, grown...)
}

// Labels and names that were set in the log do not make a file diverge.
func TestLabelDoesNotMakeAFileDiverge(t *testing.T) {
	_, ss, _ := inMemory()
	old := []string{entry("root", ""), entry("a", "root")}
	res, err := importLines(t, ss, "session1", old...)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]byte{pi.Dialect{}.NewLabel("a", "here"), pi.Dialect{}.NewName("called so")} {
		if _, err := res.Session.Append(t.Context(), engine.Append{Lines: [][]byte{line}}); err != nil {
			t.Fatal(err)
		}
	}
	res, err = importLines(t, ss, "session1", append(old, entry("b", "a"))...)
	if err != nil || res.Entries != 1 || res.Head != "" || state(t, res.Session).Leaf(core.MainHead) != core.LeafAt("b") {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestImportIntoHeldSessionUsesSeparateHead(t *testing.T) {
	_, ss, _ := inMemory()
	old := []string{entry("root", ""), entry("a", "root")}
	res, err := importLines(t, ss, "session1", old...)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := res.Session.Claim(t.Context(), core.ClaimRequest{Agent: "other"}); err != nil {
		t.Fatal(err)
	}
	f := file(t, "session1", append(old, entry("b", "a"))...)
	if _, err := ss.Import(t.Context(), f, nil, core.Origin{}, engine.ImportOptions{}); !errors.Is(err, core.ErrFenced) {
		t.Errorf("%v", err)
	}
	for range 2 {
		res, err = ss.Import(t.Context(), f, nil, core.Origin{}, engine.ImportOptions{OnConflict: session.Branch})
		if err != nil || !strings.HasPrefix(res.Head, "main-") && res.Entries > 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	testkit.Equal(t, "heads", 2, len(state(t, res.Session).Heads))
	for _, how := range []engine.ImportOptions{{OnConflict: session.Rebase}, {Branch: "b"}, {OnConflict: session.Branch, Branch: "main"}, {OnConflict: session.Branch, Branch: "a b"}} {
		if _, err := ss.Import(t.Context(), f, nil, core.Origin{}, how); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", how, err)
		}
	}
}

// An import continues the head that the file was written for and leaves main
// unchanged. The importer's claim or the parent of the new lines identifies that head.
func TestImportContinuesTheHeadOfTheFile(t *testing.T) {
	for _, c := range []struct {
		name   string
		claim  string // the head that the importer holds
		parent string
	}{
		{"by where it goes on", "", "side1"},
		{"by where it goes on, and not by the claim", "main", "side1"},
		{"by the claim", "side", "side1"},
		{"by the claim, from elsewhere", "side", "root"},
	} {
		_, ss, _ := inMemory()
		lines := []string{entry("root", ""), entry("a", "root"), entry("side1", "root")}
		s := create(t, ss, "session1", lines[:2]...)
		mustAppend(t, s, "side", "", lines[2])
		how := engine.ImportOptions{}
		if c.claim != "" {
			how.Writer = claim(t, s, core.ClaimRequest{Head: c.claim}).Writer
		}
		f := file(t, "session1", append(lines, entry("new", c.parent))...)
		res, err := ss.Import(t.Context(), f, nil, core.Origin{}, how)
		if err != nil || res.Head != "side" || res.Entries != 1 {
			t.Fatalf("%s: %+v, %v", c.name, res, err)
		}
		st := state(t, res.Session)
		if st.Leaf("main") != core.LeafAt("a") || st.Leaf("side") != core.LeafAt("new") {
			t.Errorf("%s: main points to %v, side to %v", c.name, st.Leaf("main"), st.Leaf("side"))
		}
	}
}

// A file that was continued in another directory belongs to the same session. The log
// keeps its own header.
func TestImportFromAnotherDirectoryFindsTheSession(t *testing.T) {
	_, ss, _ := inMemory()
	lines := []string{entry("root", "")}
	if _, err := importLines(t, ss, "session1", lines...); err != nil {
		t.Fatal(err)
	}
	moved := bytes.Replace(raw("session1", append(lines, entry("a", "root"))...), []byte(`"cwd":"/w"`), []byte(`"cwd":"/home/x \"y\"/w"`), 1)
	f, err := pi.Dialect{}.File(moved)
	if err != nil || f.Header.CWD != `/home/x "y"/w` {
		t.Fatal(f, err)
	}
	res, err := ss.Import(t.Context(), f, moved, core.Origin{}, engine.ImportOptions{})
	if err != nil || res.Entries != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	testkit.Equal(t, "cwd", "/w", state(t, res.Session).Header.CWD)
	other := bytes.Replace(moved, []byte(`"version":3`), []byte(`"version":3,"parentSession":"/x"`), 1)
	if f, err = (pi.Dialect{}).File(other); err != nil {
		t.Fatal(err)
	}
	if _, err := ss.Import(t.Context(), f, other, core.Origin{}, engine.ImportOptions{}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("another session's header is accepted: %v", err)
	}
}

// PI-14: pi gives the entries of a file of version 1 random ids when it opens it. The
// log has given them others.
func TestImportOfFileThatPiMigrated(t *testing.T) {
	_, ss, _ := inMemory()
	d := pi.Dialect{}
	one, two, compaction := `{"type":"message","message":{"role":"user","content":"1"}`, `{"type":"message","message":{"role":"user","content":"2"}`, `{"type":"compaction","summary":"S"`
	v1 := []byte(`{"type":"session","id":"s","cwd":"/"}` + "\n" + one + "}\n" + two + "}\n" + compaction + `,"firstKeptEntryIndex":2}` + "\n")
	migrated := strings.Join([]string{
		`{"type":"session","id":"s","cwd":"/","version":3}`, one + `,"id":"r1","parentId":null}`, two + `,"id":"r2","parentId":"r1"}`,
		compaction + `,"id":"r3","parentId":"r2","firstKeptEntryId":"r2"}`, "",
	}, "\n")
	grown := migrated + entry("new", "r3") + "\n" + entry("newer", "new") + "\n"
	for i, c := range []struct {
		file  string
		added int
	}{{string(v1), 3}, {migrated, 0}, {grown, 2}, {grown, 0}, {string(v1), 0}} {
		f, err := d.File([]byte(c.file))
		if err != nil {
			t.Fatal(err)
		}
		res, err := ss.Import(t.Context(), f, []byte(c.file), core.Origin{}, engine.ImportOptions{})
		if err != nil || res.Entries != c.added || res.Head != "" {
			t.Fatalf("import %d: %+v, %v; want %d new entries on main", i, res, err, c.added)
		}
		es := state(t, res.Session).Entries
		if len(es) > 3 && es[3].Parent != es[2].ID {
			t.Errorf("import %d: the new entry follows %s, want %s", i, es[3].Parent, es[2].ID)
		}
	}
	other := strings.Replace(grown, `"content":"1"`, `"content":"other"`, 1)
	f, err := d.File([]byte(other))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ss.Import(t.Context(), f, []byte(other), core.Origin{}, engine.ImportOptions{}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a file with another first message: %v", err)
	}
}

// opencode's export shares no entry with the events of its session.
func TestImportOfExportIntoSessionWithEvents(t *testing.T) {
	_, ss, _ := inMemory()
	d := opencode.Dialect{}
	event := func(seq, kind, info string) string {
		return `{"id":"evt_` + seq + `","aggregate_id":"ses_1","seq":` + seq + `,"type":"` + kind + `.1","data":{"info":` + info + `}}`
	}
	row := func(updated string) string {
		return `{"id":"ses_1","directory":"/w","title":"t","time":{"created":1,"updated":` + updated + `}}`
	}
	events := func(list ...string) *core.File {
		f, err := d.File([]byte("[" + strings.Join(list, ",") + "]"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	export := func(of *core.File) *core.File {
		f, err := d.File(core.Lines(d.Layout(of.Header, of.Entries)))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	created := event("0", "session.created", row("2"))
	first := events(created)
	later := events(created, event("1", "message.updated", `{"id":"msg_1","role":"user","time":{"created":2}}`), event("2", "session.updated", row("3")))
	for i, c := range []struct {
		f     *core.File
		added int
	}{{first, 1}, {export(first), 0}, {export(later), 2}, {export(later), 0}, {export(first), 0}, {later, 2}} {
		res, err := ss.Import(t.Context(), c.f, core.Lines(d.Layout(c.f.Header, c.f.Entries)), core.Origin{}, engine.ImportOptions{})
		if err != nil || res.Entries != c.added {
			t.Errorf("import %d: %+v, %v; want %d new entries", i, res, err, c.added)
		}
	}
}

// An import with an expected cursor succeeds only at that cursor, whichever path it
// takes.
func TestImportRejectsMovedSession(t *testing.T) {
	_, ss, _ := inMemory()
	root, a, b := entry("root", ""), entry("a", "root"), entry("b", "root")
	bring := func(after core.Cursor, on session.OnConflict, lines ...string) error {
		_, err := ss.Import(t.Context(), file(t, "session1", lines...), raw("session1", lines...), core.Origin{}, engine.ImportOptions{After: &after, OnConflict: on})
		return err
	}
	at := func() core.Cursor { return state(t, open(t, ss, "session1")).Cursor() }
	refused := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*core.ConflictError](err); !ok || e.Head != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("a session that should be there", bring(core.Cursor{Seq: 1}, "", root))
	if err := bring(core.Cursor{}, "", root); err != nil {
		t.Fatal(err)
	}
	began := at()
	refused("a session that should not be there", bring(core.Cursor{}, "", root, a))
	if err := bring(began, "", root, a); err != nil {
		t.Fatal(err)
	}
	if err := bring(began, "", root, a); err != nil {
		t.Errorf("retry: %v", err)
	}
	refused("a file that contradicts", bring(began, "", root, other("a", "root", "x")))
	refused("a file that parted", bring(began, session.Branch, root, b))
	if n := len(state(t, open(t, ss, "session1")).Heads); n != 1 {
		t.Errorf("there are %d heads", n)
	}
	if err := bring(at(), session.Branch, root, b); err != nil {
		t.Error(err)
	}
}

// With a head, only that head must not have moved.
func TestImportWithHeadIgnoresOtherHeads(t *testing.T) {
	_, ss, _ := inMemory()
	root, a, b := entry("root", ""), entry("a", "root"), entry("b", "a")
	bring := func(after core.Cursor, lines ...string) error {
		_, err := ss.Import(t.Context(), file(t, "session1", lines...), raw("session1", lines...), core.Origin{}, engine.ImportOptions{After: &after, Head: core.MainHead})
		return err
	}
	if _, err := ss.Import(t.Context(), file(t, "session1", root), raw("session1", root), core.Origin{}, engine.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	s := open(t, ss, "session1")
	began := state(t, s).Cursor()
	if _, err := s.Append(t.Context(), engine.Append{Head: "other", Lines: [][]byte{[]byte(entry("o", "root"))}}); err != nil {
		t.Fatal(err)
	}
	if err := bring(began, root, a); err != nil {
		t.Errorf("another head moved: %v", err)
	}
	err := bring(began, root, a, b)
	if e, ok := errors.AsType[*core.ConflictError](err); !ok || e.Head != core.MainHead {
		t.Errorf("this head moved: %v", err)
	}
	if err := bring(core.Cursor{}, root, a, b); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a session that should not exist: %v", err)
	}
}
