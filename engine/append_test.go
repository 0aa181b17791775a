package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// A hooked log lets a test control each append: store is the real append.
type hooked struct {
	core.Log
	mu     sync.Mutex
	onSend func(store func() (core.Pos, error)) (core.Pos, error)
}

func (h *hooked) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	store := func() (core.Pos, error) { return h.Log.Append(ctx, id, after, r) }
	h.mu.Lock()
	on := h.onSend
	h.mu.Unlock()
	if on == nil {
		return store()
	}
	return on(store)
}

func (h *hooked) hook(on func(store func() (core.Pos, error)) (core.Pos, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onSend = on
}

// loseAnswers stores the record and returns ErrUncertain n times. The last time, the
// caller's deadline has passed too.
func loseAnswers(n int) func(store func() (core.Pos, error)) (core.Pos, error) {
	return func(store func() (core.Pos, error)) (core.Pos, error) {
		pos, err := store()
		if n--; n >= 0 && err == nil {
			return 0, fmt.Errorf("lost: %w", core.ErrUncertain)
		}
		return pos, err
	}
}

func deterministic(ids ...string) func(int) string { return func(i int) string { return ids[i] } }

func TestRetryIsStoredOnce(t *testing.T) {
	line := []byte(`{"type":"message","message":{"role":"user","content":"hi"}}`)
	retried := engine.Append{Lines: [][]byte{line, line}, ID: deterministic("a", "b")}
	for name, spoil := range map[string]func(l *hooked){
		"the answer is lost": func(l *hooked) { l.hook(loseAnswers(1)) },
		"the answer is lost and another record follows": func(l *hooked) {
			other := node(l.Log, streamtest.NewBlobs())
			done := false
			l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
				pos, err := store()
				if done || err != nil {
					return pos, err
				}
				done = true
				s, err := other.Open(context.Background(), "session1")
				if err == nil {
					_, err = appendLines(context.Background(), s, message("other"))
				}
				return 0, errors.Join(core.ErrUncertain, err)
			})
		},
		"the request is lost": func(l *hooked) {
			first := true
			l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
				if first {
					first = false
					return 0, core.ErrUncertain
				}
				return store()
			})
		},
		"it is refused for nothing": func(l *hooked) {
			first := true
			l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
				if first {
					first = false
					return 0, core.ErrConflict
				}
				return store()
			})
		},
		"nothing": func(*hooked) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
				s := create(t, node(l, b), "session1", entry("root", ""))
				spoil(l)
				rec, err := s.Append(t.Context(), retried)
				if err != nil {
					t.Fatal(err)
				}
				testkit.Equal(t, "ids", []string{"a", "b"}, rec.IDs)
				testkit.Equal(t, "stored", 2, rec.Stored)
				l.hook(nil)
				for _, again := range []*engine.Session{s, open(t, node(l, b), "session1")} {
					time.Sleep(time.Hour) // virtual time: the retry fills in another timestamp
					rec, err := again.Append(t.Context(), retried)
					if err != nil {
						t.Fatal(err)
					}
					testkit.Equal(t, "ids of a retry", []string{"a", "b"}, rec.IDs)
					testkit.Equal(t, "stored by a retry", 0, rec.Stored)
				}
				st := folded(t, l, "session1", records(t, l, "session1"))
				testkit.Equal(t, "entries", "root a b", strings.Join(ids(st)[:3], " "))
				for _, id := range []string{"a", "b"} {
					n := 0
					for _, have := range ids(st) {
						if have == id {
							n++
						}
					}
					testkit.Equal(t, "times "+id+" is stored", 1, n)
				}
			})
		})
	}
}

