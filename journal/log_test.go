package journal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/journal"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/sessiontest"
	"github.com/sesslog/sesslog/stream"
)

// The promises of package session hold over a journal.
func TestSessionsOverAJournal(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) sessiontest.Place {
		l := memlog.New("test")
		f := &finder{Log: l}
		f.sessions = stream.NewSessions(stream.Config{
			Log: f, Blobs: &blobs{all: map[core.Digest][]byte{}}, Dialects: dialect.All(), Host: "host",
			Timeout: 20 * time.Second, Logger: quiet,
		})
		j := openJournal(t, t.TempDir(), journal.Options{})
		t.Cleanup(func() { must(t, j.Close()) })
		return sessiontest.Place{
			Log: journal.New(stream.NewLocal(f.sessions, f), j, journal.Config{Logger: quiet}),
			Records: func(t *testing.T, id core.SessionID) int {
				n := 0
				for _, err := range l.Read(t.Context(), id, 0, 1<<40) {
					must(t, err)
					n++
				}
				return n
			},
		}
	})
}

// A finder remembers which sessions were made through it, in the order in which
// they changed.
type finder struct {
	core.Log
	sessions *stream.Sessions
	mu       sync.Mutex
	ids      []core.SessionID
}

func (f *finder) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	pos, err := f.Log.Append(ctx, id, after, r)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ids = append(slices.DeleteFunc(f.ids, func(other core.SessionID) bool { return other == id }), id)
	}
	return pos, err
}

func (f *finder) Find(ctx context.Context, q session.Query) (found []session.Found, err error) {
	f.mu.Lock()
	ids := slices.Clone(f.ids)
	f.mu.Unlock()
	for _, id := range slices.Backward(ids) {
		s, err := f.sessions.Open(ctx, id)
		if err != nil {
			return nil, err
		}
		_ = s.View(func(st *core.State) error {
			row := session.Found{ID: id, Dialect: st.Dialect.Name(), CWD: st.Header.CWD, Summary: st.Dialect.Summary(st.Header, st.Entries)}
			if (q.CWD == "" || q.CWD == row.CWD) && (q.Dialect == "" || q.Dialect == row.Dialect) && strings.Contains(row.Name, q.Text) {
				found = append(found, row)
			}
			return nil
		})
		if q.Limit > 0 && len(found) >= q.Limit {
			break
		}
	}
	return found, nil
}

func TestAppendsGoOnWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	s, err := session.Open(t.Context(), w, id, session.Options{})
	must(t, err)
	w.line.set(true)
	for _, text := range []string{"a", "b", "c"} {
		_, err := s.AppendLine(t.Context(), bare(text))
		must(t, err)
	}
	if w.waits() != 3 || len(s.Unsent()) != 0 {
		t.Errorf("%d wait, %d unsent", w.waits(), len(s.Unsent()))
	}
	must(t, s.Refresh(t.Context()))
	if len(s.Entries()) != 4 {
		t.Errorf("without the log it has %d entries", len(s.Entries()))
	}
	equal(t, "the path without the log", []string{"first", "a", "b", "c"}, path(t, w, "main"))
	w.line.set(false)
	if sent := w.send(); sent.Entries != 3 || len(sent.Heads) != 0 {
		t.Errorf("sent %+v", sent)
	}
	_, err = s.AppendLine(t.Context(), bare("d"))
	must(t, err)
	must(t, s.Close(t.Context()))
	equal(t, "the path", []string{"first", "a", "b", "c", "d"}, path(t, w.log, "main"))
	if w.waits() != 0 {
		t.Errorf("%d wait", w.waits())
	}
}

func TestSharedWriterGoesOnWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	s, err := session.Open(t.Context(), w, id, session.Options{Access: session.Shared})
	must(t, err)
	for _, text := range []string{"a", "b", "c", "d", "e", "f"} {
		w.line.set(strings.Contains("bce", text))
		if text == "d" || text == "f" {
			w.send()
		}
		_, err := s.AppendLine(t.Context(), bare(text))
		must(t, err)
	}
	equal(t, "the path", []string{"first", "a", "b", "c", "d", "e", "f"}, path(t, w.log, "main"))
}

func TestWhoeverWasTakenOverMeanwhileGoesToAHeadOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, access := range []session.Access{session.Claimed, session.Shared} {
		w := newWorld(t)
		w.create()
		s, err := session.Open(t.Context(), w, id, session.Options{Access: access})
		must(t, err)
		_, err = s.AppendLine(t.Context(), bare("a"))
		must(t, err)
		w.line.set(true)
		for _, text := range []string{"b", "c"} {
			_, err := s.AppendLine(t.Context(), bare(text))
			must(t, err)
		}
		other, err := session.Open(t.Context(), w.log, id, session.Options{Access: session.TakeOver})
		must(t, err)
		_, err = other.AppendLine(t.Context(), bare("x"))
		must(t, err)
		w.line.set(false)
		sent := w.send()
		own := ownHead(t, w.log)
		if sent.Heads["main"] != own || sent.Entries != 2 {
			t.Errorf("sent %+v, the head is %s", sent, own)
		}
		equal(t, "main", []string{"first", "a", "x"}, path(t, w.log, "main"))
		equal(t, "its own head", []string{"first", "a", "b", "c"}, path(t, w.log, own))
		_, err = s.AppendLine(t.Context(), bare("d"))
		wantErr(t, err, core.ErrFenced)
		must(t, s.BranchOff(t.Context(), "mine"))
		equal(t, "its next head", []string{"first", "a", "b", "c", "d"}, path(t, w.log, "mine"))
	}
}

