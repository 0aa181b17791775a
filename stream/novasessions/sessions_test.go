package novasessions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/core/nova"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/novasessions"
)

// A world is a log, and a clock that a test moves.
type world struct {
	t    *testing.T
	log  *memlog.Log
	ss   *stream.Sessions
	now  atomic.Int64 // minutes
	made atomic.Int64
	logs bytes.Buffer
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, log: memlog.New("test")}
	w.ss = stream.NewSessions(stream.Config{
		Log: w.log, Blobs: &blobs{all: map[core.Digest][]byte{}}, Dialects: dialect.All(), Host: "host", Now: w.clock, Logger: slog.New(slog.DiscardHandler),
	})
	return w
}

func (w *world) clock() time.Time {
	return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(w.now.Load()) * time.Minute)
}

// holder is a program of its own on the log.
func (w *world) holder(change ...func(*novasessions.Config)) *novasessions.Sessions {
	cfg := novasessions.Config{
		Sessions: w.ss, Now: w.clock, By: "tester", Host: "host",
		NewID:  func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", w.made.Add(1)) },
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&cfg)
	}
	return novasessions.New(cfg)
}

func (w *world) create(s *novasessions.Sessions, o novasessions.Options) string {
	w.t.Helper()
	id, err := s.GetOrCreate(w.t.Context(), nil, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// elsewhere is the state as another program finds it in the log.
func (w *world) elsewhere(id string) nova.State {
	w.t.Helper()
	s := w.holder()
	if _, err := s.GetOrCreate(w.t.Context(), &id, novasessions.Options{}); err != nil {
		w.t.Fatal(err)
	}
	st, err := s.State(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func wantErr(t *testing.T, got, want error, says string) {
	t.Helper()
	if !errors.Is(got, want) || !strings.Contains(got.Error(), says) {
		t.Errorf("error is %v, want %v with %q", got, want, says)
	}
}

// NOVA-05, NOVA-06, NOVA-07, NOVA-08, NOVA-04
func TestGetOrCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder()
	id := w.create(s, novasessions.Options{Agent: "impl", Tags: []string{"pr"}})
	st := w.elsewhere(id) // it is in the log at once
	if st.SessionID != id || st.Model != nova.DefaultModel || st.AgentName != "impl" || !cmp.Equal(st.Tags, []string{"pr"}) {
		t.Errorf("%+v", st)
	}
	got, err := s.GetOrCreate(t.Context(), &id, novasessions.Options{Model: "other", Tags: []string{"x"}})
	if err != nil || got != id || w.elsewhere(id).Model != nova.DefaultModel {
		t.Errorf("resumed %q, %v", got, err)
	}
	unknown, empty, bad := "nowhere-to-be-found", "", "../../../etc"
	_, err = s.GetOrCreate(t.Context(), &unknown, novasessions.Options{})
	wantErr(t, err, core.ErrNotFound, id)
	_, err = s.GetOrCreate(t.Context(), &empty, novasessions.Options{})
	wantErr(t, err, core.ErrInvalid, "")
	_, err = s.GetOrCreate(t.Context(), &bad, novasessions.Options{})
	wantErr(t, err, core.ErrInvalid, "")
}

// NOVA-09, NOVA-10, NOVA-11, NOVA-12, NOVA-13, NOVA-39
func TestTaskIsDurableWhenItReturns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder(func(c *novasessions.Config) { c.Limits = nova.Limits{Decisions: 10, Tokens: 5} })
	_, err := s.RunTask(t.Context(), "not-open-here", nil)
	wantErr(t, err, core.ErrNotFound, "none is open")
	id := w.create(s, novasessions.Options{})
	res, err := s.RunTask(t.Context(), id, &nova.Decision{Decision: "D"})
	if err != nil || res.SessionID != id || res.Resume != id || res.Model != nova.DefaultModel || !strings.HasSuffix(res.Context, "Turns: 1\nRecent decision: D") || res.State.Pruned {
		t.Errorf("%+v, %v", res, err)
	}
	if st := w.elsewhere(id); st.TurnCount != 1 || len(st.Decisions) != 1 {
		t.Errorf("the log has %+v", st)
	}
	line, _ := nova.AddTokens(6)
	if _, err := s.Change(t.Context(), id, line); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RunTask(t.Context(), id, nil); err != nil || !w.elsewhere(id).Pruned {
		t.Errorf("a state that was due is not compressed, %v", err)
	}
}

// NOVA-16, NOVA-17, NOVA-18, NOVA-33, NOVA-36, NOVA-39
func TestForkIsDurableAndCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder()
	_, err := s.Fork(t.Context(), "not-open-here")
	wantErr(t, err, core.ErrNotFound, "parent")
	id := w.create(s, novasessions.Options{Tags: []string{"pr"}})
	if _, err := s.RunTask(t.Context(), id, &nova.Decision{Decision: "D"}); err != nil {
		t.Fatal(err)
	}
	child, err := s.Fork(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RunTask(t.Context(), child, &nova.Decision{Decision: "E"}); err != nil {
		t.Fatal(err)
	}
	p, c := w.elsewhere(id), w.elsewhere(child)
	if c.ForkParentID != id || c.TurnCount != 1 || len(c.Decisions) != 2 || c.Metrics.TaskCount != 1 {
		t.Errorf("child %+v", c)
	}
	if p.ForkCount != 1 || p.TurnCount != 1 || len(p.Decisions) != 1 {
		t.Errorf("parent %+v", p)
	}
	set, err := s.Settings(t.Context(), child)
	if err != nil || set.Parent != id || !cmp.Equal(set.Tags, []string{"pr"}) || set.CreatedAt == "" {
		t.Errorf("%+v, %v", set, err)
	}
	sess, err := w.ss.Open(t.Context(), core.SessionID(child))
	if err != nil {
		t.Fatal(err)
	}
	_ = sess.View(func(st *core.State) error {
		if f := st.Origin.From; f == nil || string(f.Session) != id || f.Kind != "fork" || st.Header.Parent != id {
			t.Errorf("lineage %+v", f)
		}
		return nil
	})
}

// NOVA-19, NOVA-20
func TestCleanupIsTheTrashWithAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder()
	id := w.create(s, novasessions.Options{})
	if err := s.Cleanup(t.Context(), id, "done"); err != nil {
		t.Fatal(err)
	}
	_, err := s.State(t.Context(), id)
	wantErr(t, err, core.ErrNotFound, id)
	wantErr(t, s.Cleanup(t.Context(), id, ""), core.ErrNotFound, id)
	_, err = s.GetOrCreate(t.Context(), &id, novasessions.Options{})
	wantErr(t, err, core.ErrNotFound, id)
	sess, err := w.ss.Open(t.Context(), core.SessionID(id))
	if err != nil {
		t.Fatal(err)
	}
	_ = sess.View(func(st *core.State) error {
		if st.Deleted == nil || st.Deleted.Why != "done" || st.Deleted.By != "tester" {
			t.Errorf("notice %+v", st.Deleted)
		}
		return nil
	})
	if err := sess.Undelete(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}
	if w.elsewhere(id).SessionID != id {
		t.Error("it does not come back")
	}
}

// NOVA-30
func TestConcurrentChangesAreNeverLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.holder(), w.holder()
	id := w.create(a, novasessions.Options{})
	if _, err := b.GetOrCreate(t.Context(), &id, novasessions.Options{}); err != nil {
		t.Fatal(err)
	}
	const each = 20
	var wg sync.WaitGroup
	for _, s := range []*novasessions.Sessions{a, a, b, b} {
		wg.Go(func() {
			for range each {
				if _, err := s.RunTask(t.Context(), id, &nova.Decision{Decision: "D"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if st := w.elsewhere(id); st.TurnCount != 4*each || st.Metrics.DecisionCount != 4*each || len(st.Decisions) != 10 {
		t.Errorf("%d turns, %d decisions", st.TurnCount, st.Metrics.DecisionCount)
	}
}

// NOVA-31, NOVA-32
func TestCleanupTakesOldAndSurplusSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder(func(c *novasessions.Config) { c.MaxOpen = 2 })
	var ids []string
	for range 4 {
		ids = append(ids, w.create(s, novasessions.Options{}))
		w.now.Add(60)
	}
	w.now.Store(24*60 + 30) // the first is too old, but it goes on
	if _, err := s.RunTask(t.Context(), ids[0], nil); err != nil {
		t.Fatal(err)
	}
	w.now.Store(25*60 + 30)
	if d := cmp.Diff([]string{ids[1], ids[2]}, s.CleanupOld(t.Context())); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{ids[0], ids[3]}, s.List()); d != "" {
		t.Error(d)
	}
}

// NOVA-31
func TestRunCleansUpUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder(func(c *novasessions.Config) { c.Every = time.Millisecond })
	id := w.create(s, novasessions.Options{})
	w.now.Store(25 * 60)
	if len(s.List()) != 1 {
		t.Error("it is cleaned up though nobody called Run")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for len(s.List()) > 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, err := s.State(t.Context(), id)
	wantErr(t, err, core.ErrNotFound, id)
}

// NOVA-34, NOVA-35, NOVA-37, NOVA-38
func TestUpdateListAndPrune(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder(func(c *novasessions.Config) { c.Limits = nova.Limits{Decisions: 10, Tokens: 5} })
	a, b := w.create(s, novasessions.Options{Tags: []string{"pr", "x"}}), w.create(s, novasessions.Options{Tags: []string{"pr"}})
	if d := cmp.Diff([]string{a, b}, s.List("pr")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{a}, s.List("x", "pr")); d != "" {
		t.Error(d)
	}
	st, err := s.Update(t.Context(), a, []byte(`{"plan_summary":"P"}`))
	if err != nil || st.CurrentPlan != "P" {
		t.Errorf("%+v, %v", st, err)
	}
	_, err = s.Update(t.Context(), a, []byte(`{"nonsense":1}`))
	wantErr(t, err, core.ErrInvalid, "nonsense")
	if did, err := s.PruneIfNeeded(t.Context(), a); did || err != nil {
		t.Errorf("%v, %v", did, err)
	}
	line, _ := nova.AddTokens(6)
	if st, err := s.Change(t.Context(), a, line); err != nil || st.Metrics.TotalTokens != 6 {
		t.Errorf("%+v, %v", st, err)
	}
	for _, want := range []bool{true, false} {
		if did, err := s.PruneIfNeeded(t.Context(), a); did != want || err != nil {
			t.Errorf("%v, %v", did, err)
		}
	}
}

// NOVA-15
func TestLogsSayNothingOfTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.holder(func(c *novasessions.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	id := w.create(s, novasessions.Options{Agent: "SECRET", Tags: []string{"SECRET"}})
	if _, err := s.RunTask(t.Context(), id, &nova.Decision{Decision: "SECRET", Rationale: "SECRET"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), id, []byte(`{"current_plan":"SECRET"}`)); err != nil {
		t.Fatal(err)
	}
	if got := w.logs.String(); strings.Contains(got, "SECRET") || !strings.Contains(got, "turn=1 decisions=1") {
		t.Errorf("logged %s", got)
	}
}