// The writer loses its claim while the answer to its append is in progress. The lines
// are stored, so Append must return success.
func TestStoredAppendIsNotReportedAsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1")
		other := open(t, node(l.Log, b), "session1")
		mine := claim(t, s, core.ClaimRequest{})
		first := true
		l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
			pos, err := store()
			if !first || err != nil {
				return pos, err
			}
			first = false
			claim(t, other, core.ClaimRequest{TakeOver: true})
			return 0, core.ErrUncertain
		})
		a := engine.Append{Writer: mine.Writer, Lines: rawLines([]string{message("a")})}
		rec, err := s.Append(t.Context(), a)
		if err != nil || rec.Stored != 1 {
			t.Fatalf("stored %d lines, %v", rec.Stored, err)
		}
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Errorf("retry: %v", err)
		}
		_, err = s.Append(t.Context(), engine.Append{Writer: mine.Writer, Lines: rawLines([]string{message("b")})})
		testkit.WantErr(t, err, core.ErrFenced)
	})
}

// After a lost answer, no later rejection proves that nothing was stored.
func TestLaterErrorsKeepAppendUncertain(t *testing.T) {
	for _, later := range []error{core.ErrUnavailable, core.ErrFull, core.ErrTooLarge} {
		t.Run(later.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
				s := create(t, node(l, b), "session1")
				n := 0
				l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
					if n++; n > 1 {
						return 0, later
					}
					_, _ = store()
					return 0, core.ErrUncertain
				})
				_, err := appendLines(t.Context(), s, message("a"))
				testkit.WantErr(t, err, core.ErrUncertain)
				_, err = appendLines(t.Context(), s, message("b")) // this one is definite
				testkit.WantErr(t, err, later)

				n = 0
				_, err = node(l, b).Fork(t.Context(), s, session.Fork{ID: "forked-session"})
				testkit.WantErr(t, err, core.ErrUncertain)
			})
		})
	}
}

// Without an idempotency key, a line without an id is also stored once, within one
// call.
func TestLooseLinesWithoutIDsAreStoredOnce(t *testing.T) {
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
			mustAppend(t, other, core.MainHead, "", message("other"))
			checkpoint(t, other, b)
			return 0, core.ErrUncertain
		})
		rec, err := s.Append(t.Context(), engine.Append{Loose: true, Lines: rawLines([]string{`{"type":"custom"}`})})
		if err != nil || rec.Stored != 1 {
			t.Fatalf("stored %d lines, %v", rec.Stored, err)
		}
		testkit.Equal(t, "entries", []string{"", "other"}, ids(folded(t, l, "session1", records(t, l, "session1"))))
	})
}

func TestOnlyOneWriterSucceedsAtAPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ss, b := inMemory()
		s := create(t, ss, "session1", entry("root", ""))
		at := state(t, s).Cursor()
		const writers = 20
		var wg sync.WaitGroup
		won := make([]bool, writers)
		for i := range writers {
			s := open(t, node(l, b), "session1")
			wg.Go(func() {
				_, err := s.Append(t.Context(), engine.Append{After: &at, Lines: rawLines([]string{message(fmt.Sprintf("e%d", i))})})
				won[i] = err == nil
				if err == nil {
					return
				}
				testkit.WantErr(t, err, core.ErrConflict)
				if c, ok := errors.AsType[*core.ConflictError](err); !ok || c.Want != at || c.Have.Seq != at.Seq+1 {
					t.Errorf("the conflict says %+v", c)
				}
			})
		}
		wg.Wait()
		n := 0
		for _, w := range won {
			if w {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d writers succeeded at %s", n, at)
		}
		testkit.Equal(t, "records", 2, len(records(t, l, "session1")))
	})
}

func TestConcurrentAppendsShareARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1")
		gate := make(chan struct{})
		l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
			<-gate
			return store()
		})
		const n = 30
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { mustAppend(t, s, core.MainHead, "", message(fmt.Sprintf("e%d", i))) })
		}
		synctest.Wait() // one is in progress, the others wait
		close(gate)
		wg.Wait()
		rs := records(t, l, "session1")
		if len(rs) > 3 { // the open, the first, all others
			t.Errorf("%d appends took %d records", n, len(rs)-1)
		}
		testkit.Equal(t, "entries", n, len(folded(t, l, "session1", rs).Entries))
	})
}

