package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session/catalog"
)

const (
	// workers is how many sessions are read concurrently.
	workers = 4
	// The progress of a run is saved after this many changed sessions, or bytes
	// written.
	saveSessions = 100
	saveBytes    = 32 << 20
	// A read is tried this often while the node or the bucket is unavailable, as
	// after the loss of a member of a cluster.
	attempts   = 10
	retryPause = 2 * time.Second
)

// Taken is the result of a backup.
type Taken struct {
	Run       string    `json:"run"`
	Log       string    `json:"log"`
	Strict    bool      `json:"strict"` // a quorum confirmed the ends of all sessions
	Sessions  int       `json:"sessions"`
	Unchanged int       `json:"unchanged"`
	Read      int64     `json:"read"` // bytes read from the node
	Sent      int64     `json:"sent"` // bytes written to the Repo
	Objects   int       `json:"objects"`
	Problems  []Problem `json:"problems"`
	// Gone lists the sessions of the previous run that the log does not have.
	Gone []core.SessionID `json:"gone"`
}

// A Taker makes one backup of a node's log.
type Taker struct {
	Node *client.Client
	Repo *Repo
	Host string // where this runs, and who requested it; informational
	By   string
	Now  func() time.Time
	// Full reads and verifies everything as if there were no earlier runs. It
	// rewrites corrupt objects in the Repo, as far as the log still has the data.
	Full bool
	// Progress reports how many sessions are done, of how many. It may be called
	// concurrently. Optional.
	Progress func(done, total int)

	lock *lock
	prev *Run // the sessions of earlier runs, including unfinished ones
	info map[core.SessionID]Info

	mu      sync.Mutex
	run     *Run
	report  Taken
	unsaved []Session // changed since the progress was saved
	saved   int64     // report.Sent at that time
}

