package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// syncMissing handles a file that does not exist. After removedDelay, its session
// gets a record of the removal, and the file is no longer followed.
func (fl *Follower) syncMissing(ctx context.Context, f *file) (again time.Duration, err error) {
	if f.root != nil && f.root.Path != f.path && !f.root.exists() {
		return 0, nil // the whole root is missing
	}
	if f.missingSince.IsZero() {
		f.missingSince = time.Now()
	}
	if left := removedDelay - time.Since(f.missingSince); left > 0 {
		return left, nil
	}
	id := f.place.Session
	removed := id != "" && !fl.anyOther(f, func(p place) bool { return p.Session == id })
	if removed {
		switch err := fl.recordRemoval(ctx, f); {
		case errors.Is(err, errChanged): // others keep writing to the session
			return settleDelay, nil
		case err != nil:
			return 0, err
		}
	}
	f.digest = nil
	f.place.Left, f.place.Gone = true, id == ""
	fl.save(f, unknownStat())
	fl.mu.Lock()
	if fl.files[f.path] == f {
		delete(fl.files, f.path)
	}
	fl.mu.Unlock()
	if removed {
		fl.notify(Notice{Kind: FileRemoved, Path: f.path, Session: id, Text: fmt.Sprintf("%s was removed; session %s stays in the log, restore the file with: sessctl resume %s", f.path, id, id)})
	}
	return 0, nil
}

// recordRemoval stores a note that f was removed, once: the cursor before it is
// saved first, so that after a lost answer or a restart the note is searched for.
// The error is errChanged if other writers came first in every attempt.
func (fl *Follower) recordRemoval(ctx context.Context, f *file) error {
	p := &f.place
	why := fmt.Sprintf("%s on %s is gone: it was deleted, or moved out of what is followed", f.path, cmp.Or(fl.cfg.Host, "this host"))
	var err error
	if p.Removing == (core.Cursor{}) {
		err = fl.beginRemoval(ctx, f)
	}
	for n := 0; err == nil && n < maxAttempts; n++ {
		var found bool
		if found, err = fl.hasNote(ctx, p.Session, p.Removing, why); found {
			return nil
		}
		var hs api.Heads
		if err == nil {
			hs, err = fl.cfg.Node.Heads(ctx, string(p.Session))
		}
		if err == nil {
			err = fl.putNote(ctx, f, hs, why)
		}
		if !errors.Is(err, errChanged) {
			break
		}
		if n+1 < maxAttempts { // under a different claim, or none
			err = nil
		}
	}
	switch {
	case err == nil, isStopped(err), errors.Is(err, core.ErrNotFound):
		return nil // also if the session accepts nothing any more
	case isTransient(err), errors.Is(err, errChanged):
		return err
	}
	fl.cfg.Logger.Warn("the removal of a file is not in the log", "path", f.path, "err", err)
	return nil
}

func (fl *Follower) beginRemoval(ctx context.Context, f *file) error {
	hs, err := fl.cfg.Node.Heads(ctx, string(f.place.Session))
	if err != nil {
		return err
	}
	f.place.Removing = hs.Cursor
	fl.remember(f.place)
	return nil
}
