package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func runCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run -- AGENT ARG...",
		Short: "Run an agent and store its session in the log",
		Long: `Runs an agent as without sessctl: the agent has the terminal and its input, and
sessctl exits with its exit code (128 plus the signal number if a signal ended it,
127 if the command does not exist, 126 if it cannot be run). sessctl prints
nothing until the agent has ended.

Meanwhile it finds the session files that the agent writes: in the directories
where agents keep them (as their environment variables and --session-dir say), new
or growing files whose header names the agent's directory; files that --session or
--resume name; and, on Linux, files that the agent has open. Their lines are
appended to the log as they are written. The agent's files are only read.

run claims the head while the agent runs, and releases it at the end. If another
active writer holds the head, or takes it over, your lines go to a separate head.
A claim that this host remembers (sessctl claim, resume) is used, and released at
the end, too.

The agent does not depend on a node: lines that no node accepts stay in the file,
and the next sessctl run of any agent, or sessctl watch, appends them. The same
applies after a sessctl that was killed.

At the end one line names the session, or says why nothing of it is in the log.
With -o json: one object on standard error with sessions, an array with session,
dialect, path, head, seq (the cursor), waiting (lines that no node has accepted
yet), parted (the session diverged), holder (of the head), shared (another run on
this host follows the file) and error.`,
		Example: `sessctl run -- pi
sessctl run -- omp --resume`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return usagef("say what to run behind two dashes: sessctl run -- AGENT ARG...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := a.runAgent(cmd.Context(), args, runOptions{})
			return ended(code, err)
		},
	}
	return cmd
}

// runOptions say what is known of an agent before it runs. The zero options say
// nothing: its files are found.
type runOptions struct {
	dir string // where it runs; empty for here

	// A session file that the agent will go on with, the session it is, and the
	// claim on the head that its lines go to; all of them, or none.
	file    string
	session core.SessionID
	dialect string
	claim   *api.Claimed
}

// runAgent runs an agent to its end, with its session files in the log while it
// runs, and returns its exit code, or 128 and the number of the signal that it
// died of. Until it has ended sessctl says nothing and obeys no signal, ctx's
// end included; then it says what became of the session, and gives up the claims
// it had, o.claim among them. An error means that the agent did not run: then
// o.claim stays.
func (a *app) runAgent(ctx context.Context, argv []string, o runOptions) (int, error) {
	node, err := a.client()
	if err != nil {
		return 0, err
	}
	f := a.newFollowing(node, argv, o)
	p, err := a.startAgent(argv, o)
	if err != nil {
		return 0, err
	}
	ctx = context.WithoutCancel(ctx) // what is typed is for the agent
	f.start(ctx, p.cmd.Process.Pid, o)
	code := p.wait()
	signal.Ignore(syscall.SIGHUP)                                         // where the terminal is gone, the last lines are still brought in
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // from here on it is for sessctl
	defer stop()
	rans, left := f.finish(ctx)
	a.tellRan(f, rans, left)
	return code, nil
}

// ended is how a verb ends that ran an agent: with that one's exit code.
func ended(code int, err error) error {
	if err == nil && code != exitOK {
		return reported{code}
	}
	return err
}
