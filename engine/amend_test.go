package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

func amend(writer string, lines ...string) engine.Amend {
	a := engine.Amend{Writer: writer}
	a.Lines(rawLines(lines))
	return a
}

// other is entry(id, parent) with another text.
func other(id, parent, text string) string {
	return strings.Replace(entry(id, parent), `"hi"`, `"`+text+`"`, 1)
}

func TestAmendedEntryKeepsItsPosition(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""), entry("a", "root"), entry("b", "a"))
	before := state(t, s).Entries
	at, err := s.Amend(t.Context(), amend("", other("a", "root", "new"), entry("b", "a")))
	if err != nil || at.Seq != 2 {
		t.Fatalf("at %s, %v", at, err)
	}
	st := folded(t, l, "session1", records(t, l, "session1"))
	sameState(t, "folded", st, state(t, s))
	sameState(t, "on another node", st, state(t, open(t, node(l, b), "session1")))
	testkit.Equal(t, "ids", []string{"root", "a", "b"}, ids(st))
	testkit.Equal(t, "line", other("a", "root", "new"), string(st.Entries[1].Line))
	if st.Leaf(core.MainHead) != core.LeafAt("b") {
		t.Errorf("main points to %v", st.Leaf(core.MainHead))
	}
	testkit.Equal(t, "a reader's line", entry("a", "root"), string(before[1].Line))
	if r := records(t, l, "session1")[1]; r.Kind != core.KindAmend || r.Count != 1 {
		t.Errorf("the record is a %s of %d lines, want an amend of the one that changed", r.Kind, r.Count)
	}
	again, err := s.Amend(t.Context(), amend("", other("a", "root", "new")))
	if err != nil || again != at {
		t.Errorf("the retry is at %s, %v; want %s", again, err, at)
	}
}

func TestAmendRejectsMovedSession(t *testing.T) {
	_, ss, _ := inMemory()
	s := create(t, ss, "session1", entry("root", ""), entry("a", "root"))
	seen := state(t, s).Cursor()
	first := amend("", other("a", "root", "one"))
	first.After = &seen
	at, err := s.Amend(t.Context(), first)
	if err != nil || at.Seq != 2 {
		t.Fatalf("at %s, %v", at, err)
	}
	if again, err := s.Amend(t.Context(), first); err != nil || again != at {
		t.Errorf("the retry is at %s, %v; want %s", again, err, at)
	}
	late := amend("", other("a", "root", "two"))
	late.After = &seen
	_, err = s.Amend(t.Context(), late)
	if e, ok := errors.AsType[*core.ConflictError](err); !ok || e.Head != "" || e.Want != seen || e.Have != at {
		t.Errorf("a delayed request: %v", err)
	}
	gone := amend("", other("nowhere", "root", "two"))
	gone.After = &seen
	if _, err := s.Amend(t.Context(), gone); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a missing entry, at another cursor: %v", err)
	}
	late.After = &at
	if _, err := s.Amend(t.Context(), late); err != nil {
		t.Error(err)
	}
	if _, err := s.Amend(t.Context(), first); !errors.Is(err, core.ErrConflict) {
		t.Errorf("retry of the first: %v", err)
	}
	testkit.Equal(t, "line", other("a", "root", "two"), string(state(t, s).Entries[1].Line))
}

func TestAmendRejectsInvalidLines(t *testing.T) {
	l, ss, _ := inMemory()
	s := create(t, ss, "session1", entry("root", ""), entry("a", "root"), entry("b", "a"))
	for name, c := range map[string]struct {
		line string
		want error
	}{
		"an entry that is not there": {entry("nowhere", ""), core.ErrNotFound},
		"another parent":             {other("b", "root", "x"), core.ErrInvalid},
		"another type":               {strings.Replace(entry("b", "a"), "message", "custom", 1), core.ErrInvalid},
		"no JSON":                    {"{", core.ErrInvalid},
		"no id":                      {`{"type":"custom"}`, core.ErrNotFound},
	} {
		_, err := s.Amend(t.Context(), amend("", other("a", "root", "good"), c.line))
		if e, ok := errors.AsType[*core.LineError](err); !ok || e.Line != 2 || !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v in line 2", name, err, c.want)
		}
	}
	testkit.Equal(t, "records", 1, len(records(t, l, "session1")))
}

