package sessiontest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// inLog are the tests that need a log.
var inLog = []test{
	{"OpenReturnsWhatWasWritten", openedAgain},
	{"OpenRestoresTheBranch", branchSurvives},
	{"OneCallIsOneRecord", oneCallOneRecord},
	{"LazySessionIsStoredAsOneRecord", lazyOneRecord},
	{"AbandonedLazySessionLeavesNothing", lazyAbandoned},
	{"FlushStoresALazySession", lazyFlushed},
	{"LazyBranchIsStoredWhenItsAgentWouldKeepIt", lazyBranched},
	{"OpenReturnsTypedErrors", openErrors},
	{"ReadOnlyRejectsWrites", readOnlyRefuses},
	{"ClaimedHeadIsRejectedUntilTakenOver", claimedHead},
	{"FencedWriterBranchesOff", fencedWriter},
	{"FencedWriterDiscards", fencedDiscards},
	{"SharedWriteConflicts", sharedConflict},
	{"SharedMoveConflicts", sharedMove},
	{"FencedErrorHasLines", refusedLines},
	{"SharedWriterRebases", sharedRebase},
	{"FencedWriterCannotRebase", fencedRebase},
	{"LostAnswersStoreNothingTwice", lostAnswers},
	{"AnyLostAnswerIsRetried", flaky},
	{"OutageKeepsEntries", outage},
	{"RejectedWriteChangesNothing", logRefuses},
	{"DiscardedSessionIsNotReused", discardedUnsaved},
	{"RefreshAndFollowReadOtherWriters", refreshAndFollow},
	{"ContinueOpensTheLatestOrCreates", continueRecent},
	{"EnsureOpensOrCreates", ensure},
	{"ForkFromCopiesAllEntries", forkFrom},
	{"RecentListsSessions", listed},
	{"DeletedSessionIsOnlyRead", deleted},
	{"ImagesRoundTrip", images},
	{"AnyHistoryReadsBackEqual", anyHistory},
}

// OP-18, OP-20, OP-33, PI-17, OMP-29, OMP-32
func openedAgain(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	_, err := s.SetLabel(t.Context(), ids[1], "here")
	testkit.Must(t, err)
	_, err = s.SetName(t.Context(), "name")
	testkit.Must(t, err)
	testkit.Must(t, s.Close(t.Context()))
	o := w.open(t, s.ID())
	same(t, s, o)
	if o.Label(ids[1]) != "here" || o.Name() != "name" || o.Dialect().Name() != w.dialect {
		t.Errorf("label %q, name %q, dialect %s", o.Label(ids[1]), o.Name(), o.Dialect().Name())
	}
	w.user(t, o, "more")
	same(t, o, w.open(t, s.ID(), claimed))
}

// OP-22
func branchSurvives(t *testing.T, w *suite) {
	s, ids := w.chat(t, shared)
	testkit.Must(t, s.Branch(t.Context(), ids[1]))
	o := w.open(t, s.ID())
	wantLeaf(t, o, ids[1])
	next := w.user(t, o, "five")
	if e, _ := o.Entry(next); e.Parent != ids[1] {
		t.Errorf("the parent of the next entry is %q", e.Parent)
	}
	testkit.Must(t, o.ResetLeaf(t.Context()))
	if o := w.open(t, s.ID()); !o.Leaf().IsNone() {
		t.Errorf("after a reset the leaf is %v", o.Leaf())
	}
}

// OP-18
func oneCallOneRecord(t *testing.T, w *suite) {
	s := w.create(t)
	n := w.Records(t, s.ID())
	if n != 2 {
		t.Errorf("a new session takes %d records, want its open and the claim", n)
	}
	ids, err := s.AppendLine(t.Context(), w.message(item.RoleUser, "one"), w.message(item.RoleAssistant, "two"), w.message(item.RoleUser, "three"))
	testkit.Must(t, err)
	if len(ids) != 3 || w.Records(t, s.ID()) != n+1 {
		t.Errorf("three entries took %d records", w.Records(t, s.ID())-n)
	}
	same(t, s, w.open(t, s.ID()))
}

