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

// staySmall has garbage collected sooner than is usual. The process waits beside
// agents for months: memory is what it costs, not time. A GOGC of the user's counts
// more.
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

// lastFlush is how long the end of a watch takes at most.
const lastFlush = 5 * time.Second

// watchRoots are what the arguments name, or where agents keep sessions.
func (a *app) watchRoots(args []string) ([]follow.Root, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	known := follow.AgentRoots(a.env, dir)
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

// watchState is where a follower on this host remembers, when it is told nothing.
func (a *app) watchState(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	claims := a.claims().dir
	if claims == "" {
		return "", usagef("HOME is not set; say where to remember what was brought in: --state DIR")
	}
	return filepath.Join(filepath.Dir(claims), "watch"), nil
}

// remembered is the claim that this host has on a head, for a follower.
func (a *app) remembered(id core.SessionID, head string) string {
	h, ok, err := a.claims().load(id, head)
	if err != nil || !ok {
		return ""
	}
	return h.Writer
}

// rememberWatched and forgetWatched have the claims that a follower makes be those of
// this host, for other verbs to speak from. A claim is one without them, too.
func (a *app) rememberWatched(id core.SessionID, c api.Claimed) {
	before, _, _ := a.claims().load(id, c.Head)
	h := heldOf(id, c, before.Path)
	h.Follows = true
	if err := a.claims().save(h); err != nil {
		a.notef("the claim on head %q of %s could not be remembered: %v", c.Head, id, err)
	}
}

func (a *app) forgetWatched(id core.SessionID, head, writer string) {
	_ = a.claims().forget(id, head, writer) // a memory that is wrong is found out
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
	b, err := follow.New(follow.Config{
		Node: node, Roots: roots, State: state, By: by, Host: host,
		Claims: !f.once, Writer: a.remembered, Claimed: a.rememberWatched, Over: a.forgetWatched,
		Notify: func(n follow.Notice) { _ = a.print(n, func() error { return a.printf("%s", plain(n.Text)) }) },
	})
	if err != nil {
		return err
	}
	defer b.Close()
	a.noteRoots(roots, f.once)
	if f.once {
		return flushed(b.Flush(ctx))
	}
	_ = b.Run(ctx) // it ends with ctx, and only then
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := b.Flush(last); err != nil {
		a.notef("%v; they are brought in when sessctl watch runs again", err)
	}
	return nil
}

// noteRoots says what is followed, and what is not there.
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
		a.notef("nothing is there to bring in: %s", strings.Join(gone, ", "))
	case once || !a.stderr.tty:
	case len(here) == 0:
		a.notef("nothing is there yet, and followed once it appears: %s", strings.Join(gone, ", "))
	default:
		a.notef("following %s, until interrupted", strings.Join(here, ", "))
	}
}

// flushed says how to go on where a flush was cut short.
func flushed(err error) error {
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return hintf(err, "run it again: what is in the log already is left out")
}

// unitEnv are the variables that tell where agents keep sessions, and which node
// it is.
var unitEnv = []string{
	"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "PI_CONFIG_DIR", "OPENRATH_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "SESS_BY",
}

// printUnit prints a unit that runs this command with these arguments.
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
