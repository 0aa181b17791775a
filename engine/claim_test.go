package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestFencedWriterNeverWritesAgain(t *testing.T) {
	l, ss, b := inMemory()
	a := create(t, ss, "session1", entry("root", ""))
	mine := claim(t, a, core.ClaimRequest{Agent: "a"})
	mustAppend(t, a, core.MainHead, mine.Writer, message("a1"))

	other := open(t, node(l, b), "session1")
	_, _, err := other.Claim(t.Context(), core.ClaimRequest{Agent: "b"})
	testkit.WantErr(t, err, core.ErrFenced) // another writer holds it, and there is no explicit takeover
	theirs, former, err := other.Claim(t.Context(), core.ClaimRequest{Agent: "b", TakeOver: true})
	if err != nil || former == nil || former.Writer != mine.Writer || theirs.Epoch != mine.Epoch+1 {
		t.Fatalf("claim %+v ended %+v, %v", theirs, former, err)
	}
	n := len(records(t, l, "session1"))

	fenced := func(what string, err error) {
		t.Helper()
		f, ok := errors.AsType[*core.FencedError](err)
		if !ok || !errors.Is(err, core.ErrFenced) {
			t.Errorf("%s: %v", what, err)
		} else if f.Holder != nil && f.Holder.Agent != "b" {
			t.Errorf("%s: the error reports %+v", what, f.Holder)
		}
	}
	write := func(writer string) error {
		_, err := a.Append(t.Context(), engine.Append{Writer: writer, Lines: rawLines([]string{message("late")})})
		return err
	}
	fenced("the former holder", write(mine.Writer))
	fenced("a writer without a claim", write(""))
	fenced("a move", a.Move(t.Context(), core.MainHead, mine.Writer, core.NoLeaf))
	if err := a.Release(t.Context(), core.MainHead, mine.Writer, core.Notice{}); err != nil {
		t.Errorf("release after the claim ended: %v", err)
	}
	testkit.Equal(t, "records", n, len(records(t, l, "session1")))

	// Also after the head is released.
	if err := other.Release(t.Context(), core.MainHead, theirs.Writer, core.Notice{By: "b"}); err != nil {
		t.Fatal(err)
	}
	fenced("the former holder of a free head", write(mine.Writer))
	if err := write(""); err != nil {
		t.Errorf("a released head rejects an append: %v", err)
	}
	// Its lines are accepted on a separate head.
	mustAppend(t, a, "mine", "", message("late2"))
}

func TestClaimReadsFirst(t *testing.T) {
	l, ss, b := inMemory()
	a := create(t, ss, "session1", entry("root", ""))
	other := open(t, node(l, b), "session1")
	mustAppend(t, a, core.MainHead, "", message("a1"), message("a2"))
	mine := claim(t, other, core.ClaimRequest{})
	testkit.Equal(t, "entries right after the claim", []string{"root", "a1", "a2"}, ids(state(t, other)))
	rec := mustAppend(t, other, core.MainHead, mine.Writer, message("b1"))
	testkit.Equal(t, "cursor", state(t, other).Cursor(), rec.Cursor)
	e, _ := state(t, other).Entry("b1")
	testkit.Equal(t, "parent", "a2", e.Parent)
}

// The claim was stored, its answer was lost, and another writer took over: the caller
// must not get the other writer's claim.
func TestClaimWithLostAnswerIsNotAnotherWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1")
		other := open(t, node(l.Log, b), "session1")
		first := true
		l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
			pos, err := store()
			if !first || err != nil {
				return pos, err
			}
			first = false
			claim(t, other, core.ClaimRequest{Agent: "other", TakeOver: true})
			return 0, core.ErrUncertain
		})
		_, _, err := s.Claim(t.Context(), core.ClaimRequest{TakeOver: true})
		f, ok := errors.AsType[*core.FencedError](err)
		if !ok || f.Holder == nil || f.Holder.Agent != "other" {
			t.Errorf("claim ended with %v", err)
		}
		testkit.Equal(t, "epoch", uint64(2), state(t, s).Epoch)
	})
}

func TestClaimsOnDifferentHeadsAreIndependent(t *testing.T) {
	l, ss, b := inMemory()
	a := create(t, ss, "session1", entry("root", ""))
	other := open(t, node(l, b), "session1")
	ca := claim(t, a, core.ClaimRequest{})
	cb := claim(t, other, core.ClaimRequest{Head: "side"})
	for range 3 {
		mustAppend(t, a, core.MainHead, ca.Writer, message("a"+ca.Writer+string(rune('0'+len(state(t, a).Entries)))))
		mustAppend(t, other, "side", cb.Writer, message("b"+string(rune('0'+len(state(t, other).Entries)))))
	}
	_, err := other.Append(t.Context(), engine.Append{Head: "side", Writer: ca.Writer, Lines: rawLines([]string{message("x")})})
	testkit.WantErr(t, err, core.ErrFenced)
}

