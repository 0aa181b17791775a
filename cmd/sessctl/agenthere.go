package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// What follows an agent's file on this host holds its head, and goes on to hold
// it for a while after the last line. So a claim of this user's on this host says
// that somebody is at work only where the agent still runs.

// leftBehind returns nil where the claim on a head is one that sessctl run or
// sessctl watch made on this host, for an agent that has ended since. Else it says
// who is at work, as far as is known. That a claim was made here its writer says,
// which this host has noted: another one may have the same name. Of a node's claim
// there is no such note, so it is left to the node.
func (a *app) leftBehind(ctx context.Context, node *api.Client, id core.SessionID, head string, h api.HeadInfo) error {
	others := a.atWork(id, head, h)
	if !a.isHere(h.Claim) {
		return others
	}
	if _, ok := a.runs().claimed(h.Claim.Writer); ok {
		return a.runsHere(id, head, h.Claim)
	}
	mine, _, err := a.claims().load(id, head)
	if err != nil {
		return err
	}
	if !mine.Follows || mine.Writer != h.Claim.Writer {
		return others // such as one that sessctl claim --hold keeps
	}
	info, err := node.Info(ctx, string(id))
	if err != nil {
		return err
	}
	pid, known := agentIn(info.Log.Dialect, a.workedIn(info.CWD, mine), a.runs().elsewhere(id))
	if !known {
		return others
	}
	return mayRun(id, head, h.Claim, pid)
}

// runsHere returns an error where sessctl run has made the claim on this host, and
// its agent still runs, whether or not anybody says so any more.
func (a *app) runsHere(id core.SessionID, head string, holder *core.Claim) error {
	n, ok := a.runs().claimed(holder.Writer)
	if !ok || !a.isHere(holder) {
		return nil
	}
	return stillRuns(id, head, holder, n.running())
}

// isHere reports whether a claim was made on this host.
func (a *app) isHere(c *core.Claim) bool {
	_, host := a.whoami()
	return host != "" && c.Host == host
}

// stillRuns says that a head is not taken from the agent with the process pid, nil
// for none.
func stillRuns(id core.SessionID, head string, holder *core.Claim, pid int) error {
	if pid == 0 {
		return nil
	}
	return there(id, head, holder, fmt.Sprintf("still runs there, as process %d", pid), "end it first, or take the session from it with")
}

// mayRun is stillRuns of a process of which it is not known which session it works
// with.
func mayRun(id core.SessionID, head string, holder *core.Claim, pid int) error {
	if pid == 0 {
		return nil
	}
	return there(id, head, holder, fmt.Sprintf("may still run there, as process %d", pid), "end it first; or, where it works with another session, go on with")
}

func there(id core.SessionID, head string, holder *core.Claim, how, next string) error {
	held := &core.FencedError{Session: id, Head: head, Holder: holder}
	return hintf(fmt.Errorf("%w: the agent %s", held, how), "%s: sessctl resume --take-over%s %s", next, headArg(head), id)
}

// workedIn are the directories of this host where the agent of a session may run:
// where the log has it, where that is here, and where a file says that was put in
// its place on this host.
func (a *app) workedIn(cwd string, mine held) []string {
	dirs := []string{cwd}
	if w, err := a.workplace("", cwd); err == nil {
		dirs = append(dirs, w.here())
	}
	if file, err := os.Open(mine.Path); err == nil {
		defer file.Close()
		start, _ := io.ReadAll(io.LimitReader(file, headerWithin))
		if i := strings.LastIndexByte(string(start), '\n'); i >= 0 {
			if f, _, err := dialect.Read("", start[:i+1]); err == nil {
				dirs = append(dirs, f.Header.CWD)
			}
		}
	}
	return dirs
}

// workedOn returns an error where an agent of this host writes to the file that is
// in f's place: it would be hurt by another one there.
func (a *app) workedOn(f *agentFile) error {
	if f.old == nil {
		return nil
	}
	pid := 0
	if n, ok := a.runs().load(f.path); ok {
		pid = n.running()
	}
	if pid == 0 {
		pid = writerOf(realPath(f.path))
	}
	if pid == 0 {
		return nil
	}
	_, host := a.whoami()
	return hintf(fmt.Errorf("process %d on %s still works with %s%w", pid, host, f.path, silent{core.ErrFenced}),
		"end it first, or replace the file all the same with: sessctl resume --take-over %s", f.session)
}

// claimed returns the note of the run in whose name writer claimed a head.
func (r runs) claimed(writer string) (runNote, bool) {
	for _, n := range r.all() {
		for _, w := range n.Writers {
			if w == writer {
				return n, true
			}
		}
	}
	return runNote{}, false
}

// elsewhere are the agents that work with other sessions than that, and not with
// it, as far as runs of this host know.
func (r runs) elsewhere(id core.SessionID) map[int]bool {
	pids := map[int]bool{}
	notes := r.all()
	for _, n := range notes {
		if n.Session != id {
			pids[n.running()] = true
		}
	}
	for _, n := range notes {
		if n.Session == id { // one agent may write several
			delete(pids, n.running())
		}
	}
	return pids
}

// all are the notes of all files.
func (r runs) all() (notes []runNote) {
	if r.dir == "" {
		return nil
	}
	dirs, _ := os.ReadDir(r.dir) // not there: there was no run
	for _, d := range dirs {
		if n, ok := readRunNote(filepath.Join(r.dir, d.Name(), runNoteName)); ok {
			notes = append(notes, n)
		}
	}
	return notes
}

// running is the agent's process, 0 where it has ended. Where it cannot be told
// whether that number is another's by now, it is the agent's.
func (n runNote) running() int {
	if !alive(n.Agent) || isZombie(n.Agent) {
		return 0
	}
	if now := startOf(n.Agent); n.Start != "" && now != "" && now != n.Start {
		return 0
	}
	return n.Agent
}