// OP-17, OMP-30, PI-39
func lazyOneRecord(t *testing.T, w *suite) {
	s := w.create(t, lazy, shared)
	_, err := s.SetName(t.Context(), "early")
	testkit.Must(t, err)
	if w.dialect == "pi" { // it waits for any message
		if s.Saved() || w.Records(t, s.ID()) != 0 {
			t.Errorf("it is stored before any message, in %d records", w.Records(t, s.ID()))
		}
		w.user(t, s, "one")
	} else {
		w.user(t, s, "one")
		if s.Saved() || len(s.Unsent()) != 2 || w.Records(t, s.ID()) != 0 {
			t.Errorf("it is stored before the first answer, in %d records", w.Records(t, s.ID()))
		}
		w.assistant(t, s, "two")
	}
	if !s.Saved() || len(s.Unsent()) != 0 || w.Records(t, s.ID()) != 1 {
		t.Errorf("saved %v, %d unsent, %d records; want one", s.Saved(), len(s.Unsent()), w.Records(t, s.ID()))
	}
	same(t, s, w.open(t, s.ID()))
	w.user(t, s, "three")
	if n := w.Records(t, s.ID()); n != 2 {
		t.Errorf("the next entry makes it %d records, want 2", n)
	}
}

// OP-19
func lazyAbandoned(t *testing.T, w *suite) {
	s := w.create(t, lazy)
	_, err := s.SetName(t.Context(), "early")
	testkit.Must(t, err)
	testkit.Must(t, s.ResetLeaf(t.Context()))
	testkit.Must(t, s.Close(t.Context()))
	if n := w.Records(t, s.ID()); n != 0 {
		t.Errorf("an abandoned session left %d records", n)
	}
	_, err = session.Open(t.Context(), w.Log, s.ID(), w.options())
	testkit.WantErr(t, err, core.ErrNotFound)
}

func lazyFlushed(t *testing.T, w *suite) {
	s := w.create(t, lazy, shared)
	id, err := s.SetName(t.Context(), "early")
	testkit.Must(t, err)
	_, err = s.SetName(t.Context(), "later")
	testkit.Must(t, err)
	testkit.Must(t, s.Branch(t.Context(), id))
	testkit.Must(t, s.Flush(t.Context()))
	same(t, s, w.open(t, s.ID()))
}

// OP-28, PI-40
func lazyBranched(t *testing.T, w *suite) {
	s := w.create(t)
	id, err := s.SetName(t.Context(), "only a name")
	testkit.Must(t, err)
	w.assistant(t, s, "two")
	b, err := s.Branched(t.Context(), core.LeafAt(id), session.Options{Lazy: true})
	testkit.Must(t, err)
	if b.Saved() || w.Records(t, b.ID()) != 0 {
		t.Error("a branch without messages is in the log")
	}
	w.assistant(t, b, "words")
	if !b.Saved() {
		t.Error("a branch with a message is not in the log")
	}
	same(t, b, w.open(t, b.ID()))
	b, err = s.Branched(t.Context(), core.Leaf{}, session.Options{Lazy: true})
	testkit.Must(t, err)
	if !b.Saved() {
		t.Error("a branch with messages is not in the log")
	}
}

// OP-33
func openErrors(t *testing.T, w *suite) {
	_, err := session.Open(t.Context(), w.Log, "no-such-session", w.options())
	testkit.WantErr(t, err, core.ErrNotFound)
	s, _ := w.chat(t)
	_, err = session.Create(t.Context(), w.Log, "/w", session.Options{Dialect: w.dialect, ID: string(s.ID())})
	testkit.WantErr(t, err, core.ErrExists)
	for _, o := range []session.Options{{Dialect: "unknown"}, {Head: "a b"}, {ID: "../x"}, {Access: 9}} {
		_, err = session.Create(t.Context(), w.Log, "/w", o)
		testkit.WantErr(t, err, core.ErrInvalid)
	}
	_, err = session.ForkFrom(t.Context(), w.Log, "no-such-session", "/w", w.options())
	testkit.WantErr(t, err, core.ErrNotFound)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.AppendLine(gone, w.message(item.RoleUser, "never"))
	testkit.WantErr(t, err, context.Canceled)
	if len(s.Entries()) != 4 {
		t.Error("a canceled call left an entry")
	}
}

