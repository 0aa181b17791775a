package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/session"
)

// A following brings what one agent writes into the log while it runs. It says
// nothing meanwhile: the terminal is the agent's.
type following struct {
	a      *app
	node   *api.Client
	herald *session.Herald
	finder *finder
	runs   runs
	agent  string // its command's name, for messages
	pid    int
	began  string // its startOf

	mu     sync.Mutex // of what follows
	trails []*trail
	busy   map[string]agentsFile // others that run here follow them

	wake chan struct{} // has room for one: a head may want to be claimed
	stop context.CancelFunc
	wait sync.WaitGroup
}

// A trail is one session file that is followed.
type trail struct {
	file     agentsFile
	follower *follow.Follower
	holds    *holds
	note     runNote
	old      bool // an earlier run left it; this agent does not write it
	away     atomic.Bool
	parted   atomic.Bool

	cancel context.CancelFunc
	done   chan struct{}
}

// newFollowing looks at what is there before the agent begins.
func (a *app) newFollowing(node *api.Client, argv []string, o runOptions) *following {
	dir := o.dir
	if dir == "" {
		dir, _ = os.Getwd() // without one no file is of here
	}
	return &following{
		a: a, node: node, herald: node.Herald(), runs: a.runs(), agent: filepath.Base(argv[0]),
		finder: newFinder(follow.AgentRoots(a.env, dir), dir, argv), busy: map[string]agentsFile{},
		wake: make(chan struct{}, 1),
	}
}

// start follows what the process pid writes, what it is known to write, and what
// earlier runs have left.
func (f *following) start(ctx context.Context, pid int, o runOptions) {
	ctx, f.stop = context.WithCancel(ctx)
	f.pid, f.began = pid, startOf(pid)
	if o.file != "" {
		f.finder.found[o.file] = true
		f.follow(ctx, agentsFile{path: o.file, root: f.fileRoot(o.file, o.dialect), session: o.session, dialect: o.dialect}, o.claim, false)
	}
	f.wait.Go(func() {
		for _, n := range f.runs.left(f.a.now()) {
			f.follow(ctx, n.file(), nil, true)
		}
		f.find(ctx)
	})
	f.wait.Go(func() { f.keepClaims(ctx) })
}

// How often it is looked for files. Looking may take no more than a twentieth of
// a processor until the first is found, and then, as agents seldom begin
// another, a hundredth.
const (
	lookSoon, lookSoonShare   = 50 * time.Millisecond, 20
	lookLater, lookLaterShare = 500 * time.Millisecond, 100
)

func (f *following) find(ctx context.Context) {
	for {
		began := time.Now()
		f.look(ctx, f.pid)
		took := time.Since(began)
		pause := max(lookSoon, lookSoonShare*took)
		if f.any() {
			pause = max(lookLater, lookLaterShare*took)
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// any reports whether a file of this agent's is followed.
func (f *following) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.trails {
		if !t.old {
			return true
		}
	}
	return false
}

func (f *following) look(ctx context.Context, pid int) {
	fresh := f.finder.look(pid)
	f.mu.Lock()
	for _, file := range f.busy {
		fresh = append(fresh, file)
	}
	f.mu.Unlock()
	for _, file := range fresh {
		f.follow(ctx, file, nil, false)
	}
}

// follow begins to follow a file. One that another run on this host follows is
// left to it until it ends.
func (f *following) follow(ctx context.Context, file agentsFile, claim *api.Claimed, old bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.trails {
		if t.file.path == file.path {
			t.old = t.old && old
			return
		}
	}
	t := &trail{file: file, old: old, done: make(chan struct{})}
	before, _ := f.runs.load(file.path)
	t.note = f.newNote(file, before, old)
	t.holds = newHolds(f.a, f.node, f.herald, file.session, file.dialect, before.Writers, func(mine []string) {
		t.note.Writers = mine
		_ = f.runs.save(t.note) // without it they end with somebody else's claim
	})
	by, host := f.a.whoami()
	var err error
	t.follower, err = follow.New(follow.Config{
		Node:   f.node,
		Roots:  []follow.Root{{Path: file.path, Dialect: file.dialect, Images: t.note.Images}},
		State:  f.runs.state(file.path),
		Writer: t.holds.writer, Notify: func(n follow.Notice) { f.hear(t, n) },
		By: by, Host: host,
	})
	if errors.Is(err, core.ErrHeld) {
		if !old {
			f.busy[file.path] = file
		}
		return
	}
	if err != nil { // then nothing is remembered
		t.follower, err = follow.New(follow.Config{
			Node: f.node, Roots: []follow.Root{{Path: file.path, Dialect: file.dialect, Images: t.note.Images}},
			Writer: t.holds.writer, Notify: func(n follow.Notice) { f.hear(t, n) }, By: by, Host: host,
		})
		if err != nil {
			return
		}
	}
	delete(f.busy, file.path)
	_ = f.runs.save(t.note) // without it the lines wait in the file until somebody follows it
	if claim != nil {
		t.holds.has(*claim)
	}
	ctx, t.cancel = context.WithCancel(ctx)
	go func() {
		defer close(t.done)
		_ = t.follower.Run(ctx) // it is always nil
	}()
	f.trails = append(f.trails, t)
}

// newNote is what is noted of a file, of which before is known. One that an earlier
// run left is that run's agent's still.
func (f *following) newNote(file agentsFile, before runNote, old bool) runNote {
	n := runNote{
		Path: file.path, Session: file.session, Dialect: file.dialect, Images: f.images(file),
		Agent: f.pid, Start: f.began, Writers: before.Writers,
	}
	if old {
		n.Agent, n.Start = before.Agent, before.Start
	}
	return n
}

// hear takes what the follower tells.
func (f *following) hear(t *trail, n follow.Notice) {
	select {
	case f.wake <- struct{}{}:
	default:
	}
	switch n.Kind {
	case follow.Away:
		t.away.Store(true)
	case follow.Back:
		t.away.Store(false)
	case follow.Parted:
		t.parted.Store(true)
	}
}

// fileRoot is how a file is followed that is known by its path alone.
func (f *following) fileRoot(path, dialect string) follow.Root {
	return follow.Root{Path: path, Dialect: dialect}
}

// images is the folder with images that a file's lines refer to, empty where its
// agent has none.
func (f *following) images(file agentsFile) string {
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
	dir, _ := f.a.imageStore(file.dialect, "") // there is none without a home
	return dir
}

// keepClaims has the heads claimed that the agent's lines go to, and finds out
// when somebody takes one over, until ctx ends.
func (f *following) keepClaims(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
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
		for _, t := range f.followed() {
			if check {
				t.holds.check(ctx)
			}
			if at := t.status(); at.Session != "" && f.isOwn(t) {
				t.holds.writer(at.Session, at.Head)
			}
		}
	}
}

// followed are the files that are followed now.
func (f *following) followed() []*trail {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.trails)
}

// isOwn reports whether the agent that runs now writes the file.
func (f *following) isOwn(t *trail) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !t.old
}

// status is how far the file is in the log.
func (t *trail) status() follow.File {
	for _, file := range t.follower.Files() {
		if file.Path == t.file.path {
			return file
		}
	}
	return follow.File{Path: t.file.path}
}
