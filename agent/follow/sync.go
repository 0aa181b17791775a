package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sesslog/sesslog/core"
)

const (
	// maxAttempts bounds how often one examination starts again because the file or
	// the log changed in the meantime.
	maxAttempts = 5
	// immediately makes a file be examined again at once.
	immediately = time.Nanosecond
)

// sync brings the log in step with f. With final, a last line without a newline
// counts as complete. If again is not 0, the file must be examined again after
// that time. A fileError is about this file; after any other error, no node
// answered and nothing was decided.
func (fl *Follower) sync(ctx context.Context, f *file, final bool) (again time.Duration, err error) {
	if err := f.mu.lock(ctx); err != nil {
		return 0, err
	}
	defer f.mu.unlock()
	if !fl.follows(f) {
		return 0, nil // it was removed, and the path belongs to a different file now
	}
	force := f.takeForce()
	defer func() {
		if force && (err != nil || again > immediately) {
			f.forceCompare()
		}
	}()
	before := f.place.Cursor
	for range maxAttempts {
		h, s, wait, err := f.open(final)
		if errors.Is(err, errNoEntries) {
			f.publish(0)
			return wait, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			one, cancel := context.WithTimeout(ctx, requestTimeout(0))
			defer cancel()
			return fl.syncMissing(one, f)
		}
		if err != nil {
			return 0, fl.reject(f, stat{}, BadFile, fmt.Errorf("it cannot be read: %w", err))
		}
		s = f.observe(s)
		f.missingSince, f.place.Removing = time.Time{}, core.Cursor{}
		one, cancel := context.WithTimeout(ctx, requestTimeout(s.size))
		next, err := fl.examine(one, f, h, s, final, force)
		cancel()
		_ = h.Close()
		switch {
		case errors.Is(err, errChanged):
			continue
		case err != nil:
			return 0, fl.classify(f, s, err)
		}
		if now := f.place.Cursor; now != before && now != (core.Cursor{}) && s.unchangedFor() < fl.cfg.Idle {
			fl.claims.want(ctx, f)
		}
		return sooner(next, wait), nil
	}
	return settleDelay, nil // it keeps changing
}

// requestTimeout bounds one examination of a file. A node that accepts requests
// and does not answer counts as away after that time.
func requestTimeout(size int64) time.Duration {
	const slowest = 64 << 10 // bytes per second
	return 2*time.Minute + time.Duration(size/slowest)*time.Second
}

// examine brings the log in step with an open file.
func (fl *Follower) examine(ctx context.Context, f *file, h *os.File, s stat, final, force bool) (time.Duration, error) {
	f.setSize(s.size)
	do, verify := next(f.place, observation{
		stat: s, document: isDocument(f.path), final: final, force: force,
		unacked: f.needsFence(), unverified: f.isUnverified(), verified: time.Since(f.verified),
	})
	switch do {
	case skip:
		f.publish(s.size)
		return 0, nil
	case grow:
		again, ok, err := fl.grow(ctx, f, h, s, final, verify)
		if ok || err != nil {
			return again, err
		}
	}
	return fl.merge(ctx, f, h, s, final)
}

// save saves and publishes f's place.
func (fl *Follower) save(f *file, s stat) {
	f.place.Path = f.path
	f.place.record(s)
	fl.remember(f.place)
	f.publish(s.size)
}

func (fl *Follower) remember(p place) {
	if err := fl.state.save(p); err != nil {
		fl.cfg.Logger.Warn("the state of a file cannot be saved", "path", p.Path, "err", err)
	}
}

// requireCompare saves that the file must be compared even if it seems unchanged.
func (fl *Follower) requireCompare(f *file) {
	f.place.Cursor = core.Cursor{}
	p := f.place
	p.record(unknownStat())
	fl.remember(p)
}

func (fl *Follower) writer(id core.SessionID, head string) string {
	return fl.claims.writer(headKey{id, head})
}
