package agent

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session"
)

// A follower copies what one agent writes to the log while the agent runs.
type follower struct {
	host      *Host
	node      Node
	announcer *session.Announcer
	finder    *finder
	runs      runStore
	agent     string // the name of its command
	pid       int
	startID   string // process.StartID of pid

	mu      sync.Mutex // guards the fields below
	files   []*watchedFile
	busy    map[string]sessionFile // followed by other runs on this host
	failed  []Result               // files that cannot be followed
	earlier []Result               // files of earlier runs, and what became of them

	wake chan struct{} // capacity 1: a head may need a claim
	stop context.CancelFunc
	wait sync.WaitGroup
}

// A watchedFile is a session file that is followed.
type watchedFile struct {
	file     sessionFile
	follower *follow.Follower
	claims   *claimer
	note     runNote
	old      bool // left by an earlier run; this agent does not write it
	lines    int  // that the log lacked at first
	away     atomic.Bool
	diverged atomic.Bool

	cancel context.CancelFunc
	done   chan struct{}
}

// newFollower records which files exist before the agent begins.
func newFollower(h *Host, node Node, dir string, argv []string) *follower {
	f := &follower{
		host: h, node: node, announcer: node.Announcer(), runs: h.runs(), agent: filepath.Base(argv[0]),
		finder: newFinder(Roots(h.Env, dir), dir, argv), busy: map[string]sessionFile{},
		wake: make(chan struct{}, 1),
	}
	f.finder.omp = ompDir(h.Env, dir)
	return f
}

// start follows the files that the process pid writes, the file that it is started
// on, and what earlier runs have left.
func (f *follower) start(ctx context.Context, pid int, open *OpenFile) {
	ctx, f.stop = context.WithCancel(ctx)
	f.pid, f.startID = pid, process.StartID(pid)
	if open != nil {
		f.finder.found[open.Path] = true
		root := follow.Root{Path: open.Path, Dialect: open.Dialect}
		f.follow(ctx, sessionFile{path: open.Path, root: root, session: open.Session, dialect: open.Dialect}, open.Claim, false)
	}
	f.wait.Go(func() {
		for _, n := range f.runs.pending(f.host.Now()) {
			f.follow(ctx, n.file(), nil, true)
		}
		for _, w := range f.followed() {
			if w.isLeftover() {
				f.wait.Go(func() { f.settle(ctx, w) })
			}
		}
		f.find(ctx)
	})
	f.wait.Go(func() { f.keepClaims(ctx) })
}

// How often to search for files. A search may use a twentieth of a processor until
// the first file is found, and then a hundredth: agents rarely begin another.
const (
	scanSoon, scanSoonShare   = 50 * time.Millisecond, 20
	scanLater, scanLaterShare = 500 * time.Millisecond, 100
)

func (f *follower) find(ctx context.Context) {
	for {
		began := time.Now()
		f.scan(ctx, f.pid)
		took := time.Since(began)
		pause := max(scanSoon, scanSoonShare*took)
		if f.hasOwn() {
			pause = max(scanLater, scanLaterShare*took)
		}
		if retry.Wait(ctx, pause) != nil {
			return
		}
	}
}

// hasOwn reports whether a file of this agent is followed.
func (f *follower) hasOwn() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.files, func(w *watchedFile) bool { return !w.old })
}

func (f *follower) scan(ctx context.Context, pid int) {
	fresh := f.finder.scan(pid)
	f.mu.Lock()
	for _, file := range f.busy {
		fresh = append(fresh, file)
	}
	f.mu.Unlock()
	for _, file := range fresh {
		f.follow(ctx, file, nil, false)
	}
}

