package agents

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

func resumeCmd(a app) *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume [SESSION] [-- AGENT ARG...]",
		Short: "Continue a session here with its agent",
		Long: `Claims a head, writes the file from which the session's agent continues, starts
the agent on that file in the session's directory, and follows it as sessctl run
does.

Without SESSION it offers the sessions that continue in this directory, the last
changed first; --last takes the first of them. Any entry is a change. After two
dashes comes the command that starts the agent, if it is more than its name. With
--no-start, with -o json and, unless a command is given, without a terminal the
agent is not started: the claim stays until sessctl release. The same applies to
agents that cannot be started on a file (Operator, OpenRath, Nova).

If another writer holds the head and seems to be active, resume fails: the holder
sent a heartbeat in the last 30 seconds, or its claim is that new. Otherwise
resume takes the head over; --take-over does so in any case. The former holder is
fenced at its next write.

If sessctl run or sessctl watch on this host holds the claim for an agent, resume
continues with it after the agent has ended. While the agent runs, resume fails
and names its process; the same applies to a file that an agent has open. Agents
that sessctl run did not start are only detected on Linux, and only pi and omp:
they count as ended if no process of that name is left, except those that sessctl
run started for other sessions. A head that a node claimed for an agent counts as
held by another host, because hosts may share a name.

The session continues in the directory of --cwd. Without --cwd it is the first of:
the directory that paths in ~/.config/sesslog/sessctl.yaml maps it to; the
original directory, if it exists; the same subdirectory of the git repository of
the current directory, if it exists. The last requires that an element of the
original path is the name of the repository or of one of its remotes. Symbolic links
in the path are resolved, as agents do. If it is not the original directory, resume
says which one and why. Each row of paths is one directory as different hosts name
it. The longest match wins, and in its row the first directory that exists. All
hosts can share the file:

    paths:
      - [/home/ann/src, /Users/ann/code, ~/work]

The file is written to --dir, or where the agent looks for it (Claude Code:
$CLAUDE_CONFIG_DIR or ~/.claude; Codex: $CODEX_HOME or ~/.codex; pi:
$PI_CODING_AGENT_DIR or ~/.pi/agent; omp: the same variable, or ~/.omp/agent;
Operator: ~/.operator; OpenRath: $OPENRATH_HOME, .openrath in the session's
directory, or ~/.openrath; Nova: .nova there). Images that the file refers to are
written to the agent's place for them. Files are written atomically, and a file
that is replaced keeps its mode.

opencode stores sessions in a database, not in files. resume starts opencode's own
server, which puts the events into the database. Events that only this host has
are appended to the log first; path is then opencode's id of the session.

If the session's file exists, it is replaced. Lines of it that the log lacks are
first appended: to the file's head, or if the session diverged, to a separate
head. resume then shows the lines and how to continue from them. A file with lines
that are not entries is also kept, under another name. A file that contradicts
the log is an error; with --force it is kept under another name and not imported.
resume checks all this before it claims the head.

--as hands the session to another agent: the head is converted, as by sessctl
export --as, to a new session, which names this one as its parent and is
then resumed. What is lost is printed.

--dry-run shows what would be done and who holds the head.

With -o json: one object with id, path, head, writer, epoch, cursor, cwd
(from, cwd, why, gone), former (the claim that this one replaced), life (of its
holder: state, seen, host), and if there was another file: lacked (lines, torn),
brought (head: where the lines are), aside (where the file is). With --dry-run
there is no writer and no epoch; dryRun is true, and holder and life describe the
holder of the head.`,
		Example: `sessctl resume
sessctl resume 019a
sessctl resume 019a -- pi --model gpt-5
sessctl resume 019a --no-start`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				f.argv = args[at:]
				if args = args[:at]; len(f.argv) == 0 {
					return cli.Usagef("give the command after the two dashes: sessctl resume SESSION -- AGENT ARG...")
				}
			}
			if len(args) > 1 && len(f.argv) == 0 {
				return cli.Usagef("put two dashes before the agent: sessctl resume %.128q -- %.128q", args[0], args[1])
			}
			f.args = args
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		RunE: a.Run(cli.Forever, func(ctx context.Context, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.resume(ctx, f)
		}),
	}
	addClaimFlags(cmd, &f.ClaimOptions)
	cmd.Flags().StringVar(&f.as, "as", "", "hand the session to another `AGENT`: convert it first, and resume the result")
	cmd.Flags().StringVar(&f.Dir, "dir", "", "write the file to `DIR`, which is created if it does not exist")
	cmd.Flags().StringVar(&f.CWD, "cwd", "", "continue in this `DIR` (default: see above)")
	cmd.Flags().StringVar(&f.Images, "images", "", "the `DIR` for the images that the agent's files refer to (default: the agent's own)")
	cmd.Flags().BoolVar(&f.Force, "force", false, "keep an existing file under another name, whatever it contains")
	cmd.Flags().BoolVar(&f.TakeOver, "take-over", false, "take the head also from an active holder")
	a.SecretsFlag(cmd)
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show what would be done, but do nothing")
	cmd.Flags().BoolVar(&f.noStart, "no-start", false, "write the file, but do not start the agent")
	cmd.Flags().BoolVar(&f.last, "last", false, "resume the session of this directory that was changed last")
	return cmd
}

