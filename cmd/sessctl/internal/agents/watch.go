package agents

import (
	"context"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func watchCmd(a app) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch [DIR|FILE...]",
		Short: "Follow agents' session files into the log",
		Long: `Follows session files, also those in directories and below them, and appends each
line to the log as soon as it is complete: in order, once. Without arguments it
follows the places where the known agents keep their sessions: Claude Code, Codex,
opencode, pi, omp, Operator, OpenRath and Nova, by their environment variables. A
place that does not exist is followed once it is created. opencode's database is
followed like a directory with a file for each session.

watch never writes to those files and directories. It runs until it is interrupted,
and then appends the complete lines, for five seconds at most.

Lines that changed in a file are amended in the log. Lines that were removed from
it stay in the log, and a record says that they were removed. A line that is not
an entry, or that contradicts the log, is reported and recorded, and does not stop
watch. If the session diverged, the file's own lines are on a separate head.
Sessions whose files were removed stay in the log, with a record that says so.
While no node answers, lines wait in their files.

While lines arrive, watch claims their head in the name of the agent, as sessctl
run does, so that others see the active writer (sessctl ps). It releases the head
3 seconds after an answer that ends the agent's turn, otherwise two minutes after
the last line, and when watch ends. Without --take-over, resume can take the head
over if no line arrived for 10 seconds and the claim is older than 30 seconds.
watch does not take a head from another host.

--state has what watch remembers between runs. If it is lost, files are compared
with the log. Only one process can use a state directory.

--on-notice runs a command with sh when another writer takes over a session of the
log, when a session is split, or when an agent has waited for its user for 5
seconds. $SESS_NOTICE is session.taken_over, session.split or session.waiting;
$SESS_NOTICE_TEXT says it in a sentence; $SESS_NOTICE_SESSION and $SESS_NOTICE_HOST
(of the holder) help to choose. Standard input has it as JSON. Commands run one at
a time, at most four per second.

--once appends the complete lines and ends. sessctl service install watch runs watch
whenever the user is logged in.

With -o json: one object per line for each report: kind, path, session, head and
text.`,
		Example: `sessctl watch
sessctl watch --once ~/.pi/agent/sessions
sessctl watch --on-notice 'notify-send -- "$SESS_NOTICE_TEXT"'
sessctl service install watch`,
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if f.once && f.onNotice != "" {
				return cli.Usagef("--on-notice does not go with --once, which ends at once")
			}
			roots, err := a.Host().WatchRoots(args)
			if err != nil {
				return err
			}
			staySmall()
			return a.watch(ctx, roots, f)
		}),
	}
	cmd.Flags().StringVar(&f.state, "state", "", "keep the state in `DIR` (default below $XDG_STATE_HOME)")
	a.SecretsFlag(cmd)
	cmd.Flags().StringVar(&f.onNotice, "on-notice", "", "run `COMMAND` when a session is taken over or split, or an agent waits for its user")
	cmd.Flags().BoolVar(&f.once, "once", false, "append the complete lines, and end")
	return cmd
}

// staySmall collects garbage more often than the default, unless the user sets
// GOGC. The process runs beside agents for months and is mostly idle, so memory
// matters more than processor time.
func staySmall() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

type watchFlags struct {
	state, onNotice string
	once            bool
}

func (a app) watch(ctx context.Context, roots []follow.Root, f watchFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	host, err := a.AgentHost()
	if err != nil {
		return err
	}
	if f.onNotice != "" {
		go a.onNotice(ctx, node, f.onNotice)
	}
	return agent.Watch(ctx, host, node, agent.WatchOptions{
		Roots: roots, State: f.state, Once: f.once,
		Started: func() { a.noteRoots(roots, f.once) },
		Notify:  func(n follow.Notice) { _ = a.Print(n, func() error { return a.Printf("%s", cli.Plain(n.Text)) }) },
	})
}

// noteRoots tells the user what is followed and what does not exist.
func (a app) noteRoots(roots []follow.Root, once bool) {
	var here, gone []string
	for _, r := range roots {
		if _, err := os.Stat(r.Path); err == nil {
			here = append(here, r.Path)
		} else {
			gone = append(gone, r.Path)
		}
	}
	switch {
	case once && len(here) == 0:
		a.Notef("nothing to copy, these do not exist: %s", strings.Join(gone, ", "))
	case once || !a.Stderr.TTY:
	case len(here) == 0:
		a.Notef("nothing to follow until one of these exists: %s", strings.Join(gone, ", "))
	default:
		a.Notef("following %s, until interrupted", strings.Join(here, ", "))
	}
}
