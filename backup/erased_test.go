package backup_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// last returns the last record of a session.
func (n *node) last(t *testing.T, id string) *core.Record {
	t.Helper()
	r, err := n.Config.Log.Last(t.Context(), core.SessionID(id))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// erase erases a session.
func (n *node) erase(t *testing.T, id string) {
	t.Helper()
	last := n.last(t, id)
	r := &core.Record{Kind: core.KindErase, Seq: last.Seq + 1, Head: core.MainHead, Writer: "w", Body: []byte(`{"by":"me","why":"asked to"}`)}
	r.Chain = last.Chain.Next(r)
	if _, err := n.Config.Log.Append(t.Context(), core.SessionID(id), last.Pos, r); err != nil {
		t.Fatal(err)
	}
}

func restoreOne(t *testing.T, n *node, repo *backup.Repo, at, id string) (*backup.Restored, error) {
	t.Helper()
	run, err := repo.Pick(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	r := backup.Restorer{Node: n.Client, Repo: repo, Run: run}
	return r.Restore(t.Context(), run.Session(core.SessionID(id)))
}

func TestErasedSessionStaysErased(t *testing.T) {
	t.Parallel()
	a, b, c := startNode(t), startNode(t), startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 3, Images: 1}).Bytes))
	repo, _ := newRepo(t)
	before := take(t, a, repo)
	a.erase(t, id)
	after := take(t, a, repo)

	// Later backups record the erase.
	run, err := repo.Pick(t.Context(), before.Run)
	if err != nil {
		t.Fatal(err)
	}
	if erased, err := repo.ErasedSince(t.Context(), run); err != nil || !erased[core.SessionID(id)] {
		t.Errorf("ErasedSince = %v, %v", err, erased)
	}
	// The log that erased the session never accepts it again.
	if _, err := restoreOne(t, a, repo, before.Run, id); !errors.Is(err, core.ErrDeleted) {
		t.Errorf("restore into the same log: %v", err)
	}
	// A new log receives the erase, with its author, and then rejects the session.
	if r, err := restoreOne(t, b, repo, after.Run, id); err != nil || r.Stored != 1 {
		t.Fatalf("restore of the erase: %v, %+v", err, r)
	}
	if r, err := restoreOne(t, b, repo, after.Run, id); err != nil || r.Relation != report.Same {
		t.Errorf("second restore of the erase: %v, %+v", err, r)
	}
	if _, err := b.Info(t.Context(), id); !errors.Is(err, core.ErrDeleted) || !strings.Contains(err.Error(), "by me") {
		t.Errorf("info: %v", err)
	}
	if _, err := restoreOne(t, b, repo, before.Run, id); !errors.Is(err, core.ErrDeleted) {
		t.Errorf("append after the erase: %v", err)
	}
	if a.last(t, id).Chain != b.last(t, id).Chain {
		t.Error("the chain differs")
	}
	// A log that never had the session accepts it from an older backup.
	if r, err := restoreOne(t, c, repo, before.Run, id); err != nil || r.Relation != report.Absent {
		t.Errorf("restore from before the erase: %v, %+v", err, r)
	}
	if taken := take(t, b, repo); taken.Unchanged != 1 {
		t.Errorf("backup of the restored log: %+v", taken)
	}
}

// A writer that knew the lost log expects a position that the restored log does not
// have.
func TestWriterOfLostLogCannotWriteToRestoredLog(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 2}).Bytes))
	repo, _ := newRepo(t)
	take(t, a, repo)
	a.say(t, id, "after the backup")
	known := a.last(t, id)

	b := startNode(t)
	if _, err := restoreOne(t, b, repo, "", id); err != nil {
		t.Fatal(err)
	}
	b.say(t, id, "another")
	now := b.last(t, id)
	if now.Pos <= known.Pos {
		t.Fatalf("the restored log is at %d, the lost one was at %d", now.Pos, known.Pos)
	}
	next := &core.Record{Kind: core.KindAppend, Seq: known.Seq + 1, Head: core.MainHead, Writer: "w", Count: 1, Body: []byte(`{"type":"message","id":"zzzz0001","parentId":null}`)}
	next.Chain = known.Chain.Next(next)
	if _, err := b.Config.Log.Append(t.Context(), core.SessionID(id), known.Pos, next); !errors.Is(err, core.ErrConflict) {
		t.Errorf("append: %v", err)
	}
	if b.last(t, id).Chain != now.Chain {
		t.Error("the append was stored")
	}
}

