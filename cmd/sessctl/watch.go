package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func watchCmd(a *app) *cobra.Command {
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
			roots, err := a.watchRoots(args)
			if err != nil {
				return err
			}
			if f.unit != "" {
				return a.printUnit(f, args)
			}
			ctx, cancel := a.within(cmd, forever)
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

// lastFlush bounds how long the end of a watch takes.
const lastFlush = 5 * time.Second

// watchRoots returns what the arguments name, or the agents' sessions directories.
func (a *app) watchRoots(args []string) ([]follow.Root, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	known := agent.Roots(a.env, dir)
	if len(args) == 0 {
		if len(known) == 0 {
			return nil, usagef("HOME is not set; name the directories to follow")
		}
		return known, nil
	}
	var roots []follow.Root
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		r := follow.Root{Path: path}
		for _, k := range known {
			if k.Path == path {
				r = k
			}
		}
		roots = append(roots, r)
	}
	return roots, nil
}

// watchState returns the state directory: given, unless it is empty.
func (a *app) watchState(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir := agent.StateDir(a.env)
	if dir == "" {
		return "", usagef("HOME is not set; give the state directory with --state DIR")
	}
	return filepath.Join(dir, "watch"), nil
}

// remembered returns the writer of this host's claim on a head, empty if there is
// none.
func (a *app) remembered(id core.SessionID, head string) string {
	c, ok, err := a.claims().Load(id, head)
	if err != nil || !ok {
		return ""
	}
	return c.Writer
}

// rememberWatched and forgetWatched save the follower's claims, so that other verbs
// on this host can write under them.
func (a *app) rememberWatched(id core.SessionID, c api.Claimed) {
	before, _, _ := a.claims().Load(id, c.Head)
	h := agent.NewStoredClaim(id, c, before.Path)
	h.Follows = true
	if err := a.claims().Save(h); err != nil {
		a.notef("the claim on head %q of %s was not saved: %v", c.Head, id, err)
	}
}

func (a *app) forgetWatched(id core.SessionID, head, writer string) {
	_ = a.claims().Forget(id, head, writer) // a stale record is detected when it is used
}

func (a *app) watch(ctx context.Context, roots []follow.Root, f watchFlags) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	state, err := a.watchState(f.state)
	if err != nil {
		return err
	}
	by, host := a.whoami()
	w, err := follow.New(follow.Config{
		Node: node, Roots: roots, State: state, By: by, Host: host,
		Claims: !f.once, Writer: a.remembered, Claimed: a.rememberWatched, Over: a.forgetWatched,
		Notify: func(n follow.Notice) { _ = a.print(n, func() error { return a.printf("%s", plain(n.Text)) }) },
	})
	if err != nil {
		return err
	}
	defer w.Close()
	a.noteRoots(roots, f.once)
	if f.once {
		return flushed(w.Flush(ctx))
	}
	_ = w.Run(ctx) // always nil
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := w.Flush(last); err != nil {
		a.notef("%v; they are copied when sessctl watch runs again", err)
	}
	return nil
}

// noteRoots tells the user what is followed and what does not exist.
func (a *app) noteRoots(roots []follow.Root, once bool) {
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
		a.notef("nothing to copy, these do not exist: %s", strings.Join(gone, ", "))
	case once || !a.stderr.tty:
	case len(here) == 0:
		a.notef("nothing to follow until one of these exists: %s", strings.Join(gone, ", "))
	default:
		a.notef("following %s, until interrupted", strings.Join(here, ", "))
	}
}

// flushed adds a hint to the error of a flush that ran out of time.
func flushed(err error) error {
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return hintf(err, "run it again: lines that are in the log already are skipped")
}

// unitEnv are the variables that say where agents keep sessions and which user
// writes them.
var unitEnv = []string{
	"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "PI_CONFIG_DIR", "OPENRATH_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "SESS_BY",
}

// printUnit prints a unit that runs this command with the same arguments.
func (a *app) printUnit(f watchFlags, args []string) error {
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
		if v := a.env(name); v != "" {
			u.env[name] = v
		}
	}
	if url := cmp.Or(a.url, a.env("SESS_URL")); url != "" {
		u.env["SESS_URL"] = url
	}
	switch f.unit {
	case "systemd":
		return a.printf("%s", u.systemd())
	case "launchd":
		return a.printf("%s", u.launchd())
	}
	return usagef("--print-unit %.40q: say systemd or launchd", f.unit)
}