func readOnlyRefuses(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	n := w.Records(t, s.ID())
	r := w.open(t, s.ID(), readOnly)
	_, err := r.AppendLine(t.Context(), w.message(item.RoleUser, "no"))
	testkit.WantErr(t, err, core.ErrInvalid)
	testkit.WantErr(t, r.Branch(t.Context(), ids[0]), core.ErrInvalid)
	testkit.Must(t, r.Close(t.Context()))
	if w.Records(t, s.ID()) != n {
		t.Error("a reader wrote a record")
	}
}

func claimedHead(t *testing.T, w *suite) {
	s, _ := w.chat(t)
	_, err := session.Open(t.Context(), w.Log, s.ID(), w.options())
	f, ok := errors.AsType[*core.FencedError](err)
	if !ok || f.Holder == nil || f.Holder.Agent != "test" || f.Head != core.MainHead {
		t.Fatalf("error is %v, want one with the holder", err)
	}
	testkit.Must(t, s.Close(t.Context()))
	o := w.open(t, s.ID(), claimed)
	if _, writer := o.Head(); writer == "" {
		t.Error("it has no claim")
	}
	o = w.open(t, s.ID(), takeOver)
	w.user(t, o, "mine now")
	side := w.open(t, s.ID(), claimed, func(o *session.Options) { o.Head = "side" })
	w.user(t, side, "beside")
	w.user(t, o, "still mine")
}

func fencedWriter(t *testing.T, w *suite) {
	s, _ := w.chat(t)
	other := w.open(t, s.ID(), takeOver)
	theirs := w.user(t, other, "theirs")
	for i := range 2 {
		_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, fmt.Sprint("mine", i)))
		if _, ok := errors.AsType[*core.FencedError](err); !ok {
			t.Fatalf("error is %v, want a *core.FencedError", err)
		}
	}
	testkit.WantErr(t, s.Err(), core.ErrFenced)
	testkit.WantErr(t, s.Flush(t.Context()), core.ErrFenced)
	unsent := s.Unsent()
	if len(unsent) != 2 || unsent[1].Parent != unsent[0].ID {
		t.Fatalf("%d unsent entries, want two in a chain", len(unsent))
	}
	testkit.Equal(t, "its own context", []string{"one", "four", "mine0", "mine1"}, texts(t, s, core.Leaf{}, "one", "four", "theirs", "mine0", "mine1"))
	testkit.WantErr(t, s.BranchOff(t.Context(), core.MainHead), core.ErrFenced)
	testkit.WantErr(t, s.BranchOff(t.Context(), "no head"), core.ErrInvalid)
	if len(s.Unsent()) != 2 {
		t.Fatal("a failed BranchOff lost entries")
	}
	testkit.Must(t, s.BranchOff(t.Context(), "mine"))
	wantLeaf(t, s, unsent[1].ID)
	w.user(t, s, "and on")
	testkit.Must(t, s.Close(t.Context()))
	o := w.open(t, s.ID(), func(o *session.Options) { o.Head = "mine" })
	testkit.Equal(t, "on the head mine", []string{"one", "mine0", "mine1", "and on"}, texts(t, o, core.Leaf{}, "one", "theirs", "mine0", "mine1", "and on"))
	wantLeaf(t, w.open(t, s.ID()), theirs)
}

// OMP-34
func fencedDiscards(t *testing.T, w *suite) {
	s, _ := w.chat(t)
	other := w.open(t, s.ID(), takeOver)
	w.user(t, other, "theirs")
	_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, "mine"))
	testkit.WantErr(t, err, core.ErrFenced)
	first := s.Close(t.Context())
	testkit.WantErr(t, first, core.ErrFenced)
	if again := s.Close(t.Context()); again == nil || again.Error() != first.Error() {
		t.Errorf("the second close returns %v, the first %v", again, first)
	}
	gone, err := s.Discard(t.Context())
	if err != nil || len(gone) != 1 || len(s.Unsent()) != 0 || s.Err() != nil {
		t.Errorf("discard returns %d entries, %v", len(gone), err)
	}
	testkit.Must(t, s.Refresh(t.Context()))
	same(t, other, s)
}

