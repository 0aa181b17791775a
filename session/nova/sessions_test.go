package nova_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	novadialect "github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/core/prune"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/nova"
)

// logOn returns a log for package session on l.
func logOn(l core.Log) session.Log {
	return engine.NewLocal(engine.NewSessions(engine.Config{Log: engine.Plain(l), Dialects: dialect.All(), Logger: slog.New(slog.DiscardHandler)}), nil)
}

// node returns sessions of l as one program has them.
func node(l core.Log, set ...func(*nova.Config)) *nova.Sessions {
	cfg := nova.Config{
		Log:    logOn(l),
		Logger: slog.New(slog.DiscardHandler),
		By:     "tester",
	}
	for _, f := range set {
		f(&cfg)
	}
	return nova.New(cfg)
}

func create(t *testing.T, ss *nova.Sessions, o nova.Options) string {
	t.Helper()
	id, err := ss.GetOrCreate(t.Context(), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func state(t *testing.T, ss *nova.Sessions, id string) novadialect.State {
	t.Helper()
	s, err := ss.State(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NOVA-05, NOVA-06, NOVA-33
func TestGetOrCreateStoresNewSession(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss := node(l)
	id := create(t, ss, nova.Options{Tags: []string{"pr", "feature", "pr"}, Agent: "impl", CWD: "/w"})
	if len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) {
		t.Errorf("%q is no UUID of version 4", id)
	}
	s := state(t, node(l), id) // another program, another host
	if s.Model != novadialect.DefaultModel || s.AgentName != "impl" || s.CreatedAt == "" || s.CreatedAt != s.LastUpdated {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"pr", "feature"}, s.Tags); diff != "" {
		t.Error(diff)
	}
	if s := state(t, ss, create(t, ss, nova.Options{Model: "m"})); s.Model != "m" {
		t.Errorf("%+v", s)
	}
}

// NOVA-07, NOVA-08, NOVA-03, NOVA-04
func TestGetOrCreateOpensSessionByID(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss := node(l)
	id := create(t, ss, nova.Options{Tags: []string{"x"}})
	other := node(l)
	for range 2 { // from the log, then from what is held
		got, err := other.GetOrCreate(t.Context(), &id, nova.Options{Model: "ignored", Tags: []string{"ignored"}})
		if err != nil || got != id {
			t.Errorf("%q, %v", got, err)
		}
	}
	if s := state(t, other, id); s.Model != novadialect.DefaultModel || !slices.Equal(s.Tags, []string{"x"}) {
		t.Errorf("%+v", s)
	}
	unknown := "unknown-session"
	if _, err := other.GetOrCreate(t.Context(), &unknown, nova.Options{}); !errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), id) {
		t.Errorf("unknown: %v", err)
	}
	for _, bad := range []string{"", "short", "../../etc/passwd", "abcdefgh\n"} {
		if _, err := other.GetOrCreate(t.Context(), &bad, nova.Options{}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// NOVA-09, NOVA-18, NOVA-19, NOVA-20
func TestUnknownSessionIsNotFound(t *testing.T) {
	t.Parallel()
	ss, ctx, id := node(memlog.New("test")), t.Context(), "unknown-session"
	_, run := ss.RunTask(ctx, id, nil)
	_, fork := ss.Fork(ctx, id)
	_, see := ss.State(ctx, id)
	_, update := ss.Update(ctx, id, []byte(`{"model":"m"}`))
	_, prune := ss.PruneIfNeeded(ctx, id)
	for name, err := range map[string]error{"run": run, "fork": fork, "cleanup": ss.Cleanup(ctx, id), "state": see, "update": update, "prune": prune} {
		if !errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), "available are: none") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// NOVA-10, NOVA-11, NOVA-13, NOVA-14, NOVA-39
func TestRunTaskStoresTask(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss := node(l)
	id := create(t, ss, nova.Options{})
	if _, err := ss.RunTask(t.Context(), id, nil); err != nil {
		t.Fatal(err)
	}
	task, err := ss.RunTask(t.Context(), id, &novadialect.Decision{Decision: "D"})
	if err != nil {
		t.Fatal(err)
	}
	want := nova.Task{
		SessionID: id, ResumeFromSession: id, Model: novadialect.DefaultModel, State: state(t, node(l), id),
		Context: "Session ID: " + id + "\nModel: " + novadialect.DefaultModel + "\nTurns: 2\nRecent decision: D",
	}
	if diff := cmp.Diff(want, task); diff != "" {
		t.Error(diff)
	}
	if s := task.State; s.TurnCount != 2 || s.Metrics.TaskCount != 2 || s.Metrics.DecisionCount != 1 || s.Decisions[0].Rationale != "" || s.Decisions[0].Timestamp == "" {
		t.Errorf("%+v", s)
	}
}

// NOVA-12, NOVA-38
func TestRunTaskCompressesLargeState(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss, ctx := node(l), t.Context()
	id := create(t, ss, nova.Options{})
	if pruned, err := ss.PruneIfNeeded(ctx, id); pruned || err != nil {
		t.Errorf("pruned %v, %v", pruned, err)
	}
	if _, err := ss.AddArtifact(ctx, id, "a", "/a"); err != nil {
		t.Fatal(err)
	}
	if _, err := ss.AddTokens(ctx, id, 150_001); err != nil {
		t.Fatal(err)
	}
	task, err := ss.RunTask(ctx, id, &novadialect.Decision{Decision: "D"})
	if err != nil {
		t.Fatal(err)
	}
	if s := state(t, node(l), id); !s.Pruned || s.LastPrunedAt == "" || len(s.Artifacts) != 0 || s.Metrics.DecisionCount != 0 || len(s.Decisions) != 1 || !task.State.Pruned {
		t.Errorf("%+v", s)
	}
	if pruned, err := ss.PruneIfNeeded(ctx, id); pruned || err != nil {
		t.Errorf("pruned again: %v, %v", pruned, err)
	}
	narrow := node(l, func(c *nova.Config) { c.Prune = novadialect.Limits{Decisions: 1, Tokens: 1} })
	id = create(t, narrow, nova.Options{})
	for range 2 {
		if _, err := narrow.AddDecision(ctx, id, novadialect.Decision{Decision: "D"}); err != nil {
			t.Fatal(err)
		}
	}
	if pruned, err := narrow.PruneIfNeeded(ctx, id); !pruned || err != nil || len(state(t, narrow, id).Decisions) != 1 {
		t.Errorf("pruned %v, %v", pruned, err)
	}
}

// NOVA-15
func TestLogMessagesHaveNoContent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ss := node(memlog.New("test"), func(c *nova.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	ctx := t.Context()
	id := create(t, ss, nova.Options{Tags: []string{"SECRET"}})
	for _, err := range []error{
		func() error {
			_, err := ss.RunTask(ctx, id, &novadialect.Decision{Decision: "SECRET", Rationale: "SECRET"})
			return err
		}(),
		func() error { _, err := ss.Update(ctx, id, []byte(`{"plan_summary":"SECRET"}`)); return err }(),
		func() error { _, err := ss.Fork(ctx, id); return err }(),
		ss.Cleanup(ctx, id),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := out.String(); strings.Contains(s, "SECRET") || !strings.Contains(s, "turn=1") || !strings.Contains(s, "decisions=1") {
		t.Errorf("logged:\n%s", s)
	}
}

// NOVA-16, NOVA-17, NOVA-33, NOVA-36, NOVA-39
func TestForkIsStoredAndCounted(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss, ctx := node(l), t.Context()
	id := create(t, ss, nova.Options{Tags: []string{"x"}})
	if _, err := ss.RunTask(ctx, id, &novadialect.Decision{Decision: "D"}); err != nil {
		t.Fatal(err)
	}
	child, err := ss.Fork(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	other := node(l)
	c, p := state(t, other, child), state(t, other, id)
	if c.ForkParentID != id || c.TurnCount != 0 || c.Metrics.TaskCount != 0 || len(c.Decisions) != 1 || !slices.Equal(c.Tags, p.Tags) || c.SessionID != child {
		t.Errorf("child %+v", c)
	}
	if p.ForkCount != 1 || p.TurnCount != 1 {
		t.Errorf("parent %+v", p)
	}
	if _, err := other.RunTask(ctx, child, &novadialect.Decision{Decision: "E"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, state(t, ss, id)); diff != "" {
		t.Errorf("the parent changed with its child: %s", diff)
	}
}

// NOVA-16, NOVA-17
func TestForkByTheLogIsANovaFork(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss, ctx := node(l), t.Context()
	id := create(t, ss, nova.Options{Tags: []string{"x"}})
	if _, err := ss.RunTask(ctx, id, &novadialect.Decision{Decision: "D"}); err != nil {
		t.Fatal(err)
	}
	log := logOn(l)
	forked, err := log.Fork(ctx, core.SessionID(id), session.Fork{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	child, err := session.Open(ctx, log, forked, session.Options{Access: session.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := child.Context(core.Leaf{}); err != nil || !bytes.Contains(c, []byte("Session ID: "+string(forked))) {
		t.Errorf("%s, %v", c, err)
	}
	if s := state(t, ss, string(forked)); s.ForkParentID != id || s.TurnCount != 0 || len(s.Decisions) != 1 || s.SessionID != string(forked) {
		t.Errorf("%+v", s)
	}
}

// NOVA-19
func TestCleanupMovesSessionToTrash(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss, ctx := node(l), t.Context()
	id := create(t, ss, nova.Options{})
	if err := node(l).Cleanup(ctx, id); err != nil { // another program's
		t.Fatal(err)
	}
	if _, err := ss.State(ctx, id); !errors.Is(err, core.ErrDeleted) || !strings.Contains(err.Error(), "tester") {
		t.Errorf("state: %v", err)
	}
	if _, err := ss.RunTask(ctx, id, nil); !errors.Is(err, core.ErrDeleted) {
		t.Errorf("task: %v", err)
	}
	if held := ss.Held(); len(held) != 0 {
		t.Errorf("held: %v", held)
	}
}

// NOVA-34
func TestByTagFindsSessions(t *testing.T) {
	t.Parallel()
	ss := node(memlog.New("test"))
	a, b := create(t, ss, nova.Options{Tags: []string{"x", "y"}}), create(t, ss, nova.Options{Tags: []string{"y"}})
	both := []string{a, b}
	slices.Sort(both)
	for tag, want := range map[string][]string{"x": {a}, "y": both, "z": nil} {
		if got, err := ss.ByTag(t.Context(), tag); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", tag, got, err)
		}
	}
}

// NOVA-37
func TestUpdateIsStored(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	ss := node(l)
	id := create(t, ss, nova.Options{})
	if _, err := ss.Update(t.Context(), id, []byte(`{"plan_summary":"Updated plan"}`)); err != nil {
		t.Fatal(err)
	}
	if s := state(t, node(l), id); s.CurrentPlan != "Updated plan" {
		t.Errorf("%+v", s)
	}
	if _, err := ss.Update(t.Context(), id, []byte(`{"plan_sumary":"x"}`)); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "plan_sumary") {
		t.Errorf("%v", err)
	}
}

// NOVA-30, NOVA-39
func TestConcurrentChangesAreAllStored(t *testing.T) {
	t.Parallel()
	l := memlog.New("test")
	one, two := node(l), node(l)
	id := create(t, one, nova.Options{})
	const writers, each = 6, 10
	var wg sync.WaitGroup
	for w := range writers {
		ss := []*nova.Sessions{one, two}[w%2]
		wg.Go(func() {
			for i := range each {
				if _, err := ss.AddArtifact(t.Context(), id, fmt.Sprintf("%d-%d", w, i), "/x"); err != nil {
					t.Error(err)
				}
				if _, err := ss.RunTask(t.Context(), id, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := state(t, one, id)
	if s.TurnCount != writers*each || len(s.Artifacts) != writers*each {
		t.Errorf("%d turns, %d artifacts", s.TurnCount, len(s.Artifacts))
	}
	if diff := cmp.Diff(s, state(t, two, id)); diff != "" {
		t.Error(diff)
	}
}

// lossy loses the answer to every other append.
type lossy struct {
	core.Log
	mu sync.Mutex
	n  int
}

func (l *lossy) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	pos, err := l.Log.Append(ctx, id, after, r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; l.n%2 == 0 && err == nil {
		return 0, fmt.Errorf("the answer was lost: %w", core.ErrUncertain)
	}
	return pos, err
}

// NOVA-39
func TestChangeWithUnknownOutcomeCountsOnce(t *testing.T) {
	t.Parallel()
	ss := node(&lossy{Log: memlog.New("test")})
	id := create(t, ss, nova.Options{})
	for range 4 {
		if _, err := ss.RunTask(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s := state(t, ss, id); s.TurnCount != 4 {
		t.Errorf("%d turns", s.TurnCount)
	}
}

// NOVA-31, NOVA-32
func TestRunCleansUpOldSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := memlog.New("test")
		ss := node(l)
		old := create(t, ss, nova.Options{})
		claimed := create(t, ss, nova.Options{})
		claim(t, l, claimed)
		time.Sleep(20 * time.Hour)
		young := create(t, ss, nova.Options{})

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- ss.Run(ctx) }()
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		if got := ss.Held(); slices.Contains(got, old) || !slices.Contains(got, young) || !slices.Contains(got, claimed) {
			t.Errorf("held: %v, of %v, %v and %v", got, old, young, claimed)
		}
		if _, err := node(l).State(t.Context(), old); !errors.Is(err, core.ErrDeleted) || !strings.Contains(err.Error(), "not modified since") {
			t.Errorf("the old one: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stopped: %v", err)
		}
	})
}

// claim has a writer hold the session.
func claim(t *testing.T, l core.Log, id string) {
	t.Helper()
	if _, err := logOn(l).Claim(t.Context(), core.SessionID(id), core.ClaimRequest{Head: core.MainHead, Writer: "writer-1"}); err != nil {
		t.Fatal(err)
	}
}

// NOVA-32
func TestCleanupRemovesOldestFirst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ss := node(memlog.New("test"), func(c *nova.Config) {
		c.Cleanup = &prune.Limits{Keep: 2}
		c.Now = func() time.Time { return now }
	})
	var ids []string
	for range 4 {
		ids = append(ids, create(t, ss, nova.Options{}))
		now = now.Add(time.Minute)
	}
	if _, err := ss.RunTask(t.Context(), ids[0], nil); err != nil { // the oldest is active again
		t.Fatal(err)
	}
	gone := ss.CleanupOld(t.Context())
	if len(gone) != 2 || string(gone[0].ID) != ids[1] || string(gone[1].ID) != ids[2] {
		t.Errorf("%v went of %v", gone, ids)
	}
	if more := ss.CleanupOld(t.Context()); len(more) != 0 {
		t.Errorf("%v went too", more)
	}
}

// NOVA-40
func TestNewSessionHasTheIDThatItsCallerChose(t *testing.T) {
	t.Parallel()
	ss := node(memlog.New("test"))
	id, err := ss.GetOrCreate(t.Context(), nil, nova.Options{ID: "my-project_1"})
	if err != nil || id != "my-project_1" {
		t.Fatalf("%s, %v", id, err)
	}
	if _, err := ss.GetOrCreate(t.Context(), nil, nova.Options{ID: "my-project_1"}); !errors.Is(err, core.ErrExists) {
		t.Errorf("taken: %v", err)
	}
	for _, bad := range []string{"short", "../../etc/x", "a b c d e"} {
		if _, err := ss.GetOrCreate(t.Context(), nil, nova.Options{ID: bad}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