// Two identical appends run concurrently, as when a client times out and retries. Both
// succeed.
func TestDuplicateAppendInOneRecordIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1", entry("root", ""))
		gate := make(chan struct{})
		l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
			<-gate
			return store()
		})
		var wg sync.WaitGroup
		wg.Go(func() { mustAppend(t, s, core.MainHead, "", message("first")) })
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				line := []byte(`{"type":"message","message":{"role":"user","content":"hi"}}`)
				rec, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{line, line}, ID: deterministic("a", "b")})
				if err != nil {
					t.Error(err)
				}
				testkit.Equal(t, "ids", []string{"a", "b"}, rec.IDs)
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		testkit.Equal(t, "entries", []string{"root", "first", "a", "b"}, ids(folded(t, l, "session1", records(t, l, "session1"))))
	})
}

func TestInvalidLineDoesNotFailOtherAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1", entry("root", ""))
		gate := make(chan struct{})
		l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
			<-gate
			return store()
		})
		bad := map[string]error{
			entry("orphan", "nowhere"):                  core.ErrInvalid,
			`{"type":"x","id":"root"}`:                  core.ErrConflict,
			entry("self", "self"):                       core.ErrInvalid,
			entry(strings.Repeat("i", 300), "root"):     core.ErrInvalid,
			`{"type":"message","id":"","message":null}`: core.ErrInvalid,
		}
		var wg sync.WaitGroup
		wg.Go(func() { mustAppend(t, s, core.MainHead, "", message("good0")) })
		synctest.Wait()
		i := 0
		for line, want := range bad {
			i++
			n := i
			wg.Go(func() { mustAppend(t, s, core.MainHead, "", message(fmt.Sprintf("good%d", n))) })
			wg.Go(func() {
				_, err := appendLines(t.Context(), s, message(fmt.Sprintf("beside%d", n)), line)
				testkit.WantErr(t, err, want)
				if e, ok := errors.AsType[*core.LineError](err); !ok || e.Line != 2 {
					t.Errorf("%v does not name line 2", err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		st := folded(t, l, "session1", records(t, l, "session1"))
		testkit.Equal(t, "entries", 2+len(bad), len(st.Entries))
	})
}

// These never reach the log: their record could not be read.
func TestAppendRejectsMalformedLines(t *testing.T) {
	_, ss, _ := inMemory()
	s := create(t, ss, "session1")
	for _, line := range []string{"", "null", "[]", "{", "{}{}", "{\"a\":1}\n", "{\"id\":\n\"x\"}", "\n{}", "\xef\xbb\xbf{}", "{}\x00", "x"} {
		for _, loose := range []bool{false, true} {
			_, err := s.Append(t.Context(), engine.Append{Loose: loose, Lines: rawLines([]string{message("ok"), line})})
			if !errors.Is(err, core.ErrInvalid) {
				t.Errorf("%q, loose %v: %v", line, loose, err)
			}
		}
	}
	_, err := s.Append(t.Context(), engine.Append{})
	testkit.WantErr(t, err, core.ErrInvalid)
	_, err = s.Append(t.Context(), engine.Append{Head: "a b", Lines: rawLines([]string{message("x")})})
	testkit.WantErr(t, err, core.ErrInvalid)
	testkit.Equal(t, "entries", 0, len(state(t, s).Entries))
}

// A possibly stale state cannot decide an append: if the log is unreachable, the
// caller gets that error.
func TestUnreachableLogDecidesNoAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := memlog.New("test"), streamtest.NewBlobs()
		s := create(t, node(l, b), "session1")
		f := logtest.Faulty(l, logtest.Faults{Busy: 1})
		away := open(t, node(&switched{Log: l, to: f}, b), "session1")
		claim(t, s, core.ClaimRequest{})
		_, err := appendLines(t.Context(), away, entry("a", "not known here"))
		testkit.WantErr(t, err, core.ErrUnavailable)
		if errors.Is(err, core.ErrInvalid) {
			t.Errorf("a line was rejected without the log: %v", err)
		}
	})
}

// A switched log answers once, and then like its replacement.
type switched struct {
	core.Log
	to   core.Log
	once sync.Once
}

