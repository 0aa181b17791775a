package backup_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// rest creates a session whose latest snapshot has several parts.
func (n *node) rest(t *testing.T, id string) *core.Manifest {
	t.Helper()
	for seed := range uint64(10) {
		n.say(t, id, noise(seed, 10_000>>min(seed, 6)))
		if _, err := n.Checkpoint(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		m, err := n.Config.Sessions.Manifest(t.Context(), core.SessionID(id))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Parts) > 0 {
			return m
		}
	}
	t.Fatal("no snapshot has several parts")
	return nil
}

// A snapshot of several parts is backed up and restored as one object.
func TestSnapshotOfSeveralPartsIsBackedUpAsOneObject(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	fill(t, a)
	const id = "old-2025"
	m := a.rest(t, id)
	repo, bucket := newRepo(t)
	take(t, a, repo)
	run, err := repo.Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range run.Sessions {
		if string(s.ID) == id && (s.Snapshot == nil || s.Snapshot.Digest != m.Packed) {
			t.Errorf("the backup has snapshot %+v of %+v", s.Snapshot, m)
		}
	}
	// If the lines are the same, nothing is read, whatever other records follow.
	taken := take(t, a, backup.NewRepo(bucket))
	if taken.Read != 0 {
		t.Errorf("%d bytes read", taken.Read)
	}
	restoreAll(t, b, backup.NewRepo(bucket), "")
	same(t, a, b, []string{id})
	if report, err := b.Verify(t.Context(), id); err != nil || len(report.Problems) > 0 {
		t.Errorf("verify after restore: %+v, %v", report, err)
	}
	// The next snapshot does not use parts that were not restored.
	b.say(t, id, "more")
	if _, err := b.Checkpoint(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	next, err := b.Config.Sessions.Manifest(t.Context(), id)
	if err != nil || len(next.Parts) > 0 {
		t.Errorf("the next snapshot uses %+v: %v", next, err)
	}
	if report, err := b.Verify(t.Context(), id); err != nil || len(report.Problems) > 0 {
		t.Errorf("the next snapshot: %+v, %v", report, err)
	}
}

// A backup replaces parts that are lost in the object store.
func TestRestoreReplacesLostSnapshotPart(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	fill(t, a)
	const id = "old-2025"
	m := a.rest(t, id)
	repo, _ := newRepo(t)
	take(t, a, repo)
	if err := a.bucket.Delete(t.Context(), m.Parts[0].Object); err != nil {
		t.Fatal(err)
	}
	if report, err := a.Verify(t.Context(), id); err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].What, m.Object) {
		t.Errorf("verify before restore: %+v, %v", report, err)
	}
	restoreAll(t, a, repo, "")
	if report, err := a.Verify(t.Context(), id); err != nil || len(report.Problems) > 0 {
		t.Errorf("verify after restore: %+v, %v", report, err)
	}
	if _, err := a.SnapshotObject(t.Context(), &core.Manifest{Session: id, Object: m.Object + "x"}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a missing object: %v", err)
	}
}

// A snapshot of several parts that is replaced during a backup is still backed up
// from its parts: the records after it are being read, and its checkpoint may be
// truncated.
func TestSnapshotOfPartsReplacedDuringBackup(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	fill(t, a)
	const id = "old-2025"
	m := a.rest(t, id)
	want := a.content(t, id)
	replaced := make(chan struct{})
	replace := func() {
		defer close(replaced)
		a.say(t, id, "more")
		shard := a.Config.Log.Shard(id)
		st, err := a.Config.Log.State(t.Context(), shard)
		if err == nil {
			err = a.Config.Sessions.Truncate(t.Context(), a.Config.Log, shard, st.Last, func(ctx context.Context, s *engine.Session) error {
				_, err := a.Checkpoint(ctx, string(s.ID()))
				return err
			})
		}
		if err != nil {
			t.Error(err)
		}
	}
	var begun atomic.Bool
	hook := func(key string) {
		if key == m.Object && begun.CompareAndSwap(false, true) {
			replace()
		}
	}
	a.bucket.look.Store(&hook)
	repo, bucket := newRepo(t)
	take(t, a, repo)
	select {
	case <-replaced:
	default:
		t.Fatal("the snapshot was not requested")
	}
	if now, err := a.Config.Sessions.Manifest(t.Context(), id); err != nil || now.Object == m.Object {
		t.Fatalf("the snapshot was not replaced: %+v, %v", now, err)
	}
	run, err := repo.Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range run.Sessions {
		if string(s.ID) == id && (s.Snapshot == nil || s.Snapshot.Digest != m.Packed) {
			t.Errorf("the backup has %+v, not %s", s.Snapshot, m.Packed)
		}
	}
	restoreAll(t, b, backup.NewRepo(bucket), "")
	if have := b.content(t, id); have != want {
		t.Errorf("%d bytes restored, want the %d of the backup", len(have), len(want))
	}
}
