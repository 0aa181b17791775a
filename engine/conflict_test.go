package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// moved returns a session of entries a and b, seen at cursor, which pi then continued
// with c.
func moved(t *testing.T) (ss *engine.Sessions, s *engine.Session, seen core.Cursor) {
	t.Helper()
	_, ss, _ = inMemory()
	s = create(t, ss, "session-1", entry("a", ""), entry("b", "a"))
	seen = state(t, s).Cursor()
	other := open(t, ss, "session-1")
	pi := claim(t, other, core.ClaimRequest{Agent: "pi", Host: "laptop"})
	mustAppend(t, other, "main", pi.Writer, message("c"))
	if err := other.Release(t.Context(), "main", pi.Writer, core.Notice{}); err != nil {
		t.Fatal(err)
	}
	return ss, s, seen
}

func parentOf(t *testing.T, s *engine.Session, id string) string {
	t.Helper()
	e, ok := state(t, s).Entry(id)
	if !ok {
		t.Fatalf("there is no entry %s", id)
	}
	return e.Parent
}

func leafOf(t *testing.T, s *engine.Session, head string) string {
	t.Helper()
	h := state(t, s).Heads[head]
	if h == nil {
		t.Fatalf("there is no head %s", head)
	}
	id, _ := h.Leaf.ID()
	return id
}

func TestConflictReportsNewLinesAndTheirWriters(t *testing.T) {
	t.Parallel()
	_, s, seen := moved(t)
	lines := []string{" " + message("x"), entry("y", "x")}
	_, err := s.Append(t.Context(), engine.Append{Lines: rawLines(lines), After: &seen})
	e, ok := errors.AsType[*core.ConflictError](err)
	if !ok {
		t.Fatalf("error is %v, want a conflict", err)
	}
	if d := cmp.Diff(rawLines(lines), e.Lines); d != "" {
		t.Errorf("the returned lines differ\n%s", d)
	}
	if len(e.Since) != 3 || e.More != 0 {
		t.Fatalf("new lines: %+v and %d", e.Since, e.More)
	}
	wrote := e.Since[1]
	if wrote.Kind != core.KindAppend || wrote.Who == nil || wrote.Who.Agent != "pi" || wrote.Cursor.Seq != 3 || !cmp.Equal(wrote.Entries, []string{"c"}) {
		t.Errorf("writers of the new lines: %+v", wrote)
	}
	for _, want := range []string{"pi on laptop claimed it", "and 2 more"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
	testkit.Equal(t, "entries", []string{"a", "b", "c"}, ids(state(t, s)))
}

func TestFencedAppendReportsNewLinesAndTheirWriters(t *testing.T) {
	t.Parallel()
	_, ss, _ := inMemory()
	s := create(t, ss, "session-1", entry("a", ""))
	mine := claim(t, s, core.ClaimRequest{Agent: "mine"})
	other := open(t, ss, "session-1")
	theirs := claim(t, other, core.ClaimRequest{Agent: "omp", Host: "desk", TakeOver: true})
	mustAppend(t, other, "main", theirs.Writer, message("b"))
	line := []byte(message("x"))
	_, err := s.Append(t.Context(), engine.Append{Writer: mine.Writer, Lines: [][]byte{line}})
	e, ok := errors.AsType[*core.FencedError](err)
	if !ok || e.Holder == nil || e.Holder.Agent != "omp" {
		t.Fatalf("error is %v, want that omp holds it", err)
	}
	if len(e.Lines) != 1 || &e.Lines[0][0] != &line[0] {
		t.Errorf("lines %s", e.Lines)
	}
	if len(e.Since) != 2 || e.Since[0].Kind != core.KindClaim || !cmp.Equal(e.Since[1].Entries, []string{"b"}) {
		t.Errorf("new lines: %+v", e.Since)
	}
	// Rebase does not bypass another writer's claim.
	_, err = s.Append(t.Context(), engine.Append{Writer: mine.Writer, Lines: [][]byte{line}, OnConflict: session.Rebase})
	testkit.WantErr(t, err, core.ErrFenced)
}

func TestRebaseChangesOnlyTheParent(t *testing.T) {
	t.Parallel()
	_, s, seen := moved(t)
	lines := []string{
		message("filled"),
		`{"id":"old", "parentId" : "b" ,"type":"message","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"parentId","n":1.0}}`,
		entry("elsewhere", "a"),
		entry("inside", "old"),
	}
	rec, err := s.Append(t.Context(), engine.Append{Lines: rawLines(lines), After: &seen, OnConflict: session.Rebase})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Stored != 4 || rec.Head != "main" {
		t.Errorf("receipt %+v", rec)
	}
	for id, want := range map[string]string{"filled": "c", "old": "c", "elsewhere": "a", "inside": "old"} {
		if got := parentOf(t, s, id); got != want {
			t.Errorf("the parent of %s is %s, want %s", id, got, want)
		}
	}
	old, _ := state(t, s).Entry("old")
	testkit.Equal(t, "line", strings.Replace(lines[1], `"b"`, `"c"`, 1), string(old.Line))
	// The answer was lost: a retry finds the lines already stored.
	again, err := s.Append(t.Context(), engine.Append{Lines: rawLines(lines), After: &seen, OnConflict: session.Rebase})
	if err != nil || again.Stored != 0 {
		t.Errorf("retry: %+v, %v", again, err)
	}
	// The head has not moved since, so nothing changes.
	seen = state(t, s).Cursor()
	if _, err := s.Append(t.Context(), engine.Append{Lines: rawLines([]string{entry("back", "b")}), After: &seen, OnConflict: session.Rebase}); err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "parent", "b", parentOf(t, s, "back"))
}

