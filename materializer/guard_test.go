package materializer_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
)

// guarded is a rig with a session whose records the log loses while a snapshot has
// them.
type guarded struct {
	*rig
	guard *materializer.Guard
	id    core.SessionID
	lines string // with all lines
}

// newGuarded returns a session with 3 lines in its snapshot.
func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{rig: newRig(t), id: "lost-session"}
	g.guarding(g.rig)
	m, d, stop := g.runAs(t, materializer.Config{Guard: g.guard})
	s := g.create(t, string(g.id))
	for range 3 {
		add(t, s, 100)
	}
	if _, err := m.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	await(t, "its row", func() bool { return d.Seq(g.id) == 5 })
	g.lines = text(s)
	stop()
	return g
}

// guarding gives the rig's sessions a new Guard, as a new process has.
func (g *guarded) guarding(r *rig) {
	g.guard = materializer.NewGuard(r.log, r.snapshots, r.quiet)
	r.sessions = r.sessions.WithWitness(g.guard)
	r.cache = materializer.NewCache(r.sessions, 64<<20)
}

func text(s *engine.Session) (lines string) {
	_ = s.View(func(st *core.State) error {
		lines = string(st.Render())
		return nil
	})
	return lines
}

// lose makes the log lose all records of the session from seq on.
func (g *guarded) lose(t *testing.T, seq uint64) {
	t.Helper()
	st, err := g.log.State(t.Context(), g.log.Shard(g.id))
	if err != nil {
		t.Fatal(err)
	}
	var kept []*core.Record
	for r, err := range g.log.Read(t.Context(), g.id, 0, st.Last) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq < seq {
			kept = append(kept, r)
		}
	}
	g.empty(t, st.Stream)
	var at core.Pos
	for _, r := range kept {
		if at, err = g.log.Append(t.Context(), g.id, at, r); err != nil {
			t.Fatal(err)
		}
	}
}

// restart runs a new process over the same log and directory.
func (g *guarded) restart(t *testing.T) *materializer.Materializer {
	t.Helper()
	g.guarding(g.rig)
	m, _, _ := g.runAs(t, materializer.Config{Guard: g.guard})
	return m
}

func TestLostTailIsRestoredFromSnapshot(t *testing.T) {
	t.Parallel()
	for _, seq := range []uint64{5, 4, 2, 1} {
		t.Run(fmt.Sprint("from record ", seq), func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			g.lose(t, seq)
			g.restart(t)
			await(t, "the session to be whole", func() bool {
				s, err := g.sessions.Open(t.Context(), g.id)
				return err == nil && text(s) == g.lines && len(g.guard.Losses()) == 0
			})
			s, err := g.sessions.Open(t.Context(), g.id)
			if err != nil {
				t.Fatal(err)
			}
			add(t, s, 10)
			_ = s.View(func(st *core.State) error {
				if len(st.Heads) != 1 {
					t.Errorf("heads: %v", st.Heads)
				}
				return nil
			})
		})
	}
}

