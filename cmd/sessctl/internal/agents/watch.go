package agents

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
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
follows the places where the known agents keep their sessions: pi, omp, Operator,
OpenRath and Nova, by their environment variables. A place that does not exist is
followed once it is created.

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
two minutes after the last line, and when it ends. It does not take a head from
another host.

--state has what watch remembers between runs. If it is lost, files are compared
with the log. Only one process can use a state directory.

--once appends the complete lines and ends. --print-unit prints a unit that runs
this command as a service of the user; a comment in it says where to install it.

With -o json: one object per line for each report: kind, path, session, head and
text.`,
		Example: `sessctl watch
sessctl watch --once ~/.pi/agent/sessions
sessctl watch --print-unit systemd`,
		RunE: func(cmd *cobra.Command, args []string) error {
			roots, err := a.Host().WatchRoots(args)
			if err != nil {
				return err
			}
			if f.unit != "" {
				return a.printUnit(f, args)
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			staySmall()
			return a.watch(ctx, roots, f)
		},
	}
	cmd.Flags().StringVar(&f.state, "state", "", "keep the state in `DIR` (default below $XDG_STATE_HOME)")
	cmd.Flags().BoolVar(&f.once, "once", false, "append the complete lines, and end")
	cmd.Flags().StringVar(&f.unit, "print-unit", "", "print a unit for the service `MANAGER` systemd or launchd, and do nothing else")
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
	state string
	once  bool
	unit  string
}

func (a app) watch(ctx context.Context, roots []follow.Root, f watchFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	return agent.Watch(ctx, a.Host(), node, agent.WatchOptions{
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

// unitEnv are the variables that say where agents keep sessions and which user
// writes them.
var unitEnv = []string{
	"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "PI_CONFIG_DIR", "OPENRATH_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "SESS_BY",
}

// printUnit prints a unit that runs this command with the same arguments.
func (a app) printUnit(f watchFlags, args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	u := unit{words: []string{exe, "watch"}, env: map[string]string{}}
	if f.state != "" {
		path, err := filepath.Abs(f.state)
		if err != nil {
			return err
		}
		u.words = append(u.words, "--state", path)
	}
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return err
		}
		u.words = append(u.words, path)
	}
	for _, name := range unitEnv {
		if v := a.Env(name); v != "" {
			u.env[name] = v
		}
	}
	if url := cmp.Or(a.URL, a.Env("SESS_URL")); url != "" {
		u.env["SESS_URL"] = url
	}
	switch f.unit {
	case "systemd":
		return a.Printf("%s", u.systemd())
	case "launchd":
		return a.Printf("%s", u.launchd())
	}
	return cli.Usagef("--print-unit %.40q is not one of systemd, launchd", f.unit)
}