func TestBranchStartsAtExpectedCursor(t *testing.T) {
	t.Parallel()
	ss, s, seen := moved(t)
	a := engine.Append{Lines: rawLines([]string{message("x"), message("y")}), After: &seen, OnConflict: session.Branch}
	rec, err := s.Append(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Stored != 2 || !strings.HasPrefix(rec.Head, "main-") {
		t.Errorf("receipt %+v", rec)
	}
	before := state(t, s).Cursor()
	testkit.Equal(t, "parent", "b", parentOf(t, s, "x"))
	testkit.Equal(t, "branch", "y", leafOf(t, s, rec.Head))
	testkit.Equal(t, "main", "c", leafOf(t, s, "main"))

	// A retry, also through another node, finds the branch.
	for _, s := range []*engine.Session{s, open(t, ss, "session-1")} {
		again, err := s.Append(t.Context(), a)
		if err != nil || again.Stored != 0 || again.Head != rec.Head || state(t, s).Cursor() != before {
			t.Errorf("retry: %+v, %v", again, err)
		}
	}
	// The branch is an ordinary head.
	mustAppend(t, s, rec.Head, "", message("z"))
	testkit.Equal(t, "parent", "y", parentOf(t, s, "z"))
	again, err := s.Append(t.Context(), a)
	if err != nil || again.Head != rec.Head {
		t.Errorf("retry after it grew: %+v, %v", again, err)
	}
}

func TestFencedWriterBranchesFromItsLastLine(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"held by another": false, "free again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ss, _ := inMemory()
			s := create(t, ss, "session-1", entry("a", ""))
			mine := claim(t, s, core.ClaimRequest{})
			mustAppend(t, s, "main", mine.Writer, message("b"))
			other := open(t, ss, "session-1")
			theirs := claim(t, other, core.ClaimRequest{TakeOver: true})
			mustAppend(t, other, "main", theirs.Writer, message("c"))
			if released {
				if err := other.Release(t.Context(), "main", theirs.Writer, core.Notice{}); err != nil {
					t.Fatal(err)
				}
			}
			a := engine.Append{Writer: mine.Writer, Lines: rawLines([]string{message("x")}), OnConflict: session.Branch, Branch: "mine"}
			rec, err := s.Append(t.Context(), a)
			if err != nil || rec.Head != "mine" {
				t.Fatalf("%+v, %v", rec, err)
			}
			testkit.Equal(t, "parent", "b", parentOf(t, s, "x"))
			testkit.Equal(t, "main", "c", leafOf(t, s, "main"))
			if again, err := s.Append(t.Context(), a); err != nil || again.Head != "mine" || again.Stored != 0 {
				t.Errorf("retry: %+v, %v", again, err)
			}
		})
	}
}