func (s *switched) Last(ctx context.Context, id core.SessionID) (r *core.Record, err error) {
	r, err = s.to.Last(ctx, id)
	s.once.Do(func() { r, err = s.Log.Last(ctx, id) })
	return r, err
}

func (s *switched) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	return s.to.Append(ctx, id, after, r)
}

func TestAppendQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1")
		gate := make(chan struct{})
		l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
			<-gate
			return store()
		})
		var wg sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		wg.Go(func() { mustAppend(t, s, core.MainHead, "", message("first")) })
		synctest.Wait() // it is in progress, all others wait
		for i := range 400 {
			wg.Go(func() {
				_, err := appendLines(t.Context(), s, message(fmt.Sprintf("e%d", i)))
				if err != nil {
					testkit.WantErr(t, err, core.ErrUnavailable)
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		if got := len(folded(t, l, "session1", records(t, l, "session1")).Entries); got != 1+256 || refused != 400-256 {
			t.Errorf("%d entries are stored, %d were rejected, of 401", got, refused)
		}
	})
}

// If the caller cancels, its append continues and the caller gets ErrUncertain.
func TestCanceledAppendIsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1")
		gate := make(chan struct{})
		l.hook(func(store func() (core.Pos, error)) (core.Pos, error) {
			<-gate
			return store()
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := appendLines(ctx, s, message("a"))
		testkit.WantErr(t, err, core.ErrUncertain)
		_, err = appendLines(ctx, s, message("b")) // never sent
		if err == nil || errors.Is(err, core.ErrUncertain) {
			t.Errorf("an append with a canceled context: %v", err)
		}
		close(gate)
		synctest.Wait()
		testkit.Equal(t, "entries", []string{"a"}, ids(state(t, s)))
	})
}

func TestImagesRoundTripThroughBlobs(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1")
	line := imageLine("img", strings.Repeat("QUJD", 400))
	rec, err := appendLines(t.Context(), s, line)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "blobs", 1, rec.Blobs)
	kept := folded(t, l, "session1", records(t, l, "session1")).Entries[0].Line
	if bytes.Contains(kept, []byte("QUJD")) {
		t.Errorf("the log has the image: %.200s", kept)
	}
	back, err := ss.Inline(t.Context(), kept)
	if err != nil || string(back) != line {
		t.Errorf("%v, read as %.200s", err, back)
	}
	rec, err = appendLines(t.Context(), s, line)
	if err != nil || rec.Stored != 0 {
		t.Errorf("retry: stored %d, %v", rec.Stored, err)
	}
	for d := range b.All {
		b.Forget(d)
	}
	_, err = ss.Inline(t.Context(), kept)
	testkit.WantErr(t, err, core.ErrCorrupt) // the session exists, its image does not
}

func imageLine(id, data string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":[{"type":"image","data":%q,"mimeType":"image/png"}]}}`, id, data)
}

// NOVA-12: a task that leaves a session over its limits is followed directly by the
// compression, so that what the append adds after the task stays.
func TestCompressionFollowsItsTask(t *testing.T) {
	t.Parallel()
	_, ss, _ := inMemory()
	d := nova.Dialect{}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "session-1", Time: "2026-01-02T03:04:05.678Z"}))
	testkit.Must(t, err)
	s, err := ss.Create(t.Context(), engine.CreateRequest{ID: "session-1", Origin: core.Origin{Dialect: d.Name()}, Header: h})
	testkit.Must(t, err)
	for range 2 { // the second one repeats the first
		mustAppend(t, s, core.MainHead, "",
			`{"type":"artifact","id":"e1","name":"before","path":"/b"}`, `{"type":"tokens","id":"e2","count":150001}`,
			`{"type":"task","id":"e3"}`, `{"type":"artifact","id":"e4","name":"after","path":"/p"}`)
		es := state(t, s).Entries
		var types []string
		for _, e := range es {
			types = append(types, e.Type)
		}
		testkit.Equal(t, "types", []string{"artifact", "tokens", "task", "compress", "artifact"}, types)
		testkit.Equal(t, "artifacts", map[string]string{"after": "/p"}, nova.Fold(h, es).Artifacts)
	}
}