type resumeFlags struct {
	agent.ResumeOptions
	as      string
	noStart bool
	last    bool
	args    []string // the session, if it is named
	argv    []string // the agent's command, if it is given
}

// check validates the flags.
func (f *resumeFlags) check() error {
	switch {
	case f.as != "" && f.DryRun:
		return cli.Usagef("--as and --dry-run exclude each other")
	case f.noStart && len(f.argv) > 0:
		return cli.Usagef("--no-start and a command exclude each other")
	case f.last && len(f.args) > 0:
		return cli.Usagef("--last and SESSION exclude each other")
	}
	return core.CheckHead(f.Head)
}

func (a app) resume(ctx context.Context, f resumeFlags) error {
	node, id, err := a.sessionToResume(ctx, f)
	if err != nil {
		return err
	}
	if f.argv, err = a.command(ctx, node, id, f); err != nil {
		return err
	}
	if f.as != "" {
		if id, err = a.handOff(ctx, node, id, f.Head, f.as); err != nil {
			return err
		}
		f.Head = core.MainHead
	}
	f.Start = len(f.argv) > 0
	host, err := a.AgentHost()
	if err != nil {
		return err
	}
	r, err := agent.Resume(ctx, host, node, id, f.ResumeOptions)
	if err != nil {
		return err
	}
	if r.DryRun {
		return a.Print(r, func() error { return a.printResumePlan(r, f.Force) })
	}
	if err := a.Print(r, func() error { return a.printResumed(r) }); err != nil {
		return err
	}
	if f.Start {
		return a.resumeAgent(ctx, f.argv, r)
	}
	a.noteNext(r)
	return nil
}

// sessionToResume returns the session that the user named or chose.
func (a app) sessionToResume(ctx context.Context, f resumeFlags) (*client.Client, core.SessionID, error) {
	if len(f.args) > 0 {
		return a.InLog(ctx, f.args[0])
	}
	id, err := a.pick(ctx, f.last)
	if err != nil {
		return nil, "", err
	}
	node, err := a.Client()
	return node, id, err
}

// command returns the command that starts the agent: the given one, or else the
// agent's name. It is empty if the agent is not to be started.
func (a app) command(ctx context.Context, node *client.Client, id core.SessionID, f resumeFlags) ([]string, error) {
	if len(f.argv) > 0 || f.noStart || f.DryRun || !a.CanAsk() || !a.Stdout.TTY {
		return f.argv, nil
	}
	name := f.as
	if name == "" {
		info, err := node.Info(ctx, string(id))
		if err != nil {
			return nil, err
		}
		name = info.Log.Dialect
	}
	if !agent.CanStart(name) {
		return nil, nil
	}
	if _, err := exec.LookPath(name); err != nil {
		return nil, cli.Hintf(fmt.Errorf("the session's agent, %s, is not on PATH%w", name, hint.Silent(core.ErrNotFound)),
			"name its command with: sessctl resume %s -- COMMAND, or only write the file with: --no-start", id)
	}
	return []string{name}, nil
}