func sharedConflict(t *testing.T, w *suite) {
	s, _ := w.chat(t, shared)
	other := w.open(t, s.ID())
	theirs := w.user(t, other, "theirs")
	_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, "mine"))
	if _, ok := errors.AsType[*core.ConflictError](err); !ok {
		t.Fatalf("error is %v, want a *core.ConflictError", err)
	}
	_, err = s.Discard(t.Context())
	testkit.Must(t, err)
	testkit.Must(t, s.Refresh(t.Context()))
	wantLeaf(t, s, theirs)
	w.user(t, s, "mine")
	w.user(t, s, "mine again")
	testkit.Must(t, other.Refresh(t.Context()))
	same(t, s, other)
}

func sharedMove(t *testing.T, w *suite) {
	s, ids := w.chat(t, shared)
	other := w.open(t, s.ID())
	theirs := w.user(t, other, "theirs")
	err := s.ResetLeaf(t.Context())
	if _, ok := errors.AsType[*core.ConflictError](err); !ok {
		t.Fatalf("error is %v, want a *core.ConflictError", err)
	}
	testkit.Must(t, other.Refresh(t.Context()))
	wantLeaf(t, other, theirs)
	_, err = s.Discard(t.Context())
	testkit.Must(t, err)
	testkit.Must(t, s.Refresh(t.Context()))
	wantLeaf(t, s, theirs)
	testkit.Must(t, s.Branch(t.Context(), ids[0]))
	wantLeaf(t, s, ids[0])
	testkit.Must(t, other.Refresh(t.Context()))
	same(t, s, other)
}

// A faulty log stores requests but returns core.ErrUncertain, always or every other
// time; or it rejects them.
type faulty struct {
	session.Log
	lose  bool // all answers
	flaky bool // lose every other answer
	down  bool
	full  bool // reject as too large
	calls int
}

func (f *faulty) answer(err error) error {
	f.calls++
	if err == nil && (f.lose || f.flaky && f.calls%2 == 1) {
		return core.ErrUncertain
	}
	return err
}

func (f *faulty) Create(ctx context.Context, n session.New) (core.Cursor, error) {
	if f.down {
		return core.Cursor{}, core.ErrUnavailable
	}
	if f.full {
		return core.Cursor{}, core.ErrTooLarge
	}
	c, err := f.Log.Create(ctx, n)
	return c, f.answer(err)
}

func (f *faulty) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Receipt, error) {
	if f.down {
		return core.Receipt{}, core.ErrUnavailable
	}
	if f.full {
		return core.Receipt{}, &core.LineError{Line: 1, Err: core.ErrTooLarge}
	}
	r, err := f.Log.Append(ctx, id, w, lines)
	return r, f.answer(err)
}

func (f *faulty) Move(ctx context.Context, id core.SessionID, w session.Writing, leaf core.Leaf) (core.Cursor, error) {
	c, err := f.Log.Move(ctx, id, w, leaf)
	return c, f.answer(err)
}

func (f *faulty) Claim(ctx context.Context, id core.SessionID, c core.ClaimRequest) (core.Claim, error) {
	mine, err := f.Log.Claim(ctx, id, c)
	return mine, f.answer(err)
}

func (f *faulty) Fork(ctx context.Context, id core.SessionID, q session.Fork) (core.SessionID, error) {
	made, err := f.Log.Fork(ctx, id, q)
	return made, f.answer(err)
}

// OP-18
func flaky(t *testing.T, w *suite) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 2))
		f := &faulty{Log: w.Log, flaky: true}
		o := w.options()
		o.Access = []session.Access{session.Claimed, session.Shared}[r.IntN(2)]
		s, err := session.Create(t.Context(), f, "/w", o)
		testkit.Must(t, err)
		wrote := 0
		for range 20 {
			n := len(s.Entries())
			if err := w.tryStep(t, s, r); err != nil {
				testkit.WantErr(t, err, core.ErrUncertain)
			}
			wrote += len(s.Entries()) - n
		}
		testkit.Must(t, errors.Join(s.Flush(t.Context()), s.Flush(t.Context())))
		o.Access = session.ReadOnly
		again, err := session.Open(t.Context(), w.Log, s.ID(), o)
		testkit.Must(t, err)
		same(t, s, again)
		if len(again.Entries()) != wrote || len(s.Unsent()) != 0 {
			t.Errorf("%d entries, %d unsent, want %d entries", len(again.Entries()), len(s.Unsent()), wrote)
		}
		fork, err := s.Fork(t.Context(), "/elsewhere", o)
		testkit.Must(t, err)
		testkit.Equal(t, "fork", lines(s.Entries()), lines(fork.Entries()))
	}
}

