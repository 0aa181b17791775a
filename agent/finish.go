package agent

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
)

// How long Run waits for the last lines to be in the log, and how long it waits
// while no node accepts lines.
const (
	flushTimeout = 10 * time.Second
	awayTimeout  = 2 * time.Second
)

// A Result says what became of a session that an agent wrote.
type Result struct {
	Session  core.SessionID `json:"session"`
	Dialect  string         `json:"dialect"`
	Path     string         `json:"path"`
	Head     string         `json:"head,omitempty"`
	Cursor   core.Cursor    `json:"seq,omitzero"`
	Waiting  int            `json:"waiting"`          // lines that no node has accepted yet
	Diverged bool           `json:"parted,omitempty"` // another writer continued the session, too
	Holder   *core.Claim    `json:"holder,omitempty"` // of the head that this agent lost, or never had
	Shared   bool           `json:"shared,omitempty"` // another run on this host follows the file
	Stored   int            `json:"stored,omitempty"` // of an earlier run: lines that the log lacked and has now
	Error    string         `json:"error,omitempty"`

	isChild bool
}

// IsSubagent reports whether the session is that of a subagent of one of all.
func (r Result) IsSubagent(all []Result) bool {
	if r.isChild {
		return true
	}
	for _, main := range all {
		if isBelow(r.Path, strings.TrimSuffix(main.Path, ".jsonl")) {
			return true
		}
	}
	return false
}

// finish copies what the agent wrote last and releases its claims. It returns the
// sessions that the agent wrote and how many lines of earlier runs still wait.
// What cannot be copied now is remembered.
func (f *follower) finish(ctx context.Context) (results []Result, pending int) {
	f.stop()
	f.wait.Wait()
	f.scan(ctx, 0) // the agent may have written its first file at its end
	f.finder.close()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	defer f.cancelWhileAway(cancel)()
	for _, w := range f.files {
		r := f.end(ctx, w)
		if w.old {
			pending += r.Waiting
			f.noteEarlier(w, r)
		} else {
			results = append(results, r)
		}
	}
	results = append(results, f.failed...)
	for _, file := range f.busy {
		results = append(results, Result{Session: file.session, Dialect: file.dialect, Path: file.path, Shared: true})
	}
	return results, pending
}

// cancelWhileAway calls cancel after no node has accepted lines for awayTimeout,
// until the returned function is called.
func (f *follower) cancelWhileAway(cancel context.CancelFunc) (stop func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(awayTimeout / 20)
		defer tick.Stop()
		for n := 0; n < 20; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			n++
			if !f.isAway() {
				n = 0
			}
		}
		cancel()
	})
	return func() { close(done); wait.Wait() }
}

func (f *follower) isAway() bool {
	for _, w := range f.files {
		if w.away.Load() {
			return true
		}
	}
	return false
}

// end stops following one file.
func (f *follower) end(ctx context.Context, w *watchedFile) Result {
	w.cancel()
	<-w.done
	err := w.follower.Flush(ctx)
	at := w.status()
	r := Result{
		Session: w.file.session, Dialect: w.file.dialect, Path: w.file.path, isChild: w.file.isChild,
		Head: at.Head, Cursor: at.Cursor, Diverged: w.diverged.Load(), Error: at.Error,
	}
	if err != nil {
		r.Waiting = linesAfter(at)
	}
	if err == nil && !(w.old && w.note.running() != 0) {
		w.claims.check(ctx)
		if w.claims.release(ctx) == nil {
			f.runs.complete(w.file.path)
		}
	}
	if by, lost := w.claims.lostTo(core.MainHead); lost {
		r.Holder = by
	}
	_ = w.follower.Close() // the state is only a cache
	return r
}

// linesAfter counts the lines of a file that are not in the log yet.
func linesAfter(at follow.File) int {
	h, err := os.Open(cmp.Or(at.Copy, at.Path))
	if err != nil {
		return 0
	}
	defer h.Close()
	n, rest := 0, false
	buf := make([]byte, 64<<10)
	for r := io.NewSectionReader(h, at.Offset, 1<<62); ; {
		got, err := r.Read(buf)
		if got > 0 {
			n += bytes.Count(buf[:got], []byte("\n"))
			rest = buf[got-1] != '\n'
		}
		if err != nil {
			break
		}
	}
	if rest {
		n++
	}
	return n
}
