package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
)

// How long the end of an agent waits for its last lines to be in the log, and
// how long of that where no node takes any.
const (
	flushWithin = 10 * time.Second
	flushAway   = 2 * time.Second
)

// A ran is a session that an agent wrote.
type ran struct {
	Session core.SessionID `json:"session"`
	Dialect string         `json:"dialect"`
	Path    string         `json:"path"`
	Head    string         `json:"head,omitempty"`
	Cursor  core.Cursor    `json:"seq,omitzero"`
	Waiting int            `json:"waiting"`          // lines that no node has taken yet
	Parted  bool           `json:"parted,omitempty"` // somebody else went on with the session, too
	Holder  *core.Claim    `json:"holder,omitempty"` // of the head that this agent lost, or never had
	Shared  bool           `json:"shared,omitempty"` // another run here follows the file, and still does
	Error   string         `json:"error,omitempty"`
}

// finish brings in what the agent wrote last, gives its claims up, and returns
// the sessions that it wrote and how many lines of earlier ones still wait. What
// cannot be brought in now is remembered.
func (f *following) finish(ctx context.Context) (rans []ran, left int) {
	f.stop()
	f.wait.Wait()
	f.look(ctx, 0) // what it wrote last may be its first file
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	defer f.giveUpAway(cancel)()
	for _, t := range f.trails {
		r := f.end(ctx, t)
		if t.old {
			left += r.Waiting
		} else {
			rans = append(rans, r)
		}
	}
	for _, file := range f.busy {
		rans = append(rans, ran{Session: file.session, Dialect: file.dialect, Path: file.path, Shared: true})
	}
	return rans, left
}

// giveUpAway calls cancel where no node takes lines for a while. What it returns
// ends that.
func (f *following) giveUpAway(cancel context.CancelFunc) (stop func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(flushAway / 20)
		defer tick.Stop()
		for n := 0; n < 20; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			n++
			if !f.away() {
				n = 0
			}
		}
		cancel()
	})
	return func() { close(done); wait.Wait() }
}

func (f *following) away() bool {
	for _, t := range f.trails {
		if t.away.Load() {
			return true
		}
	}
	return false
}

// end ends following one file.
func (f *following) end(ctx context.Context, t *trail) ran {
	t.cancel()
	<-t.done
	err := t.follower.Flush(ctx)
	at := t.status()
	r := ran{
		Session: t.file.session, Dialect: t.file.dialect, Path: t.file.path,
		Head: at.Head, Cursor: at.Cursor, Parted: t.parted.Load(), Error: at.Error,
	}
	if err != nil {
		r.Waiting = linesBehind(at)
	}
	if err == nil && !(t.old && alive(t.note.Agent)) {
		t.holds.check(ctx)
		if t.holds.release(ctx) == nil {
			f.runs.done(t.file.path)
		}
	}
	if by, taken := t.holds.takenBy(core.MainHead); taken {
		r.Holder = by
	}
	_ = t.follower.Close() // what it remembers is a help and no more
	return r
}

// linesBehind counts the lines of a file that are not in the log yet.
func linesBehind(at follow.File) int {
	h, err := os.Open(at.Path)
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

// tell says what became of what an agent wrote: one line for each session that
// is its own, and none for those of its subagents.
func (a *app) tellRan(f *following, rans []ran, left int) {
	if a.format == asJSON {
		_ = a.printRan(rans)
		return
	}
	if len(rans) == 0 {
		a.notef("%s wrote no session file that could be found (it was looked for in %s), so nothing of this is in the log", f.agent, rootsText(f.ownRoots()))
	}
	for _, r := range rans {
		if !isSubagent(r, rans) {
			a.notef("%s", a.ranText(r))
		}
	}
	if left > 0 {
		a.notef("%s of earlier runs still wait for a node", count(left, "line", "lines"))
	}
}

func isSubagent(r ran, all []ran) bool {
	for _, main := range all {
		if below(r.Path, strings.TrimSuffix(main.Path, ".jsonl")) {
			return true
		}
	}
	return false
}

func (a *app) ranText(r ran) string {
	resume := "sessctl resume" + headArg(r.Head) + " " + string(r.Session)
	switch {
	case r.Shared:
		return fmt.Sprintf("session %s is followed by another sessctl run on this host, which goes on with it", r.Session)
	case r.Waiting > 0:
		return fmt.Sprintf("no node took %s of session %s: they wait in %s and go up with the next sessctl run or sessctl watch",
			count(r.Waiting, "line", "lines"), r.Session, r.Path)
	case r.Error != "":
		return fmt.Sprintf("session %s is not in the log as %s has it: %s", r.Session, r.Path, r.Error)
	case r.Parted || r.Holder != nil && r.Head != core.MainHead:
		return fmt.Sprintf("%s went on with session %s, too, so what was written here is on head %s of it and both are kept; go on with yours: %s, or with theirs: sessctl resume %s",
			a.holderText(r.Holder), r.Session, r.Head, resume, r.Session)
	case r.Holder != nil:
		return fmt.Sprintf("%s has taken session %s over; all that was written here is in it; read along with: sessctl attach %s",
			a.holderText(r.Holder), r.Session, r.Session)
	}
	return fmt.Sprintf("session %s is in the log, head %s at %s; go on on any host with: %s", r.Session, r.Head, r.Cursor, resume)
}

func (a *app) holderText(c *core.Claim) string {
	if c == nil {
		return "somebody else"
	}
	return a.claimText(c)
}

// ownRoots are where the agent that runs keeps its sessions, by its name; all roots
// where that is none that is known.
func (f *following) ownRoots() []follow.Root {
	var own []follow.Root
	for _, r := range f.finder.roots {
		if r.Dialect == f.agent {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return f.finder.roots
	}
	return own
}

func rootsText(roots []follow.Root) string {
	var paths []string
	for _, r := range roots {
		paths = append(paths, r.Path)
	}
	return strings.Join(paths, ", ")
}

// printRan prints for programs, on standard error: standard output is the
// agent's.
func (a *app) printRan(rans []ran) error {
	to := *a
	to.stdout = a.stderr
	return to.printJSON(struct {
		Sessions []ran `json:"sessions"`
	}{notNil(rans)})
}
