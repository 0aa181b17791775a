package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

const (
	// workers is how many sessions are read at once.
	workers = 4
	// After so many changed sessions, or bytes sent, it is noted how far a run has
	// come.
	noteSessions = 100
	noteBytes    = 32 << 20
	// A node or a bucket that does not answer is asked so often, so far apart.
	tries = 10
	pause = 2 * time.Second
)

// A Taken says what a backup came to.
type Taken struct {
	Run       string    `json:"run"`
	Log       string    `json:"log"`
	Strict    bool      `json:"strict"` // a quorum stood for the ends of all sessions
	Sessions  int       `json:"sessions"`
	Unchanged int       `json:"unchanged"`
	Read      int64     `json:"read"` // bytes of sessions and blobs that the node sent
	Sent      int64     `json:"sent"` // bytes of objects that were written
	Objects   int       `json:"objects"`
	Problems  []Problem `json:"problems"`
	// Gone are sessions of the run before that the log has no trace of.
	Gone []core.SessionID `json:"gone"`
}

// A Taker makes a backup of a node's log.
type Taker struct {
	Node *api.Client
	Repo *Repo
	Host string // where this runs, and who asked for it, for people
	By   string
	Now  func() time.Time
	// Anew has everything read and proved as if there were no earlier runs: what is
	// damaged in the Repo is written again, as far as the log still has it.
	Anew bool

	note   *note
	before *Run // what earlier runs have, the unfinished included
	info   map[core.SessionID]Info

	mu     sync.Mutex
	run    *Run
	report Taken
	fresh  []Session // that changed, since it was last noted how far the run is
	noted  int64     // Sent at that time
}

