package follow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// missing is what is done with a file that is not there: once it has not come back
// for a moment, here or under another name, the session has a record of that, and
// the file is not looked for any more. again is when to look again.
func (b *Follower) missing(ctx context.Context, f *file) (again time.Duration, err error) {
	if f.root != nil && f.root.Path != f.path && !isDir(f.root.Path) {
		return 0, nil // the whole root is away
	}
	if f.goneAt.IsZero() {
		f.goneAt = time.Now()
	}
	if left := goneFor - time.Since(f.goneAt); left > 0 {
		return left, nil
	}
	id := f.place.Session
	deleted := id != "" && !b.isElsewhere(f)
	if deleted {
		switch err := b.recordGone(ctx, f); {
		case errors.Is(err, errMoved): // others write to it all the time
			return settle, nil
		case err != nil:
			return 0, err
		}
	}
	f.digest = nil
	f.place.Left, f.place.Gone = true, id == ""
	b.save(f, nowhere())
	b.mu.Lock()
	if b.files[f.path] == f {
		delete(b.files, f.path)
	}
	b.mu.Unlock()
	if deleted {
		b.notify(Notice{Kind: Gone, Path: f.path, Session: id, Text: fmt.Sprintf("%s is gone; session %s stays in the log, get it back with: sessctl resume %s", f.path, id, id)})
	}
	return 0, nil
}

func (b *Follower) follows(f *file) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.files[f.path] == f
}

// isElsewhere reports whether another file has f's session.
func (b *Follower) isElsewhere(f *file) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, other := range b.files {
		if other != f && other.session() == f.place.Session {
			return true
		}
	}
	return false
}

// recordGone puts into the session that f is gone, once: before that it is noted
// where the session stood, so that after an answer that was lost, or an end of the
// process, the record is looked for. errMoved: others came first each time.
func (b *Follower) recordGone(ctx context.Context, f *file) error {
	p := &f.place
	why := fmt.Sprintf("%s on %s is gone: it was deleted, or moved out of what is followed", f.path, cmp.Or(b.cfg.Host, "this host"))
	var err error
	if p.Telling == (core.Cursor{}) {
		err = b.beginTelling(ctx, f)
	}
	for n := 0; err == nil && n < tries; n++ {
		var told bool
		if told, err = b.isTold(ctx, p.Session, p.Telling, why); told {
			return nil
		}
		var hs api.Heads
		if err == nil {
			hs, err = b.cfg.Node.Heads(ctx, string(p.Session))
		}
		if err == nil {
			err = b.put(ctx, f, hs, why)
		}
		if !errors.Is(err, errMoved) {
			break
		}
		if n+1 < tries { // from another claim, or none
			err = nil
		}
	}
	switch {
	case err == nil, stops(err), errors.Is(err, core.ErrNotFound):
		return nil // a session that takes nothing any more
	case transient(err), errors.Is(err, errMoved):
		return err
	}
	b.cfg.Logger.Warn("that a file is gone is not in the log", "path", f.path, "err", err)
	return nil
}

func (b *Follower) beginTelling(ctx context.Context, f *file) error {
	hs, err := b.cfg.Node.Heads(ctx, string(f.place.Session))
	if err != nil {
		return err
	}
	f.place.Telling = hs.Cursor
	b.remember(f.place)
	return nil
}

// isTold reports whether the session has a record behind a cursor that says why.
func (b *Follower) isTold(ctx context.Context, id core.SessionID, after core.Cursor, why string) (told bool, err error) {
	why = worded(why)
	err = b.cfg.Node.Follow(ctx, string(id), after, false, func(ev api.Event) error {
		var m core.Move
		if ev.Kind == core.KindHead && json.Unmarshal(ev.Body, &m) == nil {
			told = told || m.Note != nil && m.Note.Why == why
		}
		return nil
	})
	if errors.Is(err, core.ErrLost) { // what came since cannot be told: better twice than never
		return false, nil
	}
	return told, err
}

// isMissing reports whether f is not there. It waits for who has f until ctx ends.
func (f *file) isMissing(ctx context.Context) bool {
	if f.mu.lock(ctx) != nil {
		return false
	}
	defer f.mu.unlock()
	return !f.goneAt.IsZero()
}
