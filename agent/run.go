package agent

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// RunOptions say how to run an agent. Without File, its session files are found.
type RunOptions struct {
	Argv []string
	process.Options
	File *OpenFile // the session file that the agent is started on, if any
}

// An OpenFile is a session file that an agent continues, and the claim under which
// its lines are written. Run releases the claim when the agent has ended.
type OpenFile struct {
	Path    string
	Session core.SessionID
	Dialect string
	Claim   *api.Claimed
}

// A RunReport says what became of an agent's sessions.
type RunReport struct {
	Code     int           // the agent's exit code, or 128 plus the signal that killed it
	Sessions []Result      // those that the agent wrote
	Earlier  []Result      // of earlier runs: files of which lines were stored now, or cannot be
	Pending  int           // lines of earlier runs that no node has accepted
	Searched []follow.Root // where session files were searched for
}

// Run runs an agent to its end and copies its session files to the log while it
// runs. Until the agent has ended, Run prints nothing and ignores ctx and signals,
// which are the agent's. Then it copies the last lines, for at most ten seconds,
// and releases its claims and that of o.File. Lines that no node accepts stay in
// their files for a later Run.
//
// If the agent cannot be started, the error wraps a *process.StartError, and the
// claim of o.File stays.
func Run(ctx context.Context, h *Host, node Node, o RunOptions) (RunReport, error) {
	dir := o.Dir
	if dir == "" {
		dir, _ = Getwd() // without one, files are found by their names only
	}
	f := newFollower(h, node, dir, o.Argv)
	p, err := process.Start(o.Argv, o.Options)
	if err != nil {
		return RunReport{}, err
	}
	ctx = context.WithoutCancel(ctx) // keys and signals are the agent's
	f.start(ctx, p.Pid(), o.File)
	code := p.Wait()
	signal.Ignore(syscall.SIGHUP)                                         // copy the last lines even if the terminal is gone
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // from here on signals are this process's
	defer stop()
	results, pending := f.finish(ctx)
	return RunReport{Code: code, Sessions: results, Earlier: f.earlier, Pending: pending, Searched: f.ownRoots()}, nil
}
