package backup_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

// sound fails the test unless all runs of a bucket are intact.
func sound(t *testing.T, b blobstore.Bucket) (runs int) {
	t.Helper()
	repo := backup.NewRepo(b)
	names, err := repo.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		run, err := repo.Run(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := repo.Verify(t.Context(), run); err != nil || len(c.Problems) > 0 {
			t.Errorf("backup %s: %+v, %v", n.ID, c, err)
		}
	}
	return len(names)
}

func TestPruneDeletesOnlyUnreferencedObjects(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	ids := fill(t, a)
	repo, bucket := newRepo(t)
	first := take(t, a, repo)
	if _, err := a.Checkpoint(t.Context(), "old-2025"); err != nil { // now it has another snapshot
		t.Fatal(err)
	}
	a.say(t, "old-2025", "news")
	take(t, a, backup.NewRepo(bucket))
	a.say(t, "old-2025", "more")
	last := take(t, a, backup.NewRepo(bucket))
	whole := objects(t, bucket)

	dry, err := backup.NewRepo(bucket).Prune(t.Context(), backup.Keep{Last: 2}, false, time.Now)
	if err != nil || dry.Applied || dry.Kept != 2 || !slices.Equal(dry.Dropped, []string{first.Run}) || dry.Objects == 0 || dry.Bytes == 0 {
		t.Fatalf("a dry run: %+v, %v", dry, err)
	}
	if got := objects(t, bucket); !slices.Equal(got, whole) {
		t.Errorf("a dry run leaves %q of %q", got, whole)
	}
	if p, err := backup.NewRepo(bucket).Prune(t.Context(), backup.Keep{Last: 1, Within: time.Hour}, true, time.Now); err != nil || p.Kept != 3 || p.Objects != 0 {
		t.Errorf("all runs are recent: %+v, %v", p, err)
	}
	done, err := backup.NewRepo(bucket).Prune(t.Context(), backup.Keep{Last: 2}, true, time.Now)
	if err != nil || !done.Applied || done.Objects != dry.Objects || done.Bytes != dry.Bytes {
		t.Errorf("%+v, %v; the dry run reported %+v", done, err, dry)
	}
	if n, left := sound(t, bucket), len(objects(t, bucket)); n != 2 || left != len(whole)-1-done.Objects {
		t.Errorf("%d backups left, and %d objects of %d", n, left, len(whole))
	}
	later := func() time.Time { return time.Now().Add(48 * time.Hour) }
	if p, err := backup.NewRepo(bucket).Prune(t.Context(), backup.Keep{Within: time.Hour}, true, later); err != nil || p.Kept != 1 {
		t.Errorf("all runs are old: %+v, %v", p, err)
	}
	if n := sound(t, bucket); n != 1 {
		t.Errorf("%d backups left", n)
	}
	b := startNode(t)
	restoreAll(t, b, backup.NewRepo(bucket), last.Run)
	same(t, a, b, ids)
	if again := take(t, a, backup.NewRepo(bucket)); again.Sent != 0 || again.Unchanged != len(ids) {
		t.Errorf("the next backup: %+v", again)
	}
}

func TestPruneDeletesNothingIfKeptRunIsCorrupt(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	fill(t, a)
	repo, bucket := newRepo(t)
	take(t, a, repo)
	a.say(t, "old-2025", "news")
	take(t, a, backup.NewRepo(bucket))
	a.say(t, "old-2025", "more")
	take(t, a, backup.NewRepo(bucket))
	names, err := repo.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range objects(t, bucket) {
		if strings.Contains(key, names[1].ID.String()) {
			put(t, bucket, key, []byte("other bytes"))
		}
	}
	before := objects(t, bucket)
	if _, err := backup.NewRepo(bucket).Prune(t.Context(), backup.Keep{Last: 2}, true, time.Now); !errors.Is(err, core.ErrCorrupt) || !strings.Contains(err.Error(), names[1].ID.String()) {
		t.Errorf("Prune = %v", err)
	}
	if got := objects(t, bucket); !slices.Equal(got, before) {
		t.Errorf("Prune leaves %q of %q", got, before)
	}
	if p, err := backup.NewRepo(bucket).Prune(t.Context(), backup.Keep{Last: 1}, true, time.Now); err != nil || len(p.Dropped) != 2 {
		t.Errorf("if that run is dropped: %+v, %v", p, err)
	}
	sound(t, bucket)
}

// A prune could delete objects that a running backup reuses.
func TestBackupAndPruneExcludeEachOther(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	fill(t, a)
	repo, bucket := newRepo(t)
	take(t, a, repo)
	keep := backup.Keep{Last: 1}

	put(t, bucket, "busy/backup-01M7ZBHK4QRJ53AMABAANPYFQJ", nil)
	if _, err := repo.Prune(t.Context(), keep, true, time.Now); !errors.Is(err, core.ErrConflict) || !strings.Contains(err.Error(), "busy/backup-") {
		t.Errorf("Prune = %v", err)
	}
	if _, err := repo.Prune(t.Context(), keep, false, time.Now); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	take(t, a, backup.NewRepo(bucket)) // backups do not exclude each other
	later := func() time.Time { return time.Now().Add(25 * time.Hour) }
	if _, err := repo.Prune(t.Context(), keep, true, later); err != nil {
		t.Errorf("after the lock of a dead backup expired: %v", err)
	}
	put(t, bucket, "busy/prune-01M7ZBHK4QRJ53AMABAANPYFQJ", nil)
	if _, err := taker(a, backup.NewRepo(bucket)).Take(t.Context()); !errors.Is(err, core.ErrConflict) || !strings.Contains(err.Error(), "busy/prune-") {
		t.Errorf("Take = %v", err)
	}
	for _, key := range objects(t, bucket) {
		if strings.HasPrefix(key, "busy/") && !strings.HasSuffix(key, "01M7ZBHK4QRJ53AMABAANPYFQJ") {
			t.Errorf("%s was not deleted", key)
		}
	}
}

func TestPruneRequiresLimit(t *testing.T) {
	t.Parallel()
	repo, _ := newRepo(t)
	for _, k := range []backup.Keep{{}, {Last: -1}, {Within: -time.Hour}, {Last: 1, Within: -1}} {
		if _, err := repo.Prune(t.Context(), k, true, time.Now); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", k, err)
		}
	}
}
