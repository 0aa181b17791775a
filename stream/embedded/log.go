package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// A serverLog forwards the server's log lines to slog. Notices go to Debug; debug
// and trace lines, one for every message, are dropped.
//
// Warnings and errors with the same format are logged once in repeatAfter, and at
// Debug in between: when a member is down, the others log several per second.
//
// The server calls Fatalf where its own program would exit. The first such line is
// kept as the reason why the server does not run.
type serverLog struct {
	log *slog.Logger
	dir string

	mu     sync.Mutex
	first  error
	write  string               // the latest write error that stopped a part of the server
	logged map[string]time.Time // by format
}

const repeatAfter = 30 * time.Second

func (l *serverLog) Noticef(format string, args ...any) { l.emit(slog.LevelDebug, format, args) }

func (l *serverLog) Warnf(format string, args ...any) {
	if strings.Contains(format, "create failed") {
		if line := fmt.Sprintf(format, args...); strings.Contains(line, corruptState) {
			l.keep(damaged(l.dir, line))
		}
	}
	l.emitOnce(slog.LevelWarn, format, args)
}

func (l *serverLog) Errorf(format string, args ...any) {
	if strings.Contains(format, "Critical write error") {
		l.mu.Lock()
		l.write = fmt.Sprintf(format, args...)
		l.mu.Unlock()
	}
	l.emitOnce(slog.LevelError, format, args)
}

func (l *serverLog) Debugf(string, ...any) {}
func (l *serverLog) Tracef(string, ...any) {}

func (l *serverLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if strings.Contains(err.Error(), corruptState) {
		err = damaged(l.dir, err.Error())
	}
	l.keep(err)
	l.emit(slog.LevelError, format, args)
}

// keep keeps the first reason why the server, or a part of it, does not run.
func (l *serverLog) keep(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = err
	}
}

// ErrDamaged means that the server's directory is damaged such that waiting does not
// help.
var ErrDamaged = errors.New("the directory is damaged")

// corruptState is what the server says of a Raft group whose state cannot be read. It
// does not repair the group, although the other members have all of it.
const corruptState = "raft: snapshot corrupt"

func damaged(dir, line string) error {
	return fmt.Errorf("%w: %s\nhint: if the other members have all data, move %s away and start the node again: it copies everything from them", ErrDamaged, line, dir)
}

// fatal returns the first fatal error, or nil.
func (l *serverLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// writeError returns the write error that stopped a part of the server, or "".
func (l *serverLog) writeError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write
}

// emitOnce emits a warning or an error once in repeatAfter.
func (l *serverLog) emitOnce(level slog.Level, format string, args []any) {
	l.mu.Lock()
	if l.logged == nil {
		l.logged = map[string]time.Time{}
	}
	if now := time.Now(); now.Sub(l.logged[format]) < repeatAfter {
		level = slog.LevelDebug
	} else {
		l.logged[format] = now
	}
	l.mu.Unlock()
	l.emit(level, format, args)
}

func (l *serverLog) emit(level slog.Level, format string, args []any) {
	if ctx := context.Background(); l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, fmt.Sprintf(format, args...))
	}
}