func TestAmendRequiresTheClaim(t *testing.T) {
	_, ss, _ := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	mine := claim(t, s, core.ClaimRequest{Agent: "one"})
	_, err := s.Amend(t.Context(), amend("", other("root", "", "x")))
	testkit.WantErr(t, err, core.ErrFenced)
	if _, err := s.Amend(t.Context(), amend(mine.Writer, other("root", "", "x"))); err != nil {
		t.Error(err)
	}
	claim(t, s, core.ClaimRequest{Agent: "two", TakeOver: true})
	_, err = s.Amend(t.Context(), amend(mine.Writer, other("root", "", "y")))
	testkit.WantErr(t, err, core.ErrFenced)
	if err := s.Delete(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Amend(t.Context(), amend("", other("root", "", "y")))
	testkit.WantErr(t, err, core.ErrDeleted)
}

// OP-16: reactions that a channel adds to a message later are stored in the message,
// also if several nodes add them concurrently.
func TestConcurrentReactionsAreAllKept(t *testing.T) {
	l, ss, b := inMemory()
	s := createOperator(t, ss)
	mustAppend(t, s, "", "", `{"id":"m1","type":"message","message":{"role":"user","contents":[]},"meta":{"channel_message_id":"c1"}}`)
	emojis := []string{"👍", "🎉", "👀", "👍"}
	done := make(chan error)
	for _, emoji := range emojis {
		go func() {
			_, err := open(t, node(l, b), "operator1").Amend(t.Context(), engine.Amend{Change: func(st *core.State) ([]core.Entry, error) {
				e, err := operator.WithReaction(st.Entries, "c1", emoji)
				return []core.Entry{e}, err
			}})
			done <- err
		}()
	}
	for range emojis {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	e, _ := state(t, open(t, ss, "operator1")).Entry("m1")
	var line struct{ Meta struct{ Reactions []string } }
	if err := json.Unmarshal(e.Line, &line); err != nil || len(line.Meta.Reactions) != 3 {
		t.Errorf("the line is %s, %v; want three reactions", e.Line, err)
	}
}

// Retrying a creation returns the session that the first request made. A different
// request fails because the session exists.
func TestCreateIsIdempotentByKey(t *testing.T) {
	l, ss, b := inMemory()
	src := create(t, ss, "session1", entry("root", ""), entry("a", "root"))
	f := session.Fork{ID: "the-fork", Whole: true, Key: "k"}
	first, err := ss.Fork(t.Context(), src, f)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, first, "", "", message("b"))
	again, err := node(l, b).Fork(t.Context(), src, f)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "entries", []string{"root", "a", "b"}, ids(state(t, again)))
	f.Key = "another"
	_, err = ss.Fork(t.Context(), src, f)
	testkit.WantErr(t, err, core.ErrExists)
	f.Key = ""
	_, err = ss.Fork(t.Context(), src, f)
	testkit.WantErr(t, err, core.ErrExists)
}

// Origins of version 0.11 do not say what the request asked for.
func TestCreateFindsTheSessionOfAnOlderVersion(t *testing.T) {
	_, ss, _ := inMemory()
	older := engine.CreateRequest{ID: "session2", Origin: core.Origin{Dialect: "pi", Key: "k"}, Header: state(t, create(t, ss, "session1")).Header}
	newer := older
	newer.Origin.SetKey("k", "create")
	for _, b := range []engine.CreateRequest{older, newer} {
		if _, err := ss.Create(t.Context(), b); err != nil {
			t.Error(err)
		}
	}
}

func TestFullForkKeepsHeadPosition(t *testing.T) {
	_, ss, _ := inMemory()
	src := create(t, ss, "session1", entry("root", ""), entry("a", "root"), entry("b", "root"))
	for _, leaf := range []core.Leaf{core.LeafAt("a"), core.NoLeaf, core.LeafAt("b")} {
		if err := src.Move(t.Context(), core.MainHead, "", leaf); err != nil {
			t.Fatal(err)
		}
		f, err := ss.Fork(t.Context(), src, session.Fork{Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Equal(t, "entries", []string{"root", "a", "b"}, ids(state(t, f)))
		if got := state(t, f).Leaf(core.MainHead); got != leaf {
			t.Errorf("main points to %v, want %v", got, leaf)
		}
	}
}

func TestMissingIDsFollowTheAgentsFormat(t *testing.T) {
	_, ss, _ := inMemory()
	s := create(t, ss, "session1")
	seen := map[string]bool{}
	for range 10 {
		rec := mustAppend(t, s, "", "", `{"type":"custom"}`, `{"type":"custom"}`)
		for _, id := range rec.IDs {
			if len(id) != 8 || seen[id] {
				t.Errorf("the id %q is taken, or not in pi's format", id)
			}
			seen[id] = true
		}
	}
}

// A session's weight, which the cache uses, includes replaced lines: they stay in
// memory with their records.
func TestWeightIncludesReplacedLines(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("a", ""))
	const size, times = 10_000, 20
	for i := range times {
		text := strings.Repeat(string(rune('a'+i)), size)
		if _, err := s.Amend(t.Context(), amend("", other("a", "", text))); err != nil {
			t.Fatal(err)
		}
	}
	for what, s := range map[string]*engine.Session{"written": s, "loaded": open(t, node(l, b), "session1")} {
		if got := s.Size(); got < times*size || got > 2*times*size {
			t.Errorf("%s: weight %d bytes, it keeps %d records of %d", what, got, times, size)
		}
	}
}
