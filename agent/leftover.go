package agent

import (
	"context"
	"slices"
)

// isLeftover reports whether the file is that of an earlier run whose agent has
// ended. Then nothing is written to it, and no writer is kept from its session: its
// lines are stored under the claim of the earlier run, or without one.
func (w *watchedFile) isLeftover() bool { return w.old && w.note.running() == 0 }

// settle stores what an earlier run did not store of a file, and then follows the file no
// longer. If this agent writes the file meanwhile, it remains followed. If no node
// answers until ctx ends, finish does the rest.
func (f *follower) settle(ctx context.Context, w *watchedFile) {
	if w.follower.Flush(ctx) != nil {
		return
	}
	f.mu.Lock()
	if !w.old {
		f.mu.Unlock()
		return
	}
	f.files = slices.DeleteFunc(f.files, func(o *watchedFile) bool { return o == w })
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	r := f.end(ctx, w)
	f.noteEarlier(w, r)
}

// noteEarlier records what became of lines of an earlier run.
func (f *follower) noteEarlier(w *watchedFile, r Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Stored = max(0, w.lines-r.Waiting); r.Stored > 0 || r.Diverged || r.Error != "" {
		f.earlier = append(f.earlier, r)
	}
}
