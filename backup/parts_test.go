package backup_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// rest makes a session of noise whose latest snapshot is of several parts.
func (n *node) rest(t *testing.T, id string) *core.Manifest {
	t.Helper()
	for seed := range uint64(10) {
		n.say(t, id, noise(seed, 10_000>>min(seed, 6)))
		if _, err := n.Checkpoint(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		m, err := n.sessions.Manifest(t.Context(), core.SessionID(id))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Parts) > 0 {
			return m
		}
	}
	t.Fatal("every snapshot is written whole")
	return nil
}

// A snapshot of several parts is taken as the one object that it would be, and
// comes back as that.
func TestASnapshotOfSeveralPartsIsTakenWhole(t *testing.T) {
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
			t.Errorf("the backup has %+v of %+v", s.Snapshot, m)
		}
	}
	// Nothing moves where the lines are the same, whatever came between.
	taken := take(t, a, backup.NewRepo(bucket))
	if taken.Read != 0 {
		t.Errorf("%d bytes moved", taken.Read)
	}
	bringBack(t, b, backup.NewRepo(bucket), "")
	same(t, a, b, []string{id})
	if report, err := b.Verify(t.Context(), id); err != nil || len(report.Problems) > 0 {
		t.Errorf("what came back: %+v, %v", report, err)
	}
	// The next snapshot does not rest on parts that did not come back.
	b.say(t, id, "more")
	if _, err := b.Checkpoint(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	next, err := b.sessions.Manifest(t.Context(), id)
	if err != nil || len(next.Parts) > 0 {
		t.Errorf("it rests on %+v: %v", next, err)
	}
	if report, err := b.Verify(t.Context(), id); err != nil || len(report.Problems) > 0 {
		t.Errorf("the next snapshot: %+v, %v", report, err)
	}
}

// Parts that are lost in the object store are made up for by a backup.
func TestALostPartIsMadeUpForByABackup(t *testing.T) {
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
		t.Errorf("without it: %+v, %v", report, err)
	}
	bringBack(t, a, repo, "")
	if report, err := a.Verify(t.Context(), id); err != nil || len(report.Problems) > 0 {
		t.Errorf("with what came back: %+v, %v", report, err)
	}
	if _, err := a.SnapshotObject(t.Context(), &core.Manifest{Session: id, Object: m.Object + "x"}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("an object that nobody has: %v", err)
	}
}

// A snapshot of several parts that another takes the place of in the middle of a
// backup is taken all the same, from its parts: the records that rest on it are on
// their way, and the log may have forgotten its checkpoint.
func TestASnapshotOfPartsThatIsReplacedWhileItIsTakenIsTakenAllTheSame(t *testing.T) {
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
		shard := a.log.Shard(id)
		st, err := a.log.State(t.Context(), shard)
		if err == nil {
			err = a.sessions.Truncate(t.Context(), a.log, shard, st.Last, func(ctx context.Context, s *stream.Session) error {
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
		t.Fatal("nobody asked for the snapshot")
	}
	if now, err := a.sessions.Manifest(t.Context(), id); err != nil || now.Object == m.Object {
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
	bringBack(t, b, backup.NewRepo(bucket), "")
	if have := b.content(t, id); have != want {
		t.Errorf("%d bytes came back, not the %d that were there when it was taken", len(have), len(want))
	}
}