func TestBackupWithLostSnapshotReadsAllRecords(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 3, Images: 1}).Bytes))
	a.say(t, id, "before")
	if _, err := a.Checkpoint(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	a.say(t, id, "behind")
	want := a.content(t, id)
	for _, key := range objects(t, a.bucket) {
		if strings.HasPrefix(key, "snapshots/") {
			if err := a.bucket.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	repo, _ := newRepo(t)
	take(t, a, repo)
	restoreAll(t, b, repo, "")
	if la, lb := a.last(t, id), b.last(t, id); la.Chain != lb.Chain {
		t.Errorf("the session ends with %s record %d, want %s record %d", lb.Kind, lb.Seq, la.Kind, la.Seq)
	}
	if d := cmp.Diff(want, b.content(t, id)); d != "" {
		t.Errorf("the restored session differs (-want):\n%s", d)
	}
}

// A redaction deletes the snapshot that a backup is about to read, and the records
// before it.
func TestSnapshotDeletedDuringBackup(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 3}).Bytes))
	a.say(t, id, "before")
	old, err := a.Checkpoint(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	replace := func(key string) {
		if key != old.Object {
			return
		}
		once.Do(func() {
			a.say(t, id, "behind")
			if _, err := a.Checkpoint(t.Context(), id); err != nil {
				t.Error(err)
			}
			if err := a.bucket.Delete(t.Context(), old.Object); err != nil {
				t.Error(err)
			}
			if _, err := a.Config.Log.Forget(t.Context(), core.SessionID(id), a.last(t, id).Base); err != nil {
				t.Error(err)
			}
		})
	}
	repo, _ := newRepo(t)
	a.bucket.look.Store(&replace)
	if taken := take(t, a, repo); len(taken.Problems) > 0 {
		t.Errorf("problems: %+v", taken.Problems)
	}
	a.bucket.look.Store(nil)
	restoreAll(t, b, repo, "")
	same(t, a, b, []string{id})
}

func TestBackupReportsLostBlobAndKeepsRest(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 3, Images: 2}).Bytes))
	keys := objects(t, a.bucket)
	lost, whole := keys[0], get(t, a.bucket, keys[0])
	if err := a.bucket.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	repo, _ := newRepo(t)
	taken, err := taker(a, repo).Take(t.Context())
	if err != nil || len(taken.Problems) != 1 {
		t.Fatalf("backup: %v, %+v", err, taken)
	}
	r, err := restoreOne(t, b, repo, "", id)
	if err != nil || len(r.Missing) != 1 || !strings.Contains(taken.Problems[0].Detail, r.Missing[0].String()) {
		t.Fatalf("restore: %v, %+v", err, r)
	}
	if a.last(t, id).Chain != b.last(t, id).Chain {
		t.Error("the chain differs")
	}
	// Once it is there again, it is taken although nothing else changed.
	put(t, a.bucket, lost, whole)
	take(t, a, repo)
	restoreAll(t, b, repo, "")
	same(t, a, b, []string{id})
}

func TestCorruptSessionIsKeptFromPreviousRun(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	good := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 2}).Bytes))
	bad := a.bring(t, `{"type":"session","version":3,"id":"large-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/me"}
`)
	repo, _ := newRepo(t)
	first := take(t, a, repo)
	there := map[string]bool{}
	for _, key := range objects(t, a.bucket) {
		there[key] = true
	}
	a.say(t, bad, noise(1, 500<<10))
	for _, key := range objects(t, a.bucket) {
		if !there[key] { // the body
			if err := a.bucket.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.say(t, good, "more")
	taken, err := taker(a, repo).Take(t.Context())
	if err != nil || len(taken.Problems) != 1 || string(taken.Problems[0].Session) != bad {
		t.Fatalf("backup: %v, %+v", err, taken)
	}
	restoreAll(t, b, repo, "")
	same(t, a, b, []string{good})
	run, err := repo.Pick(t.Context(), first.Run)
	if err != nil || b.last(t, bad).Chain != run.Session(core.SessionID(bad)).Chain {
		t.Errorf("%v: the session is not that of the previous run", err)
	}
}
