package backup

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/core"
)

// A backup reuses objects of earlier runs, and a prune deletes unreferenced
// objects, so they must not run at the same time. Each first writes its own lock
// object and then looks for one of the other kind, so at least one of them sees
// the other. Locks of the same kind do not conflict.
const (
	lockPrefix = "busy/"
	backupLock = "backup-"
	pruneLock  = "prune-"
)

// lockTTL is the time after the last refresh at which others ignore a lock. A
// holder that could not refresh it for half of that time fails.
var lockTTL = map[string]time.Duration{backupLock: 24 * time.Hour, pruneLock: time.Hour}

const (
	refreshInterval = 5 * time.Minute
	releaseTimeout  = 10 * time.Second // a lock that cannot be deleted expires
)

// A lock is a lock object in a Repo.
type lock struct {
	repo *Repo
	kind string
	key  string
	now  func() time.Time

	mu        sync.Mutex
	refreshed time.Time
}

// lock writes a lock of that kind. It returns core.ErrConflict, naming the object,
// if there is a live lock of kind other.
func (r *Repo) lock(ctx context.Context, kind, other string, now func() time.Time) (*lock, error) {
	l := &lock{repo: r, kind: kind, key: lockPrefix + kind + ulid.Make().String(), now: now}
	if err := l.write(ctx); err != nil {
		return nil, err
	}
	for info, err := range r.bucket.List(ctx, lockPrefix+other) {
		if err != nil {
			l.release(ctx)
			return nil, mapError(err)
		}
		expires := info.Modified.Add(lockTTL[other])
		if expires.Before(now()) {
			continue
		}
		l.release(ctx)
		return nil, fmt.Errorf("locked by %s; retry when it has ended (expires %s; delete the object if that process is dead): %w",
			info.Key, expires.UTC().Format(time.RFC3339), core.ErrConflict)
	}
	return l, nil
}

func (l *lock) write(ctx context.Context) error {
	at := l.now()
	if err := l.repo.bucket.Put(ctx, l.key, strings.NewReader(""), 0); err != nil {
		return mapError(err)
	}
	l.refreshed = at
	return nil
}

// refresh rewrites the lock if that is due. It returns an error if others may
// already ignore the lock.
func (l *lock) refresh(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch since := l.now().Sub(l.refreshed); {
	case since > lockTTL[l.kind]/2:
		return fmt.Errorf("no progress for %s, so the lock may have expired; run it again: %w", since.Truncate(time.Second), core.ErrConflict)
	case since > refreshInterval:
		return l.write(ctx)
	}
	return nil
}

func (l *lock) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_ = l.repo.bucket.Delete(ctx, l.key)
}
