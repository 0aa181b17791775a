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
		Long: `Follows session files, and those in directories and below them, and brings every
line that agents write there into the log as soon as it is complete: in order,
once. Without arguments it follows where the agents known here keep their
sessions: pi, omp, Operator, OpenRath and Nova, by their own environment
variables. What is not there yet is followed once it appears.

It never writes to those files, nor to their directories. It goes on until it is
interrupted, and then brings in what is complete, for five seconds at most.

Lines that changed in a file are amended in the log. Lines that left it stay in
the log, and a record says that they left. A line that is no entry, or that the
log has otherwise, is told and recorded, and stops nothing. Where somebody else
went on with a session, the file's own lines are on a head of their own. Files
that are gone leave their sessions in the log, with a record that they are gone.
While no node answers, lines wait in their files.

While lines come, their head is claimed in the name of the agent, as sessctl run
does it, so that others see who is at work there (sessctl ps). Two minutes after
the last line, and at the end, it is released. A head that another host holds is
left to it.

What it remembers between runs is in --state; should that be lost, files are
compared with the log. One process has a state directory at a time.

--once brings in what is there and ends. --print-unit prints what keeps this
command running as a service of the user's: put it where the text says.

With -o json: an object for each thing that it tells, each on a line of its own:
kind, path, session, head and text.`,
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
	cmd.Flags().StringVar(&f.state, "state", "", "remember in `DIR` how far files were brought in (default below $XDG_STATE_HOME)")
	cmd.Flags().BoolVar(&f.once, "once", false, "bring in what is there, and end")
	cmd.Flags().StringVar(&f.unit, "print-unit", "", "print a unit for `SERVICES`, systemd or launchd, and do nothing else")
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