// Take makes a backup. A session that cannot be read, or not all of it, is a
// problem in the result; the run has it as the run before had it. An error means
// that there is no new run; what was written by then is not written again.
// core.ErrConflict while the Repo is pruned.
func (t *Taker) Take(ctx context.Context) (*Taken, error) {
	var err error
	if t.note, err = t.Repo.enter(ctx, takes, prunes, t.Now); err != nil {
		return nil, err
	}
	defer t.note.leave(ctx)
	ends, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	g, work := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, end := range ends {
		if work.Err() != nil {
			break
		}
		g.Go(func() error { return t.take(work, end) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return t.finish(ctx)
}

// begin finds out what there is and what was there before.
func (t *Taker) begin(ctx context.Context) ([]api.SessionEnd, error) {
	names, err := t.Repo.Runs(ctx)
	if err != nil {
		return nil, err
	}
	id, err := newRunID(uint64(t.Now().UnixMilli()), names)
	if err != nil {
		return nil, err
	}
	t.run = &Run{Format: Format, ID: id, Host: t.Host, By: t.By}
	ends, err := t.ends(ctx)
	if err != nil {
		return nil, err
	}
	if t.before, err = t.latest(ctx, names); err != nil {
		return nil, err
	}
	if t.info, err = listing(ctx, t.Node); err != nil {
		return nil, err
	}
	return ends, nil
}

// ends asks all shards where their sessions end.
func (t *Taker) ends(ctx context.Context) ([]api.SessionEnd, error) {
	var all []api.SessionEnd
	t.report.Strict = true
	for shard, shards := 0, 1; shard < shards; shard++ {
		e, err := t.Node.Ends(ctx, shard)
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

// latest returns the last run, with what later ones that broke off had done.
func (t *Taker) latest(ctx context.Context, names []RunName) (*Run, error) {
	before := &Run{}
	if t.Anew {
		return before, nil
	}
	if len(names) > 0 {
		var err error
		if before, err = t.Repo.Run(ctx, names[len(names)-1]); err != nil {
			return nil, err
		}
		if before.Log != t.run.Log {
			return nil, fmt.Errorf("the backups here are of log %q, this node has log %q; choose another place: %w", before.Log, t.run.Log, core.ErrInvalid)
		}
	}
	partials, err := t.Repo.runs(ctx, partialPrefix)
	if err != nil {
		return nil, err
	}
	byID := map[core.SessionID]Session{}
	for _, s := range before.Sessions {
		byID[s.ID] = s
	}
	for _, n := range partials {
		p, err := t.Repo.Run(ctx, n)
		if errors.Is(err, core.ErrCorrupt) {
			continue // a note that is damaged is none
		}
		if err != nil {
			return nil, err
		}
		if p.Log == t.run.Log && p.ID.Compare(before.ID) > 0 {
			for _, s := range p.Sessions {
				byID[s.ID] = s
			}
		}
	}
	before.Sessions = sorted(byID)
	for i := range before.Sessions {
		t.vouch(&before.Sessions[i])
	}
	return before, nil
}

func sorted(byID map[core.SessionID]Session) []Session {
	all := make([]Session, 0, len(byID))
	for _, s := range byID {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// vouch notes that the objects of s were proved when it was taken.
func (t *Taker) vouch(s *Session) {
	for _, p := range s.Records {
		t.Repo.trust(p.Part)
	}
	for _, p := range []*Part{s.Snapshot, s.Blobs} {
		if p != nil {
			t.Repo.trust(*p)
		}
	}
}

// find returns what earlier runs have of a session, or nil.
func (t *Taker) find(id core.SessionID) *Session {
	i, ok := slices.BinarySearchFunc(t.before.Sessions, id, func(s Session, id core.SessionID) int { return cmp.Compare(s.ID, id) })
	if !ok {
		return nil
	}
	return &t.before.Sessions[i]
}

// take adds a session to the run.
func (t *Taker) take(ctx context.Context, end api.SessionEnd) error {
	prev := t.find(end.Session)
	if prev != nil && prev.Seq == end.Seq && prev.Chain == end.Chain && len(prev.Missing) == 0 {
		return t.add(ctx, *prev, true)
	}
	s, err := t.session(ctx, end, prev)
	for try := 1; errors.Is(err, core.ErrUnavailable) && try < tries; try++ {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		s, err = t.session(ctx, end, prev)
	}
	switch {
	case err == nil:
		return t.add(ctx, *s, false)
	case ctx.Err() != nil, !isDamage(err):
		return err
	}
	t.problem(end.Session, err)
	if prev == nil {
		return nil
	}
	return t.add(ctx, *prev, false)
}

// isDamage tells what is wrong with a session from what is wrong with the node or
// the Repo.
func isDamage(err error) bool {
	if errors.Is(err, core.ErrUnavailable) {
		return false
	}
	for _, damage := range []error{core.ErrCorrupt, core.ErrNotFound, core.ErrLost, core.ErrInvalid} {
		if errors.Is(err, damage) {
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

// add puts a session into the run, and notes now and then how far that is.
func (t *Taker) add(ctx context.Context, s Session, unchanged bool) error {
	if info, ok := t.info[s.ID]; ok {
		s.Info = info
	}
	if err := t.note.still(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run.Sessions = append(t.run.Sessions, s)
	if unchanged {
		t.report.Unchanged++
		return nil
	}
	t.fresh = append(t.fresh, s)
	if len(t.fresh) < noteSessions && t.report.Sent-t.noted < noteBytes {
		return nil
	}
	part := Run{Format: Format, ID: t.run.ID, Log: t.run.Log, Partial: true, Sessions: t.fresh}
	t.fresh, t.noted = nil, t.report.Sent
	_, err := t.Repo.save(ctx, partialPrefix, &part)
	return err
}

// finish writes the run, and takes away what was noted on the way.
func (t *Taker) finish(ctx context.Context) (*Taken, error) {
	slices.SortFunc(t.run.Sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(t.run.Problems, func(a, b Problem) int { return cmp.Compare(a.Session, b.Session) })
	t.run.Ended = t.Now().UTC()
	if err := t.note.still(ctx); err != nil {
		return nil, err
	}
	if _, err := t.Repo.save(ctx, runPrefix, t.run); err != nil {
		return nil, err
	}
	t.Repo.dropPartials(ctx)
	t.report.Run, t.report.Log, t.report.Sessions = t.run.ID.String(), t.run.Log, len(t.run.Sessions)
	t.report.Problems = append([]Problem{}, t.run.Problems...)
	t.report.Gone = t.gone()
	return &t.report, nil
}

// gone names the sessions that the run lacks and the run before had.
func (t *Taker) gone() []core.SessionID {
	gone := []core.SessionID{}
	there := map[core.SessionID]bool{}
	for i := range t.run.Sessions {
		there[t.run.Sessions[i].ID] = true
	}
	for i := range t.before.Sessions {
		if id := t.before.Sessions[i].ID; !there[id] {
			gone = append(gone, id)
		}
	}
	return gone
}

// dropPartials deletes the notes of unfinished runs, where that is allowed: a
// later run is whole, and then nobody reads them.
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

// listing returns what the node's listing says of all sessions.
func listing(ctx context.Context, node *api.Client) (map[core.SessionID]Info, error) {
	infos := map[core.SessionID]Info{}
	for _, deleted := range []bool{false, true} {
		for after := ""; ; {
			page, err := node.List(ctx, api.ListOptions{Deleted: deleted, Limit: 1000, After: after})
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