// OP-18
func lostAnswers(t *testing.T, w *suite) {
	f := &faulty{Log: w.Log, lose: true}
	o := w.options()
	o.Lazy = true
	s, err := session.Create(t.Context(), f, "/w", o)
	testkit.Must(t, err)
	_, err = s.AppendLine(t.Context(), w.message(item.RoleUser, "one"), w.message(item.RoleAssistant, "two"))
	testkit.WantErr(t, err, core.ErrUncertain)
	_, err = s.AppendLine(t.Context(), w.message(item.RoleUser, "three"))
	testkit.WantErr(t, err, core.ErrUncertain)
	f.lose = false
	testkit.Must(t, s.Flush(t.Context()))
	if len(s.Unsent()) != 0 || s.Err() != nil {
		t.Errorf("%d unsent, %v", len(s.Unsent()), s.Err())
	}
	f.lose = true
	_, err = s.AppendLine(t.Context(), w.message(item.RoleUser, "four"))
	testkit.WantErr(t, err, core.ErrUncertain)
	f.lose = false
	w.user(t, s, "five")
	r := w.open(t, s.ID())
	same(t, s, r)
	if n := len(r.Entries()); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
}

// OMP-31, OMP-34
func outage(t *testing.T, w *suite) {
	f := &faulty{Log: w.Log}
	s, err := session.Create(t.Context(), f, "/w", w.options())
	testkit.Must(t, err)
	f.down = true
	for i := range 3 {
		_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, fmt.Sprint(i)))
		testkit.WantErr(t, err, core.ErrUnavailable)
	}
	if len(s.Unsent()) != 3 || len(texts(t, s, core.Leaf{}, "0", "1", "2")) != 3 {
		t.Errorf("%d unsent", len(s.Unsent()))
	}
	testkit.WantErr(t, s.Flush(t.Context()), core.ErrUnavailable)
	f.down = false
	w.user(t, s, "3")
	if len(s.Unsent()) != 0 || s.Err() != nil {
		t.Errorf("%d unsent, %v", len(s.Unsent()), s.Err())
	}
	same(t, s, w.open(t, s.ID()))
}

func logRefuses(t *testing.T, w *suite) {
	f := &faulty{Log: w.Log}
	o := w.options()
	o.Lazy = true
	s, err := session.Create(t.Context(), f, "/w", o)
	testkit.Must(t, err)
	_, err = s.SetName(t.Context(), "early")
	testkit.Must(t, err)
	for range 2 { // before and after it is stored
		n := len(s.Entries())
		f.full = true
		_, err = s.AppendLine(t.Context(), w.message(item.RoleAssistant, "too large"))
		testkit.WantErr(t, err, core.ErrTooLarge)
		if len(s.Entries()) != n || s.Err() != nil {
			t.Errorf("%d entries, %v; want %d", len(s.Entries()), s.Err(), n)
		}
		f.full = false
		w.assistant(t, s, "not so large")
	}
	same(t, s, w.open(t, s.ID()))
}

func discardedUnsaved(t *testing.T, w *suite) {
	f := &faulty{Log: w.Log, lose: true}
	o := w.options()
	o.Lazy = true
	s, err := session.Create(t.Context(), f, "/w", o)
	testkit.Must(t, err)
	_, err = s.AppendLine(t.Context(), w.message(item.RoleAssistant, "made, answer lost"))
	testkit.WantErr(t, err, core.ErrUncertain)
	gone, err := s.Discard(t.Context())
	testkit.Must(t, err)
	f.lose = false
	if len(gone) != 1 || len(s.Entries()) != 0 {
		t.Errorf("%d entries dropped, %d left", len(gone), len(s.Entries()))
	}
	_, err = s.AppendLine(t.Context(), w.message(item.RoleAssistant, "another"))
	testkit.WantErr(t, err, core.ErrExists)
}