func TestDeletedSessionRejectsAppends(t *testing.T) {
	l, ss, b := inMemory()
	a := create(t, ss, "session1", entry("root", ""))
	other := open(t, node(l, b), "session1")
	if err := other.Delete(t.Context(), core.Notice{By: "somebody", Why: "a test"}); err != nil {
		t.Fatal(err)
	}
	_, err := appendLines(t.Context(), a, message("a"))
	testkit.WantErr(t, err, core.ErrDeleted)
	_, _, err = a.Claim(t.Context(), core.ClaimRequest{})
	testkit.WantErr(t, err, core.ErrDeleted)
	testkit.WantErr(t, a.Move(t.Context(), "side", "", core.NoLeaf), core.ErrDeleted)
	testkit.WantErr(t, a.Finish(t.Context(), core.Notice{}), core.ErrDeleted)
	if err := a.Delete(t.Context(), core.Notice{}); err != nil {
		t.Errorf("deleting twice: %v", err)
	}
	checkpoint(t, a, b) // that is allowed
	sameState(t, "opened", state(t, a), state(t, open(t, ss, "session1")))
	if err := a.Undelete(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, a, core.MainHead, "", message("a"))
	testkit.Equal(t, "entries", []string{"root", "a"}, ids(state(t, open(t, ss, "session1"))))
}

// force appends a record as another program might.
func force(t *testing.T, l core.Log, s *engine.Session, kind core.Kind, body string) {
	t.Helper()
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := state(t, s)
	r := &core.Record{Kind: kind, Seq: st.Seq + 1, Base: st.Base, Head: core.MainHead, Writer: "forced", Epoch: st.Epoch, Body: []byte(body)}
	r.Chain = st.Chain.Next(r)
	if _, err := l.Append(t.Context(), s.ID(), st.Pos, r); err != nil {
		t.Fatal(err)
	}
}

func TestUnknownKindStopsWriting(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	before := draft(s)
	force(t, l, s, "frobnicate", "\x00anything")
	n := len(records(t, l, "session1"))
	_, err := appendLines(t.Context(), s, message("a"))
	testkit.WantErr(t, err, core.ErrTooNew)
	_, _, err = s.Claim(t.Context(), core.ClaimRequest{})
	testkit.WantErr(t, err, core.ErrTooNew)
	testkit.WantErr(t, s.Checkpoint(t.Context(), before), core.ErrTooNew)
	testkit.WantErr(t, s.Delete(t.Context(), core.Notice{}), core.ErrTooNew)
	testkit.Equal(t, "records", n, len(records(t, l, "session1")))
	st := state(t, open(t, node(l, b), "session1"))
	testkit.Equal(t, "readable entries", []string{"root"}, ids(st))
	testkit.Equal(t, "unknown kind", core.Kind("frobnicate"), st.UnknownKind)
}

func TestErasedSessionRejectsAllWrites(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	if err := s.Delete(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}
	force(t, l, s, core.KindErase, `{"by":"somebody"}`)
	_, err := appendLines(t.Context(), s, message("a"))
	testkit.WantErr(t, err, core.ErrDeleted)
	testkit.WantErr(t, s.Undelete(t.Context(), core.Notice{}), core.ErrDeleted)
	testkit.WantErr(t, s.Checkpoint(t.Context(), draft(s)), core.ErrDeleted)
	_, err = node(l, b).Open(t.Context(), "session1")
	testkit.WantErr(t, err, core.ErrDeleted)
	_, err = ss.Import(t.Context(), file(t, "session1", entry("root", "")), nil, core.Origin{}, engine.ImportOptions{})
	testkit.WantErr(t, err, core.ErrDeleted)
}

func TestFinishAndReopen(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	for range 2 { // the second call finds it finished
		if err := s.Finish(t.Context(), core.Notice{By: "a", Usage: &item.Usage{Input: 5, Cost: 0.25}}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Equal(t, "records", 2, len(records(t, l, "session1")))
	testkit.Equal(t, "input", int64(5), state(t, open(t, node(l, b), "session1")).Closed.Usage.Input)
	mustAppend(t, s, core.MainHead, "", message("a"))
	if state(t, s).Closed != nil {
		t.Error("an append left the session closed")
	}
}

func TestMoveCreatesHead(t *testing.T) {
	_, ss, _ := inMemory()
	s := create(t, ss, "session1", entry("root", ""), entry("a", "root"), entry("b", "a"))
	if err := s.Move(t.Context(), "side", "", core.LeafAt("root")); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "side", "", message("c"))
	mustAppend(t, s, core.MainHead, "", message("d"))
	st := state(t, s)
	for id, parent := range map[string]string{"c": "root", "d": "b"} {
		e, _ := st.Entry(id)
		testkit.Equal(t, "parent of "+id, parent, e.Parent)
	}
	testkit.WantErr(t, s.Move(t.Context(), "side", "", core.LeafAt("nowhere")), core.ErrNotFound)
	testkit.WantErr(t, s.Move(t.Context(), "s/de", "", core.NoLeaf), core.ErrInvalid)
}
