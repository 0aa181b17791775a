package agent

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

// lastFlush bounds how long the end of Watch takes.
const lastFlush = 5 * time.Second

// WatchOptions say what Watch follows.
type WatchOptions struct {
	Roots   []follow.Root
	State   string // the state directory; default: watch in StateDir
	Once    bool   // copy what the files contain, and end
	Started func() // called after the state directory was opened; optional
	Notify  func(follow.Notice)
}

// Watch follows files until ctx ends, and then copies the remaining complete lines
// for at most five seconds. Its claims are remembered, so that other processes on
// this host can write under them. With o.Once it only copies what the files
// contain now.
func Watch(ctx context.Context, h *Host, node follow.Node, o WatchOptions) error {
	state := o.State
	if state == "" {
		dir := StateDir(h.Env)
		if dir == "" {
			return usagef("HOME is not set; give the state directory with --state DIR")
		}
		state = filepath.Join(dir, "watch")
	}
	w, err := follow.New(follow.Config{
		Node: node, Roots: o.Roots, State: state, By: h.By, Host: h.Name, Notify: o.Notify, Secrets: h.Secrets,
		Claims: !o.Once, Writer: h.rememberedWriter, Claimed: h.rememberWatched, Over: h.forgetWatched,
	})
	if err != nil {
		return err
	}
	defer w.Close()
	if o.Started != nil {
		o.Started()
	}
	if o.Once {
		err := w.Flush(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = hint.With(err, "run it again: lines that are already in the log are skipped")
		}
		return err
	}
	_ = w.Run(ctx) // always nil
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := w.Flush(last); err != nil {
		h.notef("%v; they are copied when sessctl watch runs again", err)
	}
	return nil
}

// WatchRoots returns the roots for paths or, if there are none, the agents'
// sessions directories. A path that is an agent's sessions directory gets that
// agent's dialect.
func (h *Host) WatchRoots(paths []string) ([]follow.Root, error) {
	dir, err := Getwd()
	if err != nil {
		return nil, err
	}
	known := Roots(h.Env, dir)
	if len(paths) == 0 {
		if len(known) == 0 {
			return nil, usagef("HOME is not set; name the directories to follow")
		}
		return known, nil
	}
	var roots []follow.Root
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		roots = append(roots, RootAt(known, path))
	}
	return roots, nil
}

// RootAt returns the root at path: one of known, or else one without a dialect. The
// data directory of opencode stands for its database.
func RootAt(known []follow.Root, path string) follow.Root {
	path = filepath.Clean(path)
	for _, r := range known {
		if r.Path == path || r.Dialect == opencodeName && filepath.Dir(r.Path) == path {
			return r
		}
	}
	return follow.Root{Path: path}
}

// rememberedWriter returns the writer of this host's claim on a head, empty if
// there is none.
func (h *Host) rememberedWriter(id core.SessionID, head string) string {
	c, _, err := h.Claims.Load(id, head)
	if err != nil {
		return ""
	}
	return c.Writer
}

func (h *Host) rememberWatched(id core.SessionID, c api.Claimed) {
	before, _, _ := h.Claims.Load(id, c.Head)
	stored := NewStoredClaim(id, c, before.Path)
	stored.Follows = true
	if err := h.Claims.Save(stored); err != nil {
		h.notef("the claim on head %q of %s was not saved: %v", c.Head, id, err)
	}
}

func (h *Host) forgetWatched(id core.SessionID, head, writer string) {
	_ = h.Claims.Forget(id, head, writer) // a stale record is detected when it is used
}
