package main

import (
	"github.com/sesslog/sesslog/core"
)

func (a *app) printResumed(r resumed) error {
	if err := a.printf("%s", plain(r.Path)); err != nil {
		return err
	}
	if err := a.printf("  head %s of %s is held, by writer %s, epoch %d", r.Head, r.ID, r.Writer, r.Epoch); err != nil {
		return err
	}
	if err := a.printFenced(r.Former, r.mine, r.Life); err != nil {
		return err
	}
	return a.printLacked(r)
}

// noteNext tells who sits at a terminal how to go on with a file that no agent is
// started on here.
func (a *app) noteNext(f *agentFile) {
	if !a.stderr.tty {
		return
	}
	if args := openArgs(f.agent, f.path); args != nil {
		a.notef("start the agent on it with: sessctl run -- %s", shellWords(append([]string{f.agent}, args...)))
	}
	a.notef("give the head up with: sessctl release%s %s", headArg(f.claim.Head), f.session)
}

// printLacked tells in one sentence what became of the lines that the log
// lacked, and how to go on with them.
func (a *app) printLacked(r resumed) error {
	g := r.Lacked
	if g == nil {
		return nil
	}
	if len(g.Lines) > 0 && r.Brought != nil {
		where := "they are in the log now, and the file goes on behind them"
		if r.Brought.Head != r.Head {
			where = "the session went on without them, so they are on the head " + plain(r.Brought.Head) +
				" now; to go on with them instead: sessctl resume" + headArg(r.Brought.Head) + " " + string(r.ID)
			if r.Brought.Head == core.MainHead {
				where = "they are on the head main now; to go on with them instead: sessctl resume " + string(r.ID)
			}
		}
		if err := a.printf("  the file that was here had %s that the log lacked: %s", g.text(), where); err != nil {
			return err
		}
	}
	if r.Aside == "" {
		return nil
	}
	why := "it had " + count(len(g.Torn), "line", "lines") + " that are no entries"
	if r.Brought == nil && len(g.Lines) > 0 {
		why = "it had " + g.text() + " that the log lacks"
	}
	if g.contradicts != nil {
		why = "it contradicts the log"
	}
	return a.printf("  the file that was here is kept as %s: %s", plain(r.Aside), why)
}

func (a *app) printWouldResume(r resumed, f resumeFlags) error {
	if err := a.printf("%s", plain(r.Path)); err != nil {
		return err
	}
	who := "nobody"
	if r.Holder != nil {
		who = plain(join(", ", a.claimText(r.Holder), a.lifeText(r.Life)))
	}
	if err := a.printf("  would be written, as of %s; head %s of %s is held by %s", r.Cursor, r.Head, r.ID, who); err != nil {
		return err
	}
	if r.left != nil {
		if err := a.printf("  it would be left to them, unless --take-over is given: %s", plain(r.left.Error())); err != nil {
			return err
		}
	}
	g := r.Lacked
	switch {
	case g == nil:
		return nil
	case f.force:
		return a.printf("  the file that is there would be put aside")
	case len(g.Lines) > 0:
		return a.printf("  the file that is there has %s that the log lacks, which would be brought into the log", g.text())
	}
	return a.printf("  the file that is there would be put aside: it has %s that are no entries", count(len(g.Torn), "line", "lines"))
}