func refreshAndFollow(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	r := w.open(t, s.ID(), readOnly)
	follower := w.open(t, s.ID(), readOnly)
	w.user(t, s, "five")
	testkit.Must(t, s.Branch(t.Context(), ids[0]))
	last := w.user(t, s, "six")
	testkit.Must(t, r.Refresh(t.Context()))
	same(t, s, r)
	done := errors.New("done")
	err := follower.Follow(t.Context(), func() error {
		if e, ok := follower.LeafEntry(); ok && e.ID == last {
			return done
		}
		return nil
	})
	testkit.WantErr(t, err, done)
	same(t, s, follower)
}

// OP-34, OP-38, PI-17, OMP-29, OMP-41
func continueRecent(t *testing.T, w *suite) {
	cwd := "/home/dev/" + strings.ReplaceAll(t.Name(), "/", "-")
	o := w.options()
	o.Access = session.Shared
	first, err := session.Continue(t.Context(), w.Log, cwd, o)
	testkit.Must(t, err)
	if len(first.Entries()) != 0 || first.Header().CWD != cwd {
		t.Errorf("the new session has the header %s", first.Header().Line)
	}
	w.user(t, first, "one")
	elsewhere := w.createIn(t, cwd+"/below", shared)
	w.user(t, elsewhere, "two")
	again, err := session.Continue(t.Context(), w.Log, cwd, o)
	testkit.Must(t, err)
	if again.ID() != first.ID() {
		t.Errorf("it continued %s, want %s", again.ID(), first.ID())
	}
	same(t, first, again)

	// Any entry is a change, as of the file that an agent continues.
	later := w.createIn(t, cwd, shared)
	w.user(t, later, "three")
	o.Now = func() time.Time { return time.Now().Add(time.Hour) }
	_, err = w.open(t, first.ID(), func(named *session.Options) { named.Now = o.Now }).SetName(t.Context(), "named later")
	testkit.Must(t, err)
	again, err = session.Continue(t.Context(), w.Log, cwd, o)
	testkit.Must(t, err)
	if again.ID() != first.ID() {
		t.Errorf("it continued %s, want %s, which got its name later", again.ID(), first.ID())
	}
}

// OMP-19, PI-39
func ensure(t *testing.T, w *suite) {
	id := core.SessionID("ensured-" + w.dialect)
	s, err := session.Ensure(t.Context(), w.Log, id, "/w", session.Options{Dialect: w.dialect, Access: session.Shared})
	testkit.Must(t, err)
	if s.ID() != id || s.Header().ID != string(id) {
		t.Errorf("its id is %s", s.ID())
	}
	w.user(t, s, "one")
	again, err := session.Ensure(t.Context(), w.Log, id, "/elsewhere", session.Options{Access: session.Shared})
	testkit.Must(t, err)
	same(t, s, again)
}

// OP-35, PI-17
func forkFrom(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	testkit.Must(t, s.Branch(t.Context(), ids[1]))
	f, err := session.ForkFrom(t.Context(), w.Log, s.ID(), "/elsewhere", w.options())
	testkit.Must(t, err)
	testkit.Equal(t, "entries", lines(s.Entries()), lines(f.Entries()))
	wantLeaf(t, f, ids[1])
	if h := f.Header(); h.CWD != "/elsewhere" || h.Parent != s.Header().ID || f.ID() == s.ID() {
		t.Errorf("the header is %s", h.Line)
	}
	same(t, f, w.open(t, f.ID()))
}

// OP-37, OP-38, PI-37, PI-40, OMP-41
func listed(t *testing.T, w *suite) {
	cwd := "/home/dev/" + strings.ReplaceAll(t.Name(), "/", "-")
	a := w.createIn(t, cwd)
	w.user(t, a, "the first words")
	_, err := a.SetName(t.Context(), "A rare name "+w.dialect)
	testkit.Must(t, err)
	b := w.createIn(t, cwd)
	w.user(t, b, "other words")
	for _, c := range []struct {
		q    session.Query
		want int
	}{
		{session.Query{CWD: cwd}, 2},
		{session.Query{CWD: cwd, Dialect: w.dialect}, 2},
		{session.Query{CWD: cwd, Dialect: "unknown"}, 0},
		{session.Query{CWD: cwd, Limit: 1}, 1},
		{session.Query{CWD: cwd, Text: "rare name"}, 1},
		{session.Query{CWD: cwd + "/below"}, 0},
	} {
		found, err := w.Log.Recent(t.Context(), c.q)
		testkit.Must(t, err)
		if len(found) != c.want {
			t.Errorf("%+v finds %d, want %d", c.q, len(found), c.want)
		}
		if c.q.Text != "" && (found[0].ID != a.ID() || found[0].Messages != 1 || found[0].First != "the first words") {
			t.Errorf("found %+v", found[0])
		}
	}
}

