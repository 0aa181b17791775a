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
		Short: "Start an agent, with its session in the log while it runs",
		Long: `Starts an agent as it would be started without sessctl: it has the terminal, what
is typed reaches it, and its exit code is that of sessctl (128 and the signal's
number where it died of one, 127 where there is no such command, 126 where it
cannot be run). sessctl says nothing until the agent has ended.

Meanwhile it finds the session files that the agent writes: below the folders
where agents keep them (as their environment variables and --session-dir say),
those that are new or grow and whose header names the directory where the agent
runs; those that --session or --resume name; and, on Linux, those that the agent
has open. Their lines go to the log as they are written. The agent's files are
only read.

The head that lines go to is claimed for as long as the agent runs, and released
at its end. Where another holds it who is there, or takes it over, lines go to a
head of their own, and both are kept. A claim that this host has from before
(sessctl claim, resume) is used, and released at the end, too.

No node is needed for the agent to run: what none takes waits in the file and
goes up with the next sessctl run, whichever agent that starts, or with sessctl
watch. So does what a sessctl leaves behind that is killed.

At the end one line says which session it was, or why nothing of it is in the
log. With -o json: one object on standard error with sessions, an array with
session, dialect, path, head, seq (the cursor), waiting (lines that no node has
taken yet), parted (somebody else went on with the session, too), holder (who
has the head), shared (another run on this host follows the file) and error.`,
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
