package journal

import (
	"context"
	"time"
)

// How long Run waits before it tries again.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
)

// Run sends what waits, soon after it was kept and then again and again until
// the log takes it, and has the log asked now and then about what was stored. It
// returns when ctx ends, with its error. What cannot land is logged each
// time it is tried.
func (l *Log) Run(ctx context.Context) error {
	pause := firstPause
	checked := time.Now()
	for {
		check := time.Since(checked) >= l.c.Check
		if check {
			checked = time.Now()
		}
		if l.round(ctx, check) {
			pause = firstPause
		} else {
			pause = min(2*pause, lastPause)
		}
		if err := l.rest(ctx, pause); err != nil {
			return err
		}
	}
}

// round sends what waits for all sessions, and reports whether nothing is left.
func (l *Log) round(ctx context.Context, check bool) (done bool) {
	done = true
	for _, w := range l.j.Sessions() {
		if w.Entries == 0 && (!check || w.Stored == 0) {
			continue
		}
		send := l.Send
		if check {
			send = l.Check
		}
		sent, err := send(ctx, w.Session)
		if sent.Entries > 0 {
			l.c.Logger.Info("what was kept is in the log", "session", w.Session, "entries", sent.Entries, "lines", sent.Lines)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		done = false
		l.c.Logger.Warn("what was kept waits on", "session", w.Session, "err", err)
	}
	return done
}

// rest waits: for the pause where something is left to do, else until there is.
func (l *Log) rest(ctx context.Context, pause time.Duration) error {
	wait := l.c.Check
	for _, w := range l.j.Sessions() {
		if w.Entries > 0 {
			wait = pause
		}
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	case <-l.wake:
	}
	// One that was kept is not to be tried at once while the log is away.
	t.Reset(min(pause, wait))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