// A writer that never had a claim branches from where the head was claimed.
func TestWriterWithoutClaimBranchesFromClaimPosition(t *testing.T) {
	t.Parallel()
	_, ss, _ := inMemory()
	s := create(t, ss, "session-1", entry("a", ""))
	theirs := claim(t, s, core.ClaimRequest{})
	mustAppend(t, s, "main", theirs.Writer, message("b"))
	if _, err := s.Append(t.Context(), engine.Append{Lines: rawLines([]string{message("x")}), OnConflict: session.Branch, Branch: "mine"}); err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "parent", "a", parentOf(t, s, "x"))
	// A claim that never existed cannot be continued.
	_, err := s.Append(t.Context(), engine.Append{Writer: "nobody-1", Lines: rawLines([]string{message("y")}), OnConflict: session.Branch, Branch: "theirs"})
	testkit.WantErr(t, err, core.ErrFenced)
}

func TestBranchRejectsExistingHead(t *testing.T) {
	t.Parallel()
	_, s, seen := moved(t)
	mustAppend(t, s, "side", "", message("s"))
	a := engine.Append{Lines: rawLines([]string{message("x")}), After: &seen, OnConflict: session.Branch, Branch: "side"}
	_, err := s.Append(t.Context(), a)
	e, ok := errors.AsType[*core.ConflictError](err)
	if !ok || len(e.Lines) != 1 || !strings.Contains(err.Error(), `head "side" exists, choose another name`) {
		t.Errorf("error is %v", err)
	}
	testkit.Equal(t, "side", "s", leafOf(t, s, "side"))
	for name, a := range map[string]engine.Append{
		"its own name":    {Branch: "main", OnConflict: session.Branch},
		"no name":         {Branch: "a b", OnConflict: session.Branch},
		"unasked":         {Branch: "b"},
		"no such":         {OnConflict: "merge"},
		"not for rebases": {Branch: "b", OnConflict: session.Rebase},
	} {
		a.Lines = rawLines([]string{message("q")})
		if _, err := s.Append(t.Context(), a); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Many writers start from the same position: with rebase each line is stored once, in
// one chain; with branch, each writer gets a separate head.
func TestManyWritersFromOnePosition(t *testing.T) {
	t.Parallel()
	const writers = 8
	for _, how := range []session.OnConflict{session.Rebase, session.Branch} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			l, _, b := inMemory()
			create(t, node(l, b), "session-1", entry("a", ""))
			var wg sync.WaitGroup
			heads := make([]string, writers)
			sessions := make([]*engine.Session, writers)
			for i := range writers {
				sessions[i] = open(t, node(l, b), "session-1")
			}
			seen := state(t, sessions[0]).Cursor()
			for i, s := range sessions {
				wg.Go(func() {
					rec, err := s.Append(t.Context(), engine.Append{
						Lines: rawLines([]string{message(fmt.Sprint("w", i))}), After: &seen, OnConflict: how,
					})
					if err != nil {
						t.Errorf("writer %d: %v", i, err)
					}
					heads[i] = rec.Head
				})
			}
			wg.Wait()
			st := state(t, open(t, node(l, b), "session-1"))
			parents, names := map[string]int{}, map[string]bool{}
			for i := range writers {
				e, ok := st.Entry(fmt.Sprint("w", i))
				if !ok {
					t.Fatalf("the line of writer %d is lost", i)
				}
				parents[e.Parent]++
				names[heads[i]] = true
			}
			if how == session.Rebase && (len(parents) != writers || len(st.Heads) != 1) {
				t.Errorf("the lines are not one chain: %v, heads %v", parents, st.HeadNames())
			}
			if how == session.Branch && (parents["a"] != writers || len(names) != writers || len(st.Heads) != writers) {
				t.Errorf("parents %v, heads %v, receipts %v", parents, st.HeadNames(), names)
			}
		})
	}
}
