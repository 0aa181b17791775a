package follow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sesslog/sesslog/agent/eventdb"
	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/session"
)

// A Config says what to follow and where it goes.
type Config struct {
	// Node is a client of one node of the log, or of several (api.ClientOf).
	Node Node
	// Roots are the directories and files to follow. If two overlap, the first is
	// used.
	Roots []Root
	// State is the directory that remembers how much of each file is in the log. It
	// is created if it does not exist, and only one process can use it at a time. If
	// it is empty, everything is forgotten at Close, and a start compares every file
	// with the log.
	State string
	// Writer returns the writer of a claim that this host has on a head, empty if
	// there is none: lines are written under that claim. Default: none.
	Writer func(id core.SessionID, head string) string
	// Claims claims each head after its first line is stored, while Run runs, in the
	// name of the session's agent on Host. A head that an active writer of another
	// host holds is left to it, and the lines go to a separate head; a claim of Host
	// is shared. A claim is released 3 s after an answer that ended the agent's turn,
	// when no line was written for Idle (default 2 min), when the lines go to a
	// different head, and when Run ends. It is announced until no line was written
	// for 10 s, so that it does not keep others out.
	Claims bool
	Idle   time.Duration
	// Claimed is called after each claim that is made, and Over after its release or
	// loss; optional. They must not call the Follower.
	Claimed func(id core.SessionID, c api.Claimed)
	Over    func(id core.SessionID, head, writer string)
	// Notify receives what users may want to know, from several goroutines but one
	// at a time; optional. It must not call the Follower.
	Notify func(Notice)
	// Secrets says what becomes of secrets in lines. Masked lines are what the log
	// has; State remembers them masked, too.
	Secrets secrets.Policy
	// By and Host are recorded in the log as the origin of the lines.
	By, Host string
	// Rescan is how often all roots are scanned for changes that the system did not
	// report; default 30 s.
	Rescan time.Duration
	Logger *slog.Logger // default: none
}

// A Follower follows files. Its methods are safe for concurrent use.
type Follower struct {
	cfg      Config
	log      session.Log
	state    *stateStore
	breaker  breaker
	scan     *scanner
	images   sentImages
	claims   *claims
	notices  sync.Mutex // held while Notify runs
	renaming sync.Mutex // held while a file takes over the state of another

	mu    sync.Mutex
	files map[string]*file // by path
	queue []*file          // to be examined by a worker, in order
	wake  chan struct{}    // capacity 1: the queue got longer
}

// New makes a Follower and reads its state. It fails if the state directory cannot
// be used or another process uses it; then the error wraps core.ErrHeld. It makes
// no request.
func New(cfg Config) (*Follower, error) {
	if cfg.Node == nil {
		return nil, errors.New("follow: no node")
	}
	if cfg.Rescan <= 0 {
		cfg.Rescan = 30 * time.Second
	}
	if cfg.Idle <= 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Roots = slices.Clone(cfg.Roots)
	for i := range cfg.Roots {
		path, err := filepath.Abs(cfg.Roots[i].Path)
		if err != nil {
			return nil, err
		}
		cfg.Roots[i].Path = path
		if d, err := dialect.Named(cfg.Roots[i].Dialect); err == nil {
			cfg.Roots[i].rules, _ = d.(bundle.Packer)
		}
		if path := databaseOf(&cfg.Roots[i]); path != "" {
			cfg.Roots[i].events = eventdb.At(path)
		}
	}
	state, err := openState(cfg.State)
	if err != nil {
		return nil, err
	}
	fl := &Follower{cfg: cfg, log: cfg.Node.Log(), state: state, files: map[string]*file{}, wake: make(chan struct{}, 1)}
	fl.scan = newScanner(fl)
	fl.claims = newClaims(fl)
	for path, p := range state.places {
		if root := fl.rootOf(path); root != nil && !p.Left {
			fl.newFile(path, root)
		}
	}
	return fl, nil
}

// Close releases the state directory. Run must have returned. Close may be called
// again.
func (fl *Follower) Close() error {
	for _, f := range fl.known() {
		if f.source != nil {
			f.source.close()
		}
	}
	for _, r := range fl.cfg.Roots {
		if r.events != nil {
			_ = r.events.Close()
		}
	}
	return fl.state.close()
}

