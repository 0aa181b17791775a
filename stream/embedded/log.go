package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// A serverLog passes the server's log lines on to slog. Notices, of which a
// healthy server has a screenful, go to Debug; its debug and trace lines, which
// tell of every message, are dropped.
//
// A warning or an error of the same kind is passed on once in repeatAfter; what
// comes between goes to Debug. A member that is away makes the others complain
// several times a second.
//
// The server calls Fatalf where its own program would exit. Here the first such
// line is kept for whoever asks why the server does not run.
type serverLog struct {
	log *slog.Logger

	mu    sync.Mutex
	first error
	write string               // the latest error of a write that stopped something
	said  map[string]time.Time // by format, of which the server has a fixed number
}

// repeatAfter is how long the same complaint is kept from being repeated.
const repeatAfter = 30 * time.Second

func (l *serverLog) Noticef(format string, args ...any) { l.emit(slog.LevelDebug, format, args) }
func (l *serverLog) Warnf(format string, args ...any)   { l.complain(slog.LevelWarn, format, args) }

func (l *serverLog) Errorf(format string, args ...any) {
	if strings.Contains(format, "Critical write error") {
		l.mu.Lock()
		l.write = fmt.Sprintf(format, args...)
		l.mu.Unlock()
	}
	l.complain(slog.LevelError, format, args)
}

func (l *serverLog) Debugf(string, ...any) {}
func (l *serverLog) Tracef(string, ...any) {}

func (l *serverLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	if l.first == nil {
		l.first = fmt.Errorf(format, args...)
	}
	l.mu.Unlock()
	l.emit(slog.LevelError, format, args)
}

// fatal returns what made the server give up, or nil.
func (l *serverLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// writeError is what stopped a part of the server that writes, or "".
func (l *serverLog) writeError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write
}

// complain emits a warning or an error, unless it was emitted a moment ago.
func (l *serverLog) complain(level slog.Level, format string, args []any) {
	l.mu.Lock()
	if l.said == nil {
		l.said = map[string]time.Time{}
	}
	if now := time.Now(); now.Sub(l.said[format]) < repeatAfter {
		level = slog.LevelDebug
	} else {
		l.said[format] = now
	}
	l.mu.Unlock()
	l.emit(level, format, args)
}

func (l *serverLog) emit(level slog.Level, format string, args []any) {
	if ctx := context.Background(); l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, fmt.Sprintf(format, args...))
	}
}