func images(t *testing.T, w *suite) {
	data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("pixels", 400)))
	line := fmt.Sprintf(`{"type":"message","message":{"role":"user","content":[{"type":"image","data":%q,"mimeType":"image/png"}],"timestamp":1}}`, data)
	if w.dialect == "operator" {
		line = fmt.Sprintf(`{"type":"message","message":{"role":"user","contents":[{"type":"image","data":%q,"mime_type":"image/png"}]}}`, data)
	}
	s := w.create(t)
	w.line(t, s, []byte(line))
	same(t, s, w.open(t, s.ID()))
}

// OP-20, OMP-20, PI-16: after any history, a reader has what the writer has.
func anyHistory(t *testing.T, w *suite) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		access := []func(*session.Options){claimed, shared}[r.IntN(2)]
		s := w.create(t, access, func(o *session.Options) { o.Lazy = r.IntN(2) == 0 })
		for range 25 {
			w.step(t, s, r)
			if s.Saved() && r.IntN(5) == 0 {
				same(t, s, w.open(t, s.ID(), readOnly))
			}
		}
		testkit.Must(t, s.Flush(t.Context()))
		testkit.Must(t, s.Refresh(t.Context()))
		o := w.open(t, s.ID(), readOnly)
		same(t, s, o)
		testkit.Equal(t, "tree", s.Tree(), o.Tree())
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

func (w *suite) step(t *testing.T, s *session.Session, r *rand.Rand) {
	t.Helper()
	testkit.Must(t, w.tryStep(t, s, r))
}

// tryStep does one random operation.
func (w *suite) tryStep(t *testing.T, s *session.Session, r *rand.Rand) (err error) {
	t.Helper()
	es := s.Entries()
	if len(es) == 0 {
		_, err = s.AppendLine(t.Context(), w.message(item.RoleUser, "first"))
		return err
	}
	some := es[r.IntN(len(es))].ID
	switch r.IntN(8) {
	case 0:
		err = s.Branch(t.Context(), some)
	case 1:
		err = s.ResetLeaf(t.Context())
	case 2:
		_, err = s.SetLabel(t.Context(), some, []string{"", "x", "y"}[r.IntN(3)])
	case 3:
		_, err = s.SetName(t.Context(), []string{"a", "b"}[r.IntN(2)])
	case 4:
		err = s.Refresh(t.Context())
	case 5:
		_, err = s.AppendLine(t.Context(), w.message(item.RoleAssistant, "answer"))
	default:
		_, err = s.AppendLine(t.Context(), w.message(item.RoleUser, "a"), w.message(item.RoleUser, "b"))
	}
	return err
}

func deleted(t *testing.T, w *suite) {
	s, _ := w.chat(t)
	l, err := w.Log.Load(t.Context(), s.ID())
	testkit.Must(t, err)
	if c, ok := l.Claims[core.MainHead]; !ok || c.Agent != "test" || l.Deleted != nil {
		t.Errorf("claims are %v, deleted %v", l.Claims, l.Deleted)
	}
	for range 2 {
		testkit.Must(t, w.Log.Delete(t.Context(), s.ID(), core.Notice{By: "me", Why: "a test"}))
	}
	for _, access := range []func(*session.Options){claimed, shared} {
		o := w.options()
		access(&o)
		_, err := session.Open(t.Context(), w.Log, s.ID(), o)
		testkit.WantErr(t, err, core.ErrDeleted)
		if !strings.Contains(err.Error(), "by me") || !strings.Contains(err.Error(), "a test") {
			t.Errorf("the error does not say who and why: %v", err)
		}
	}
	same(t, s, w.open(t, s.ID(), readOnly))
	_, err = s.AppendLine(t.Context(), w.message(item.RoleUser, "late"))
	testkit.WantErr(t, err, core.ErrDeleted)
	testkit.WantErr(t, w.Log.Delete(t.Context(), "not-there", core.Notice{}), core.ErrNotFound)
}