// follow starts to follow a file. A file that another run on this host follows is
// left to that run until it ends.
func (f *follower) follow(ctx context.Context, file sessionFile, claim *api.Claimed, old bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.files {
		if w.file.path == file.path {
			if w.old && !old {
				w.old = false
				w.claims.allow()
			}
			return
		}
	}
	w := &watchedFile{file: file, old: old, done: make(chan struct{})}
	before, _ := f.runs.load(file.path)
	w.note = f.newNote(file, before, old)
	w.claims = newClaimer(f.host, f.node, f.announcer, file.session, file.dialect, before.Writers, func(own []string) {
		w.note.Writers = own
		_ = f.runs.save(w.note) // otherwise the claims end when another process takes them over
	})
	if w.isLeftover() {
		w.claims.deny()
	}
	root := follow.Root{Path: file.path, Dialect: file.dialect, Home: w.note.Home, Images: w.note.Images}
	if claim != nil { // the file was written from that head
		root.Head = claim.Head
	}
	cfg := follow.Config{
		Node:   f.node,
		Roots:  []follow.Root{root},
		State:  f.runs.state(file.path),
		Writer: w.claims.writer, Notify: func(n follow.Notice) { f.notice(w, n) },
		By: f.host.By, Host: f.host.Name, Secrets: f.host.Secrets,
	}
	var err error
	w.follower, err = follow.New(cfg)
	if errors.Is(err, core.ErrHeld) {
		if !old {
			f.busy[file.path] = file
		}
		return
	}
	if err != nil {
		cfg.State = "" // follow it all the same, and remember nothing
		if w.follower, err = follow.New(cfg); err != nil {
			f.failed = append(f.failed, Result{Session: file.session, Dialect: file.dialect, Path: file.path, Error: err.Error()})
			return
		}
	}
	delete(f.busy, file.path)
	_ = f.runs.save(w.note) // otherwise the lines wait in the file until it is followed again
	if claim != nil {
		w.claims.adopt(*claim)
	}
	w.lines = linesAfter(w.status())
	ctx, w.cancel = context.WithCancel(ctx)
	go func() {
		defer close(w.done)
		_ = w.follower.Run(ctx) // always nil
	}()
	f.files = append(f.files, w)
}

// newNote returns the note about a file, given the note before. A file that an
// earlier run left still belongs to that run's agent.
func (f *follower) newNote(file sessionFile, before runNote, old bool) runNote {
	n := runNote{
		Path: file.path, Session: file.session, Dialect: file.dialect, Home: f.homeOf(file), Images: f.images(file),
		Agent: f.pid, Start: f.startID, Writers: before.Writers,
	}
	if old {
		n.Agent, n.Start = before.Agent, before.Start
	}
	return n
}

// notice handles a notice of the file's follower.
func (f *follower) notice(w *watchedFile, n follow.Notice) {
	select {
	case f.wake <- struct{}{}:
	default:
	}
	switch n.Kind {
	case follow.Away:
		w.away.Store(true)
	case follow.Back:
		w.away.Store(false)
	case follow.Diverged:
		w.diverged.Store(true)
	}
}

// homeOf returns the sessions directory that has the other files of file's session.
func (f *follower) homeOf(file sessionFile) string {
	if file.root.Home != "" || file.root.Path != file.path {
		return cmp.Or(file.root.Home, file.root.Path)
	}
	for _, r := range f.finder.roots {
		if r.Dialect == file.dialect && isBelow(file.path, r.Path) {
			return r.Path
		}
	}
	return filepath.Dir(file.path)
}

// images returns the directory of the images that a file's lines refer to, empty
// if its agent has none.
func (f *follower) images(file sessionFile) string {
	if file.root.Images != "" {
		return file.root.Images
	}
	d, err := dialect.Named(file.dialect)
	if err != nil || d.ImageStore() == "" {
		return ""
	}
	if file.root.Path != file.path {
		return filepath.Join(filepath.Dir(file.root.Path), d.ImageStore())
	}
	dir, _ := f.host.ImageStore(file.dialect, "") // unknown without a home directory
	return dir
}

// keepClaims claims the heads that the agent's lines go to, and detects when a
// claim was taken over, until ctx ends.
func (f *follower) keepClaims(ctx context.Context) {
	tick := time.NewTicker(CheckInterval)
	defer tick.Stop()
	for {
		check := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			check = true
		case <-f.wake:
		}
		for _, w := range f.followed() {
			if check {
				w.claims.check(ctx)
			}
			if at := w.status(); at.Session != "" && f.isOwn(w) {
				w.claims.writer(at.Session, at.Head)
			}
		}
	}
}

func (f *follower) followed() []*watchedFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.files)
}

// isOwn reports whether the agent that runs now writes the file.
func (f *follower) isOwn(w *watchedFile) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !w.old
}

// status returns how much of the file is in the log.
func (w *watchedFile) status() follow.File {
	for _, file := range w.follower.Files() {
		if file.Path == w.file.path {
			return file
		}
	}
	return follow.File{Path: w.file.path}
}

// ownRoots returns where the running agent keeps its sessions, or all roots if its
// name is unknown.
func (f *follower) ownRoots() []follow.Root {
	var own []follow.Root
	for _, r := range f.finder.roots {
		if r.Dialect == f.agent {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return f.finder.roots
	}
	return own
}
