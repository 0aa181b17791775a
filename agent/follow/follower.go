package follow

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A Node is the part of the API client that this package uses. *api.Client
// implements it.
type Node interface {
	Log() session.Log
	Announcer() *session.Announcer
	Append(ctx context.Context, id string, lines []byte, o api.AppendOptions) (api.Appended, error)
	Amend(ctx context.Context, id, entry string, line []byte, o api.AppendOptions) (api.Amended, error)
	Move(ctx context.Context, id, head string, r api.MoveRequest, writer string) (api.Info, error)
	Import(ctx context.Context, file io.Reader, size int64, o api.ImportOptions) (api.Imported, error)
	PutBlob(ctx context.Context, b []byte) error
	Claim(ctx context.Context, id string, r api.ClaimRequest) (api.Claimed, error)
	Release(ctx context.Context, id, head, writer string) error
	Heads(ctx context.Context, id string) (api.Heads, error)
	Follow(ctx context.Context, id string, after core.Cursor, wait bool, f func(api.Event) error) error
	List(ctx context.Context, o api.ListOptions) (api.List, error)
}

// A Config says what to follow and where it goes.
type Config struct {
	// Node is a client of one node of the log, or of several (api.ClientOf).
	Node Node
	// Roots are what is followed. Of roots that overlap the first counts.
	Roots []Root
	// State is the directory with what is remembered of files between runs. It is
	// made where it is absent; one process has it at a time. Empty: nothing is
	// remembered beyond Close, and a start compares every file with the log.
	State string
	// Writer returns the claim that this host has on a head of a session, empty
	// for none: lines are written in its name. nil: it has none.
	Writer func(id core.SessionID, head string) string
	// Claims has the heads claimed that lines come for, after the first of them,
	// while Run runs: in the name of the session's agent on Host, for others to
	// see. A head that another host holds who is there is left to them, and the
	// lines get one of their own; a claim of Host's own is shared. Claims are
	// released when no line has come for Idle (default 2 min), when the lines go
	// to another head, and when Run ends.
	Claims bool
	Idle   time.Duration
	// Claimed is told of each claim that is made, and Over when it is released or
	// lost; optional. They must not call the Follower.
	Claimed func(id core.SessionID, c api.Claimed)
	Over    func(id core.SessionID, head, writer string)
	// Notify is told what people may want to know, from several goroutines but
	// never two at once. It must not call the Follower. nil: nobody is told.
	Notify func(Notice)
	// By and Host say in the log who brought the lines in.
	By, Host string
	// Rescan is how often all roots are looked at as a whole, for changes of
	// which the system told nothing; default 30 s.
	Rescan time.Duration
	Logger *slog.Logger // default: none
}

// A Follower follows files. Its methods may be called from several goroutines.
type Follower struct {
	cfg      Config
	log      session.Log
	memory   *memory
	gate     gate
	scan     *scanner
	images   images
	claims   *claims
	told     sync.Mutex // held while Notify runs
	adopting sync.Mutex // held while a file takes over what is remembered of another

	mu    sync.Mutex
	files map[string]*file // by path
	dirty []*file          // that a worker is to look at, in order
	wake  chan struct{}    // has room for one: dirty got longer
}

// New makes a Follower and reads what it remembers. It fails where the state
// directory cannot be used or another process has it; it asks no node anything.
func New(cfg Config) (*Follower, error) {
	if cfg.Node == nil {
		return nil, errors.New("follow: no node")
	}
	if cfg.Rescan <= 0 {
		cfg.Rescan = 30 * time.Second
	}
	if cfg.Idle <= 0 {
		cfg.Idle = idleAfter
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
	}
	m, err := openMemory(cfg.State)
	if err != nil {
		return nil, err
	}
	b := &Follower{cfg: cfg, log: cfg.Node.Log(), memory: m, files: map[string]*file{}, wake: make(chan struct{}, 1)}
	b.scan = newScanner(b)
	b.claims = newClaims(b)
	for path, p := range m.places {
		if root := b.rootOf(path); root != nil && !p.Left {
			b.files[path] = &file{path: path, root: root, mu: newLock(), place: *p, shown: *p, quick: p.Quick}
		}
	}
	return b, nil
}

// Close gives up the state directory. Run must have returned. It may be called
// again.
func (b *Follower) Close() error { return b.memory.close() }

// Run follows until ctx ends, and returns nil then, after five seconds at most
// for the claims that are to be released. Nothing that is wrong with a file or
// with the log ends it. A Follower runs once at a time.
func (b *Follower) Run(ctx context.Context) error {
	b.claims.begin()
	defer b.claims.end(ctx)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { b.work(ctx) })
	}
	wg.Go(func() { b.audit(ctx) })
	wg.Go(func() { b.claims.run(ctx) })
	b.scan.run(ctx)
	wg.Wait()
	return nil
}

// Flush returns when every line is in the log that was in the files when it was
// called, also a last line that is whole and lacks its newline. It waits for a
// node that is away until ctx ends: then the error is ctx's, and tells how many
// files wait; they are brought in by the next Flush or Run. Files that cannot be
// brought in (see BadFile, Stopped) do not hold it up. It may be called while Run
// runs, before, or after it.
func (b *Follower) Flush(ctx context.Context) error {
	b.scan.look()
	b.mu.Lock()
	files := make([]*file, 0, len(b.files))
	for _, f := range b.files {
		files = append(files, f)
	}
	b.mu.Unlock()
	slices.SortFunc(files, func(x, y *file) int { return cmpString(x.path, y.path) })
	return b.flush(ctx, files)
}

// A File is a followed file, as far as it was brought in.
type File struct {
	Path    string         `json:"path"`
	Session core.SessionID `json:"session"`         // empty while it is none
	Dialect string         `json:"dialect"`         // of the session
	Head    string         `json:"head"`            // that its lines are on
	Cursor  core.Cursor    `json:"seq"`             // of the session, when the file was last in step with it
	Offset  int64          `json:"offset"`          // bytes of it that are in the log
	Waiting int64          `json:"waiting"`         // bytes behind those when it was last looked at
	Error   string         `json:"error,omitempty"` // why it is not brought in
}

// Files returns what is followed, by path: which session each file became, and
// how far it is in the log. Files without a session yet are among them.
func (b *Follower) Files() []File {
	b.mu.Lock()
	files := make([]*file, 0, len(b.files))
	for _, f := range b.files {
		files = append(files, f)
	}
	b.mu.Unlock()
	out := make([]File, 0, len(files))
	for _, f := range files {
		out = append(out, f.status())
	}
	slices.SortFunc(out, func(x, y File) int { return cmpString(x.Path, y.Path) })
	return out
}

// rootOf is the root that path belongs to, nil for none.
func (b *Follower) rootOf(path string) *Root {
	for i := range b.cfg.Roots {
		if r := &b.cfg.Roots[i]; r.has(path) {
			return r
		}
	}
	return nil
}

func (b *Follower) notify(n Notice) {
	b.cfg.Logger.Info(n.Text, "kind", n.Kind, "path", n.Path, "session", n.Session, "err", n.Err)
	if b.cfg.Notify == nil {
		return
	}
	b.told.Lock()
	defer b.told.Unlock()
	b.cfg.Notify(n)
}