// sourceOf returns what the session at path is copied from, or nil if it is in one
// file.
func (fl *Follower) sourceOf(path string, r *Root) source {
	if r.events != nil {
		return &eventCopy{db: r.events, id: filepath.Base(path), copy: fl.state.copyPath(path)}
	}
	name, err := filepath.Rel(r.home(), path)
	if r.rules == nil || err != nil {
		return nil
	}
	return &packed{rules: r.rules, home: r.home(), main: filepath.ToSlash(name), copy: fl.state.copyPath(path), secrets: fl.cfg.Secrets}
}

// Run follows files until ctx ends, and then returns nil, after at most five
// seconds for the release of claims. Errors of a file or of the log do not end it.
// Only one Run may be active at a time.
func (fl *Follower) Run(ctx context.Context) error {
	fl.claims.begin()
	defer fl.claims.end(ctx)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { fl.work(ctx) })
	}
	wg.Go(func() { fl.audit(ctx) })
	wg.Go(func() { fl.claims.run(ctx) })
	fl.scan.run(ctx)
	wg.Wait()
	return nil
}

// Flush returns after every line is in the log that was in the files when Flush
// was called, including a last complete line without a newline. If no node
// answers, it waits until ctx ends; then the error wraps that of ctx and says how
// many files wait. A later Flush or Run completes them. Files that cannot be copied
// (see BadFile, Stopped) are skipped. Flush may be called while Run runs, before,
// or after it.
func (fl *Follower) Flush(ctx context.Context) error {
	fl.scan.scan()
	files := fl.known()
	slices.SortFunc(files, func(x, y *file) int { return cmp.Compare(x.path, y.path) })
	return fl.flush(ctx, files)
}

// A File is the state of a followed file.
type File struct {
	Path    string         `json:"path"`
	Copy    string         `json:"copy,omitempty"`  // with the lines of all files of the session, if they are several; Offset and Waiting are about it
	Session core.SessionID `json:"session"`         // empty until it has one
	Dialect string         `json:"dialect"`         // of the session
	Head    string         `json:"head"`            // where its lines go
	Cursor  core.Cursor    `json:"seq"`             // of the session, when the file was last in step
	Offset  int64          `json:"offset"`          // bytes of it that are in the log
	Waiting int64          `json:"waiting"`         // bytes after those, when it was last examined
	Error   string         `json:"error,omitempty"` // why it is not copied
}

// Files returns the followed files, by path, including those without a session.
func (fl *Follower) Files() []File {
	files := fl.known()
	out := make([]File, 0, len(files))
	for _, f := range files {
		out = append(out, f.status())
	}
	slices.SortFunc(out, func(x, y File) int { return cmp.Compare(x.Path, y.Path) })
	return out
}

func (fl *Follower) known() []*file {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	files := make([]*file, 0, len(fl.files))
	for _, f := range fl.files {
		files = append(files, f)
	}
	return files
}

// rootOf returns the root that contains path, or nil.
func (fl *Follower) rootOf(path string) *Root {
	for i := range fl.cfg.Roots {
		if r := &fl.cfg.Roots[i]; r.contains(path) {
			return r
		}
	}
	return nil
}

// newFile starts to follow a file. fl.mu is held.
func (fl *Follower) newFile(path string, r *Root) *file {
	f := &file{path: path, root: r, mu: newLock(), place: fl.state.at(path), source: fl.sourceOf(path, r)}
	f.place.Left = false
	if path == r.Path && r.Head != "" && r.Head != f.place.Head {
		f.place.Head, f.place.Leaf = r.Head, core.Leaf{}
		fl.requireCompare(f)
	}
	f.shown, f.unverified = f.place, f.place.Quick
	fl.files[path] = f
	return f
}

func (fl *Follower) follows(f *file) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.files[f.path] == f
}

// anyOther reports whether match is true for the shown place of a file other than
// f.
func (fl *Follower) anyOther(f *file, match func(place) bool) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for _, other := range fl.files {
		if other != f && match(other.shownPlace()) {
			return true
		}
	}
	return false
}

func (fl *Follower) notify(n Notice) {
	fl.cfg.Logger.Info(n.Text, "kind", n.Kind, "path", n.Path, "session", n.Session, "err", n.Err)
	if fl.cfg.Notify == nil {
		return
	}
	fl.notices.Lock()
	defer fl.notices.Unlock()
	fl.cfg.Notify(n)
}