func (a app) printResumed(r *agent.Resumed) error {
	if err := a.Printf("%s", cli.Plain(r.Path)); err != nil {
		return err
	}
	if err := a.Printf("  you hold head %s of session %s", r.Head, r.ID); err != nil {
		return err
	}
	if err := a.printFenced(r.Former, r.LastWriter, r.Life); err != nil {
		return err
	}
	return a.printLocal(r)
}

// printLocal prints where the lines that the log lacked are now, and how to continue
// with them.
func (a app) printLocal(r *agent.Resumed) error {
	l := r.Local
	if l == nil {
		return nil
	}
	if len(l.Lines) > 0 && r.Imported != nil {
		where := "they are in the log now, and the file continues after them"
		if r.Imported.Head != r.Head {
			where = "the session continued without them, so they are on the head " + cli.Plain(r.Imported.Head) +
				" now; to continue with them instead: sessctl resume" + agent.HeadFlag(r.Imported.Head) + " " + string(r.ID)
			if r.Imported.Head == core.MainHead {
				where = "they are on the head main now; to continue with them instead: sessctl resume " + string(r.ID)
			}
		}
		if err := a.Printf("  the existing file had %s that the log lacked: %s", l.Text(), where); err != nil {
			return err
		}
	}
	if r.Aside == "" {
		return nil
	}
	why := "it had " + cli.Count(len(l.Torn), "line that is not an entry", "lines that are not entries")
	if r.Imported == nil && len(l.Lines) > 0 {
		why = "it had " + l.Text() + " that the log lacks"
	}
	if l.Conflict != nil {
		why = "it conflicts with the log"
	}
	return a.Printf("  the existing file is kept as %s: %s", cli.Plain(r.Aside), why)
}

func (a app) printResumePlan(r *agent.Resumed, force bool) error {
	if err := a.Printf("%s", cli.Plain(r.Path)); err != nil {
		return err
	}
	holder := "no writer"
	if r.Holder != nil {
		holder = cli.Plain(cli.Join(", ", a.ClaimText(r.Holder), a.LifeText(r.Life)))
	}
	if err := a.Printf("  would be written, as of %s; head %s of %s is held by %s", r.Cursor, r.Head, r.ID, holder); err != nil {
		return err
	}
	if r.Refusal != nil {
		if err := a.Printf("  it would not be taken over without --take-over: %s", cli.Plain(r.Refusal.Error())); err != nil {
			return err
		}
	}
	l := r.Local
	switch {
	case l == nil:
		return nil
	case force:
		return a.Printf("  the existing file would be kept under another name")
	case len(l.Lines) > 0:
		return a.Printf("  the existing file has %s that the log lacks, which would be imported", l.Text())
	}
	return a.Printf("  the existing file would be kept under another name: it has %s", cli.Count(len(l.Torn), "line that is not an entry", "lines that are not entries"))
}

// noteNext tells a user at a terminal how to continue with a file on which no
// agent is started.
func (a app) noteNext(r *agent.Resumed) {
	if !a.Stderr.TTY {
		return
	}
	args := agent.OpenArgs(r.Dialect, r.Path)
	cd := ""
	if r.Dialect == "claude" || r.Dialect == "opencode" { // they look for the session by its working directory
		cd = "cd " + shellWords([]string{r.Dir}) + " && "
	}
	if args != nil {
		a.Notef("start the agent on it with: %ssessctl run -- %s", cd, shellWords(append([]string{r.Dialect}, args...)))
	}
	a.Notef("release the head with: sessctl release%s %s", agent.HeadFlag(r.Claim.Head), r.ID)
}
