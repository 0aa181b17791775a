package agents

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func runCmd(a app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run -- AGENT ARG...",
		Short: "Run an agent and store its session in the log",
		Long: `Runs an agent exactly as without sessctl: the agent has the terminal and its input,
and sessctl exits with its exit code (128 plus the signal number if a signal ended
it, 127 if the command does not exist, 126 if it cannot be run). If the agent succeeds
and lines of it are not in the log, the exit code is 7 if they wait for a node, else 1.
sessctl prints nothing until the agent has ended.

Meanwhile it finds the session files that the agent writes: in the directories
where agents keep them (as their environment variables and --session-dir say), new
or growing files whose header names a directory that the agent works in; files that
--session or --resume name; and, on Linux, files that the agent has open. Their
lines are appended to the log as they are written. The agent's files are only read.
The events of opencode's sessions are read from its database in the same way.

run claims the head while the agent runs, and releases it at the end. If another
active writer holds the head, or takes it over, your lines go to a separate head.
Lines that an earlier run did not store are stored first, without a claim; one
line says where they are.
A claim that this host remembers (sessctl claim, resume) is used, and released at
the end, too.

The agent does not depend on a node: lines that no node accepts stay in the file,
and the next sessctl run of any agent, or sessctl watch, appends them. The same
applies after a sessctl that was killed.

At the end one line names the session, or says why nothing of it is in the log.
With -o json: one object on standard error with sessions, an array with session,
dialect, path, head, cursor, waiting (lines that no node has accepted
yet), parted (the session diverged), holder (of the head), shared (another run on
this host follows the file) and error; and earlier, the same of sessions with
lines that earlier runs did not store, with stored, how many lines are in the log now.`,
		Example: `sessctl run -- pi
sessctl run -- omp --resume`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return cli.Usagef("give the command after two dashes: sessctl run -- AGENT ARG...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runAgent(cmd.Context(), agent.RunOptions{Argv: args})
		},
	}
	a.SecretsFlag(cmd)
	return cmd
}

// runAgent runs an agent to its end and prints what became of its sessions. The
// agent's exit code becomes that of sessctl.
func (a app) runAgent(ctx context.Context, o agent.RunOptions) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	o.Stdin, o.Stdout, o.Stderr = a.Stdin, a.Stdout.Writer, a.Stderr.Writer
	host, err := a.AgentHost()
	if err != nil {
		return err
	}
	report, err := agent.Run(ctx, host, node, o)
	if err != nil {
		return err
	}
	a.printRun(filepath.Base(o.Argv[0]), report)
	if code := exitCode(report); code != cli.ExitOK {
		return cli.Reported{Exit: code}
	}
	return nil
}

// exitCode is the agent's, unless the agent succeeded and lines are not in the log.
func exitCode(report agent.RunReport) int {
	code := report.Code
	for _, r := range report.Sessions {
		switch {
		case code != cli.ExitOK:
		case r.Waiting > 0:
			code = cli.ExitUnavailable
		case r.Error != "":
			code = cli.ExitOther
		}
	}
	return code
}

// resumeAgent starts the agent on the file that was written, under the claim that
// was taken.
func (a app) resumeAgent(ctx context.Context, argv []string, r *agent.Resumed) error {
	argv = agent.WithOpenArgs(argv, r.Dialect, r.Path)
	err := a.runAgent(ctx, agent.RunOptions{
		Argv: argv, Options: process.Options{Dir: r.Dir},
		File: &agent.OpenFile{Path: cmp.Or(r.Follow, r.Path), Session: r.ID, Dialect: r.Dialect, Claim: r.Claim},
	})
	if err != nil {
		if _, ended := err.(cli.Reported); !ended {
			err = fmt.Errorf("the file is written and the head is claimed, but the agent did not start: %w", err)
		}
	}
	return err
}

// A shownResult is a result with its cursor also as cursor.
type shownResult struct {
	agent.Result
	Cursor core.Cursor `json:"cursor,omitzero"`
}

func shownResults(rs []agent.Result) []shownResult {
	all := make([]shownResult, len(rs))
	for i, r := range rs {
		all[i] = shownResult{r, r.Cursor}
	}
	return all
}

// printRun prints one line for each session that the agent wrote, except those of
// subagents. For programs it prints to standard error, because standard output is
// the agent's.
func (a app) printRun(name string, report agent.RunReport) {
	if a.Format == cli.JSON {
		to := *a.App
		to.Stdout = a.Stderr
		_ = to.PrintJSON(struct {
			Sessions []shownResult `json:"sessions"`
			Earlier  []shownResult `json:"earlier,omitempty"`
		}{shownResults(report.Sessions), shownResults(report.Earlier)})
		return
	}
	if len(report.Sessions) == 0 {
		var searched []string
		for _, r := range report.Searched {
			searched = append(searched, r.Path)
		}
		a.Notef("found no session file of %s (searched %s): nothing is in the log", name, strings.Join(searched, ", "))
	}
	for _, r := range report.Sessions {
		if !r.IsSubagent(report.Sessions) {
			a.Notef("%s", a.resultText(r))
		}
	}
	for _, r := range report.Earlier {
		a.Notef("%s", a.earlierText(r))
	}
	if report.Pending > 0 {
		a.Notef("%s of earlier runs still wait for a node", cli.Count(report.Pending, "line", "lines"))
	}
}

// earlierText says what became of lines that an earlier run did not store.
func (a app) earlierText(r agent.Result) string {
	lines := cli.Count(r.Stored, "line", "lines")
	resume := "sessctl resume" + agent.HeadFlag(r.Head) + " " + string(r.Session)
	switch {
	case r.Error != "":
		return fmt.Sprintf("an earlier run has left lines of session %s in %s that are not in the log: %s", r.Session, r.Path, r.Error)
	case r.Head != core.MainHead:
		return fmt.Sprintf("%s of an earlier run are on head %s of session %s, because another writer continued it; continue them: %s, or the others: sessctl resume %s",
			lines, r.Head, r.Session, resume, r.Session)
	}
	return fmt.Sprintf("%s of an earlier run are in session %s now; continue it with: %s", lines, r.Session, resume)
}

func (a app) resultText(r agent.Result) string {
	resume := "sessctl resume" + agent.HeadFlag(r.Head) + " " + string(r.Session)
	holder := "another writer"
	if r.Holder != nil {
		holder = a.ClaimText(r.Holder)
	}
	switch {
	case r.Shared:
		return fmt.Sprintf("session %s is followed by another sessctl run on this host, which continues it", r.Session)
	case r.Waiting > 0:
		return fmt.Sprintf("no node accepted %s of session %s: they wait in %s and are copied by the next sessctl run or sessctl watch",
			cli.Count(r.Waiting, "line", "lines"), r.Session, r.Path)
	case r.Error != "":
		return fmt.Sprintf("session %s is not in the log as it is in %s: %s", r.Session, r.Path, r.Error)
	case r.Diverged || r.Holder != nil && r.Head != core.MainHead:
		return fmt.Sprintf("%s continued session %s, too, so your lines are on head %s and both are kept; continue yours: %s, or theirs: sessctl resume %s",
			holder, r.Session, r.Head, resume, r.Session)
	case r.Holder != nil:
		return fmt.Sprintf("%s has taken over session %s; all lines written here are in it; follow it with: sessctl attach %s", holder, r.Session, r.Session)
	}
	return fmt.Sprintf("session %s is in the log, head %s at %s; continue on any host with: %s", r.Session, r.Head, r.Cursor, resume)
}