// What waits outlives its writer, half-sent too.
func TestWhatWaitsOutlivesItsWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	must(t, first(w.Load(t.Context(), id)))
	w.line.set(true)
	for _, text := range []string{"a", "b", "c"} {
		if rec := w.append(session.Writing{}, bare(text)); rec.Kept != 1 || rec.Stored != 0 {
			t.Errorf("%+v", rec)
		}
	}
	w.open()
	equal(t, "the path without the log", []string{"first", "a", "b", "c"}, path(t, w, "main"))
	_, err := w.log.Append(t.Context(), id, session.Writing{}, [][]byte{bare("x")})
	must(t, err)
	// Each time one more step comes through, and then the process ends.
	w.line.set(false)
	for n := range 20 {
		calls := 0
		w.line.odds = func() (bool, bool) { calls++; return calls > n/2, n%2 == 0 && calls == n/2 }
		_, err := w.Send(t.Context(), id)
		away(t, err)
		w.line.odds = nil
		w.open()
	}
	if w.waits() != 0 {
		t.Errorf("%d wait", w.waits())
	}
	equal(t, "main", []string{"first", "x"}, path(t, w.log, "main"))
	equal(t, "its own head", []string{"first", "a", "b", "c"}, path(t, w.log, ownHead(t, w.log)))
}

// away fails the test unless err is nil or will pass.
func away(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, core.ErrUncertain) {
		wantErr(t, err, core.ErrUnavailable)
	}
}

func first[T any](_ T, err error) error { return err }

func TestSessionMadeWithoutTheLogLands(t *testing.T) {
	t.Parallel()
	for _, access := range []session.Access{session.Claimed, session.Shared} {
		w := newWorld(t)
		w.line.set(true)
		s, err := session.Create(t.Context(), w, "/w", session.Options{ID: string(id), Access: access, Agent: "me"})
		must(t, err)
		for _, text := range []string{"a", "b"} {
			_, err := s.AppendLine(t.Context(), bare(text))
			must(t, err)
		}
		must(t, s.Branch(t.Context(), s.Entries()[0].ID))
		must(t, s.Close(t.Context()))
		w.open()
		equal(t, "without the log", []string{"a"}, path(t, w, "main"))
		w.line.set(false)
		w.send()
		equal(t, "in the log", []string{"a"}, path(t, w.log, "main"))
		if n := len(w.has().Entries()); n != 2 || w.waits() != 0 {
			t.Errorf("%d entries, %d wait", n, w.waits())
		}
	}
}

func TestLinesOfAnUnmetSessionAreKeptAsTheyCame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	w.line.set(true)
	w.append(session.Writing{}, bare("a"), bare("b"))
	w.append(session.Writing{}, bare("c"))
	wantErr(t, first(w.Load(t.Context(), id)), core.ErrUnavailable)
	w.open()
	w.line.set(false)
	w.send()
	equal(t, "main", []string{"first", "a", "b", "c"}, path(t, w.log, "main"))
}

func TestWhatCannotLandStaysAndIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.line.set(true)
	w.append(session.Writing{}, bare("a"))
	w.line.set(false)
	for range 2 {
		_, err := w.Send(t.Context(), id)
		wantErr(t, err, core.ErrNotFound)
		if s := w.j.Sessions(); len(s) != 1 || s[0].Entries != 1 || s[0].Err == nil {
			t.Errorf("%+v", s)
		}
		w.open()
	}
	w.create() // somebody has made it after all
	w.send()
	equal(t, "main", []string{"first", "a"}, path(t, w.log, "main"))
}

func TestWhatTheLogRefusesIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	must(t, first(w.Load(t.Context(), id)))
	_, err := w.Append(t.Context(), id, session.Writing{}, [][]byte{whole("x", "nowhere")})
	wantErr(t, err, core.ErrInvalid)
	_, err = w.Append(t.Context(), id, session.Writing{Writer: "nobody-01"}, [][]byte{whole("x", "first")})
	wantErr(t, err, core.ErrFenced)
	w.open()
	if w.waits() != 0 {
		t.Errorf("%d wait", w.waits())
	}
	w.append(session.Writing{}, whole("y", "first"))
	equal(t, "main", []string{"first", "y"}, path(t, w.log, "main"))
}

func TestWhatTheLogLostIsAppendedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	must(t, first(w.Load(t.Context(), id)))
	w.append(session.Writing{}, whole("a", "first"))
	w.append(session.Writing{}, whole("b", "a"))
	w.line.Log = newWorld(t).log // the log as it was before
	_, err := w.line.Log.Create(t.Context(), newSession())
	must(t, err)
	w.open()
	sent, err := w.Check(t.Context(), id)
	must(t, err)
	if sent.Again != 2 || w.Losses() != 2 {
		t.Errorf("%+v, %d losses", sent, w.Losses())
	}
	equal(t, "main", []string{"first", "a", "b"}, path(t, w.line.Log, "main"))
	if sent, err := w.Check(t.Context(), id); err != nil || sent.Again != 0 {
		t.Errorf("%+v, %v", sent, err)
	}
}

// An append that names what was lost finds it put back.
func TestAppendPutsBackWhatWasLostBeforeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	must(t, first(w.Load(t.Context(), id)))
	w.append(session.Writing{}, whole("a", "first"))
	w.line.Log = newWorld(t).log
	_, err := w.line.Log.Create(t.Context(), newSession())
	must(t, err)
	w.append(session.Writing{}, whole("b", "a"))
	equal(t, "main", []string{"first", "a", "b"}, path(t, w.line.Log, "main"))
	if w.Losses() != 1 {
		t.Errorf("%d losses", w.Losses())
	}
}

func TestRunSendsWhenTheLogIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	must(t, first(w.Load(t.Context(), id)))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	w.line.set(true)
	w.append(session.Writing{}, bare("a"))
	w.append(session.Writing{}, bare("b"))
	w.line.set(false)
	for w.waits() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	equal(t, "main", []string{"first", "a", "b"}, path(t, w.log, "main"))
	stop()
	wantErr(t, <-done, context.Canceled)
}

// Nothing lost, nothing twice, the order kept, whatever goes wrong between.
func TestNothingIsLostAndNothingTwice(t *testing.T) {
	t.Parallel()
	n := uint64(60)
	if *long {
		n = 3000
	}
	from := uint64(time.Now().UnixNano())
	if *seed != 0 {
		from, n = *seed, 1
	}
	t.Logf("seeds %d to %d", from, from+n-1)
	for s := from; s < from+n; s++ {
		if !t.Run(fmt.Sprint(s), func(t *testing.T) { history(t, s) }) {
			return
		}
	}
}

func history(t *testing.T, seed uint64) {
	r := newRand(seed)
	w := newWorld(t)
	w.create()
	var wr session.Writing
	if r.IntN(2) == 0 {
		c, err := w.log.Claim(t.Context(), id, session.Claim{Head: "main", Agent: "me", Writer: "writer-01"})
		must(t, err)
		wr.Writer = c.Writer
	}
	must(t, first(w.Load(t.Context(), id)))
	bad := 0.0
	w.line.odds = func() (bool, bool) { return r.Float64() < bad, r.Float64() < bad }
	var wrote, others []string
	for i := range 40 {
		switch r.IntN(8) {
		case 0:
			bad = []float64{0, 0, 0.3, 1}[r.IntN(4)]
		case 1:
			w.open()
		case 2:
			away(t, first(w.Send(t.Context(), id)))
		case 3:
			if r.IntN(4) == 0 { // somebody else goes on
				text := fmt.Sprintf("other%d", i)
				if wr.Writer != "" {
					_, err := w.log.Claim(t.Context(), id, session.Claim{Head: "main", TakeOver: true, Writer: fmt.Sprintf("another-%02d", i)})
					must(t, err)
					must(t, w.log.Release(t.Context(), id, session.Writing{Head: "main", Writer: fmt.Sprintf("another-%02d", i)}))
				}
				_, err := w.log.Append(t.Context(), id, session.Writing{}, [][]byte{bare(text)})
				must(t, err)
				others = append(others, text)
			}
		case 4:
			away(t, first(w.Load(t.Context(), id)))
		default:
			text := fmt.Sprintf("mine%d", i)
			_, err := w.Append(t.Context(), id, wr, [][]byte{bare(text), bare(text + "'")})
			if err != nil { // it was told
				wantErr(t, err, core.ErrFenced)
				wr.Writer = ""
				continue
			}
			wrote = append(wrote, text, text+"'")
		}
	}
	bad = 0
	w.send()
	if w.waits() != 0 {
		t.Fatalf("%d wait", w.waits())
	}
	var mine, theirs []string
	for _, e := range w.has().Entries() {
		text := textOf(t, e)
		switch {
		case strings.HasPrefix(text, "mine"):
			mine = append(mine, text)
		case strings.HasPrefix(text, "other"):
			theirs = append(theirs, text)
		}
	}
	equal(t, "what was written, in order", wrote, mine)
	equal(t, "what others wrote, in order", others, theirs)
}
