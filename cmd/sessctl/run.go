package main

import (
	"context"

	"github.com/spf13/cobra"
)

func runCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run -- AGENT ARG...",
		Short: "Start an agent, with its session in the log while it runs",
		Long: `Starts an agent as it would be started without sessctl: it has the terminal, what
is typed reaches it, and its exit code is sessctl's (128 and the signal's number,
where it died of one).`,
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

// runOptions say what is known of an agent before it runs.
type runOptions struct {
	dir string // where it runs; empty for here
}

// runAgent runs an agent to its end and returns its exit code, or 128 and the
// number of the signal that it died of. While it runs, sessctl says nothing and
// obeys no signal, ctx's end included. An error means that it did not run.
func (a *app) runAgent(ctx context.Context, argv []string, o runOptions) (int, error) {
	_ = context.WithoutCancel(ctx)
	p, err := a.startAgent(argv, o)
	if err != nil {
		return 0, err
	}
	return p.wait(), nil
}

// ended is how a verb ends that ran an agent: with that one's exit code.
func ended(code int, err error) error {
	if err == nil && code != exitOK {
		return reported{code}
	}
	return err
}