// Take makes the backup. A session that cannot be read completely is a problem in
// the result; the run then has it as the previous run had it. After an error there
// is no new run, and the next Take reuses the objects written so far. Take returns
// core.ErrConflict while a prune is running.
func (t *Taker) Take(ctx context.Context) (*Taken, error) {
	var err error
	if t.lock, err = t.Repo.lock(ctx, backupLock, pruneLock, t.Now); err != nil {
		return nil, err
	}
	defer t.lock.release(ctx)
	ends, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	var done atomic.Int64
	for _, end := range ends {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			defer func() { t.progress(int(done.Add(1)), len(ends)) }()
			return t.take(gctx, end)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return t.finish(ctx)
}

func (t *Taker) progress(done, total int) {
	if t.Progress != nil {
		t.Progress(done, total)
	}
}

// begin starts the run and returns the ends of all sessions.
func (t *Taker) begin(ctx context.Context) ([]api.SessionEnd, error) {
	names, err := t.Repo.Runs(ctx)
	if err != nil {
		return nil, err
	}
	id, err := newRunID(uint64(t.Now().UnixMilli()), names)
	if err != nil {
		return nil, err
	}
	t.run = &Run{Format: format, ID: id, Host: t.Host, By: t.By}
	ends, err := t.ends(ctx)
	if err != nil {
		return nil, err
	}
	if t.prev, err = t.previous(ctx, names); err != nil {
		return nil, err
	}
	if t.info, err = listing(ctx, t.Node); err != nil {
		return nil, err
	}
	return ends, nil
}

// ends reads the ends of the sessions of all shards.
func (t *Taker) ends(ctx context.Context) ([]api.SessionEnd, error) {
	var all []api.SessionEnd
	t.report.Strict = true
	for shard, shards := 0, 1; shard < shards; shard++ {
		var e api.ShardEnds
		err := again(ctx, func() (err error) { e, err = t.Node.Ends(ctx, shard); return err })
		if err != nil {
			return nil, err
		}
		shards, t.run.Log = e.Shards, e.Log
		t.run.Shards = append(t.run.Shards, ShardEnd{At: e.At, Strict: e.Strict})
		t.report.Strict = t.report.Strict && e.Strict
		all = append(all, e.Sessions...)
	}
	slices.SortFunc(all, func(a, b api.SessionEnd) int { return cmp.Compare(a.Session, b.Session) })
	return all, nil
}

// previous returns the latest run, updated with the progress of later unfinished
// ones, and trusts the objects of its sessions.
func (t *Taker) previous(ctx context.Context, names []RunName) (*Run, error) {
	prev := &Run{}
	if t.Full {
		return prev, nil
	}
	if len(names) > 0 {
		var err error
		if prev, err = t.Repo.Run(ctx, names[len(names)-1]); err != nil {
			return nil, err
		}
		if prev.Log != t.run.Log {
			return nil, fmt.Errorf("this place has backups of log %q, but the node has log %q; use another place: %w", prev.Log, t.run.Log, core.ErrInvalid)
		}
	}
	partials, err := t.Repo.runs(ctx, partialPrefix)
	if err != nil {
		return nil, err
	}
	byID := map[core.SessionID]Session{}
	for _, s := range prev.Sessions {
		byID[s.ID] = s
	}
	for _, n := range partials {
		p, err := t.Repo.Run(ctx, n)
		if errors.Is(err, core.ErrCorrupt) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if p.Log == t.run.Log && p.ID.Compare(prev.ID) > 0 {
			for _, s := range p.Sessions {
				byID[s.ID] = s
			}
		}
	}
	prev.Sessions = slices.SortedFunc(maps.Values(byID), compareSessions)
	for i := range prev.Sessions {
		t.Repo.trust(prev.Sessions[i].parts()...)
	}
	return prev, nil
}

func compareSessions(a, b Session) int { return cmp.Compare(a.ID, b.ID) }

// again calls read until it succeeds, fails permanently, or was tried often enough.
func again(ctx context.Context, read func() error) error {
	err := read()
	for n := 1; errors.Is(err, core.ErrUnavailable) && n < attempts; n++ {
		if waitErr := retry.Wait(ctx, retryPause); waitErr != nil {
			return waitErr
		}
		err = read()
	}
	return err
}

// take adds a session to the run.
func (t *Taker) take(ctx context.Context, end api.SessionEnd) error {
	prev := t.prev.Session(end.Session)
	if prev != nil && prev.Seq == end.Seq && prev.Chain == end.Chain && len(prev.Missing) == 0 {
		return t.add(ctx, *prev, true)
	}
	var s *Session
	err := again(ctx, func() (err error) { s, err = t.session(ctx, end, prev); return err })
	switch {
	case err == nil:
		return t.add(ctx, *s, false)
	case ctx.Err() != nil, !isSessionError(err):
		return err
	}
	t.problem(end.Session, err)
	if prev == nil {
		return nil
	}
	return t.add(ctx, *prev, false)
}

// isSessionError distinguishes an error of one session from one of the node or the
// Repo, which ends the backup.
func isSessionError(err error) bool {
	if errors.Is(err, core.ErrUnavailable) {
		return false
	}
	for _, target := range []error{core.ErrCorrupt, core.ErrNotFound, core.ErrLost, core.ErrInvalid} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func (t *Taker) problem(id core.SessionID, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run.Problems = append(t.run.Problems, Problem{id, err.Error()})
}

// put writes an object and counts it.
func (t *Taker) put(ctx context.Context, b []byte) (Part, error) {
	p, sent, err := t.Repo.put(ctx, b)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Sent += sent
	if sent > 0 {
		t.report.Objects++
	}
	return p, err
}

// countRead counts bytes read from the node.
func (t *Taker) countRead(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Read += int64(n)
}

// add adds a session to the run, and saves the progress if that is due.
func (t *Taker) add(ctx context.Context, s Session, unchanged bool) error {
	if info, ok := t.info[s.ID]; ok {
		s.Info = info
	}
	if err := t.lock.refresh(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run.Sessions = append(t.run.Sessions, s)
	if unchanged {
		t.report.Unchanged++
		return nil
	}
	t.unsaved = append(t.unsaved, s)
	if len(t.unsaved) < saveSessions && t.report.Sent-t.saved < saveBytes {
		return nil
	}
	part := Run{Format: format, ID: t.run.ID, Log: t.run.Log, Partial: true, Sessions: t.unsaved}
	t.unsaved, t.saved = nil, t.report.Sent
	err := t.Repo.save(ctx, partialPrefix, &part)
	return err
}

// finish writes the run and deletes the saved progress.
func (t *Taker) finish(ctx context.Context) (*Taken, error) {
	slices.SortFunc(t.run.Sessions, compareSessions)
	slices.SortFunc(t.run.Problems, func(a, b Problem) int { return cmp.Compare(a.Session, b.Session) })
	t.run.Ended = t.Now().UTC()
	if err := t.lock.refresh(ctx); err != nil {
		return nil, err
	}
	if err := t.Repo.save(ctx, runPrefix, t.run); err != nil {
		return nil, err
	}
	t.Repo.dropPartials(ctx)
	t.report.Run, t.report.Log, t.report.Sessions = t.run.ID.String(), t.run.Log, len(t.run.Sessions)
	t.report.Problems = append([]Problem{}, t.run.Problems...)
	t.report.Gone = []core.SessionID{}
	for i := range t.prev.Sessions {
		if id := t.prev.Sessions[i].ID; t.run.Session(id) == nil {
			t.report.Gone = append(t.report.Gone, id)
		}
	}
	return &t.report, nil
}

// dropPartials deletes the progress of unfinished runs, which a complete run makes
// obsolete. It may lack the permission.
func (r *Repo) dropPartials(ctx context.Context) {
	names, err := r.runs(ctx, partialPrefix)
	if err != nil {
		return
	}
	for _, n := range names {
		if r.bucket.Delete(ctx, n.key) != nil {
			return
		}
	}
}

// listing returns the Info of all sessions from the node's listing.
func listing(ctx context.Context, node *client.Client) (map[core.SessionID]Info, error) {
	infos := map[core.SessionID]Info{}
	for _, deleted := range []bool{false, true} {
		for after := ""; ; {
			page, err := node.List(ctx, catalog.Filter{Deleted: deleted, Limit: 1000, After: after})
			if err != nil {
				return nil, err
			}
			for _, r := range page.Sessions {
				infos[r.ID] = Info{
					Dialect: r.Dialect, CWD: r.CWD, Name: cmp.Or(r.Name, r.First), Entries: r.Entries,
					Modified: cmp.Or(r.Modified, r.Created), Deleted: r.Deleted && !r.Erased,
				}
			}
			if page.Next == "" || page.Next == after {
				break
			}
			after = page.Next
		}
	}
	return infos, nil
}