// A process that has not read the notes of earlier ones examines a session: what proves
// less than a note does not replace it.
func TestNotedLossIsNotReplacedByASmallerOne(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, d, stop := g.runAs(t, materializer.Config{Guard: g.guard})
	s, err := g.sessions.Open(t.Context(), g.id)
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, 10) // no snapshot has it
	await(t, "its row", func() bool { return d.Seq(g.id) == 6 })
	stop()
	g.lose(t, 3)
	g.guarding(g.rig)
	_, _, stop = g.runAs(t, materializer.Config{Guard: g.guard})
	await(t, "the restoring of what the snapshot has", func() bool {
		l := g.guard.Loss(g.id)
		return l != nil && l.Proved == 6 && l.Tried != ""
	})
	stop()

	g.guarding(g.rig)
	g.file = filepath.Join(t.TempDir(), "index.db") // the row is not needed any more
	d, err = index.Open(t.Context(), index.Config{Path: g.file, Log: g.log.Name(), Logger: g.quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	materializer.New(materializer.Config{
		Log: g.log, Sessions: g.sessions, Cache: g.cache, Snapshots: g.snapshots, Directory: d, Guard: g.guard, Logger: g.quiet,
	})
	if _, err := g.sessions.Open(t.Context(), g.id); err != nil {
		t.Fatal(err)
	}
	if l := g.guard.Loss(g.id); l == nil || l.Proved != 6 {
		t.Errorf("the loss is %v, want one of record 6", l)
	}
}

// A snapshot that does not continue the session must not be stored, and not be deleted:
// an operator decides.
func TestLossThatCannotBeHealedRefusesWrites(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	kept := g.objects(t)
	g.lose(t, 2)
	other, err := g.sessions.Open(t.Context(), g.id) // before the guard knows of the loss
	if err != nil {
		t.Fatal(err)
	}
	line := `{"type":"message","message":{"role":"user","content":"a second history"}}`
	r := &core.Record{Kind: core.KindAppend, Head: core.MainHead, Writer: "w", Count: 1}
	_ = other.View(func(st *core.State) error {
		e, err := st.Dialect.Fill([]byte(line), core.Fields{ID: "feedbeef", Time: "2026-01-02T03:04:05.000Z"})
		if err != nil {
			t.Error(err)
		}
		r.Seq, r.Base, r.Body = st.Seq+1, st.Base, e.Line
		r.Chain = st.Chain.Next(r)
		_, err = g.log.Append(t.Context(), g.id, st.Pos, r)
		if err != nil {
			t.Error(err)
		}
		return nil
	})

	m := g.restart(t)
	await(t, "the loss to be named", func() bool {
		l := g.guard.Loss(g.id)
		return l != nil && l.Proved == 5 && l.Tried != ""
	})
	s, err := g.sessions.Open(t.Context(), g.id)
	if err != nil {
		t.Fatal(err)
	}
	write := func() error {
		_, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}})
		return err
	}
	if err := write(); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("a write to a session with a loss: %v", err)
	}
	for range 2 {
		if _, _, err := m.Collect(t.Context(), time.Nanosecond); err != nil {
			t.Fatal(err)
		}
		for shard := range g.log.Shards() {
			if _, err := m.Truncate(t.Context(), shard); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := g.guard.Hold(t.Context()); !errors.Is(err, core.ErrConflict) {
		t.Errorf("blobs may be deleted: %v", err)
	}
	if now := g.objects(t); !slices.Equal(now, kept) {
		t.Errorf("snapshots before: %q, after all collectors: %q", kept, now)
	}

	// Another process knows of it, even without rows.
	again := materializer.NewGuard(g.log, g.snapshots, g.quiet)
	if err := again.Hold(t.Context()); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a second process says %v", err)
	}
	if err := g.guard.Accept(t.Context(), g.id); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("a write after the loss was accepted: %v", err)
	}
	if err := g.guard.Examine(t.Context(), g.id); err != nil || len(g.guard.Losses()) != 0 {
		t.Errorf("an accepted loss is named again: %v, %v", g.guard.Losses(), err)
	}
}

// objects returns the keys of all snapshots.
func (g *guarded) objects(t *testing.T) (keys []string) {
	t.Helper()
	all, err := g.snapshots.Kept(t.Context(), g.log.Name(), g.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range all {
		keys = append(keys, info.Key)
	}
	return keys
}

// A session is not created in the place of one that the log lost, before anything else
// has noticed the loss.
func TestCreationDoesNotReplaceLostSession(t *testing.T) {
	t.Parallel()
	for _, witness := range []string{"row", "snapshot"} {
		t.Run(witness, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			g.lose(t, 1)
			g.guarding(g.rig)
			if witness == "snapshot" {
				g.file = filepath.Join(t.TempDir(), "index.db")
			}
			d, err := index.Open(t.Context(), index.Config{Path: g.file, Log: g.log.Name(), Logger: g.quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			materializer.New(materializer.Config{
				Log: g.log, Sessions: g.sessions, Cache: g.cache, Snapshots: g.snapshots, Directory: d, Guard: g.guard, Logger: g.quiet,
			})
			pi := dialect.All()["pi"]
			h, err := pi.Header(pi.NewHeader(core.HeaderFields{ID: string(g.id), Time: "2026-01-02T03:04:05.000Z", CWD: "/w"}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.sessions.Create(t.Context(), engine.CreateRequest{ID: g.id, Origin: core.Origin{Dialect: "pi"}, Header: h})
			if !errors.Is(err, core.ErrCorrupt) || g.guard.Loss(g.id) == nil {
				t.Errorf("creation: %v, loss: %v", err, g.guard.Loss(g.id))
			}
		})
	}
}

// Without rows, the snapshots alone prove the loss of a whole session.
func TestSnapshotOfUnknownSessionIsALoss(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.lose(t, 1)
	g.file = t.TempDir() + "/index.db"
	g.guarding(g.rig)
	if _, err := g.sessions.Open(t.Context(), g.id); !errors.Is(err, core.ErrNotFound) {
		t.Fatalf("before the guard runs: %v", err)
	}
	g.restart(t)
	await(t, "the loss to be named", func() bool { return g.guard.Loss(g.id) != nil })
	if _, err := g.sessions.Open(t.Context(), g.id); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("a session that only its snapshots know: %v", err)
	}
}
