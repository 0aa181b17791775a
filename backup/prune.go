package backup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
)

// Keep says which runs a prune leaves. At least one limit must be set; a run that
// one of them keeps is kept.
type Keep struct {
	Last   int           // so many of the latest
	Within time.Duration // those that began no longer ago than this
}

// Pruned says what a prune took away or, where it was not applied, would.
type Pruned struct {
	Applied bool     `json:"applied"`
	Kept    int      `json:"kept"`    // runs
	Dropped []string `json:"dropped"` // runs, the oldest first
	Objects int      `json:"objects"` // that no kept run names
	Bytes   int64    `json:"bytes"`   // of these
}

// Prune drops the runs that keep does not keep, and then all objects that no kept
// run names. The latest run is always kept. All kept runs are read first, with
// their lists of blobs: where one of them is damaged, nothing is touched.
// core.ErrConflict while a backup is made here. Without apply it says what it
// would do. It may be killed at any time, and done again.
func (r *Repo) Prune(ctx context.Context, keep Keep, apply bool, now func() time.Time) (*Pruned, error) {
	if keep.Last < 0 || keep.Within < 0 || keep.Last == 0 && keep.Within == 0 {
		return nil, fmt.Errorf("say how many runs are kept, or for how long: %w", core.ErrInvalid)
	}
	p := &pruning{repo: r, named: map[string]bool{}, Pruned: Pruned{Applied: apply, Dropped: []string{}}}
	if apply {
		var err error
		if p.note, err = r.enter(ctx, prunes, takes, now); err != nil {
			return nil, err
		}
		defer p.note.leave(ctx)
	}
	names, err := r.Runs(ctx)
	if err != nil {
		return nil, err
	}
	var drop []RunName
	for i, n := range names {
		if i < len(names)-max(keep.Last, 1) && (keep.Within == 0 || n.ID.Timestamp().Before(now().Add(-keep.Within))) {
			drop = append(drop, n)
			p.Dropped = append(p.Dropped, n.ID.String())
			continue
		}
		p.Kept++
		if err := p.keep(ctx, n); err != nil {
			return nil, fmt.Errorf("nothing was touched, for backup %s is to be kept and cannot be read: %w", n.ID, err)
		}
	}
	if err := p.keepPartials(ctx); err != nil {
		return nil, err
	}
	// Runs first: one that lacks objects must not be listed.
	for _, n := range drop {
		if err := p.delete(ctx, n.key); err != nil {
			return &p.Pruned, err
		}
	}
	return &p.Pruned, p.sweep(ctx)
}

// A pruning is a prune on its way.
type pruning struct {
	Pruned
	repo  *Repo
	note  *note           // nil where nothing is to be done
	named map[string]bool // keys of objects that stay
}

// keep notes what a run names.
func (p *pruning) keep(ctx context.Context, n RunName) error {
	run, err := p.repo.Run(ctx, n)
	if err != nil {
		return err
	}
	for i := range run.Sessions {
		if p.Applied {
			if err := p.note.still(ctx); err != nil {
				return err
			}
		}
		if err := p.keepSession(ctx, &run.Sessions[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *pruning) keepSession(ctx context.Context, s *Session) error {
	for _, piece := range s.Records {
		p.named[piece.Key()] = true
	}
	if s.Snapshot != nil {
		p.named[s.Snapshot.Key()] = true
	}
	if s.Blobs == nil || p.named[s.Blobs.Key()] { // the same list names the same blobs
		return nil
	}
	blobs, err := p.repo.list(ctx, *s.Blobs)
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	p.named[s.Blobs.Key()] = true
	for _, b := range blobs {
		p.named[b.Key()] = true
	}
	return nil
}

// keepPartials keeps what a backup that broke off has, for the next goes on with
// it. A note that is damaged is none.
func (p *pruning) keepPartials(ctx context.Context) error {
	names, err := p.repo.runs(ctx, partialPrefix)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := p.keep(ctx, n); err != nil && !isDamage(err) {
			return err
		}
	}
	return nil
}

// sweep takes away the objects that nothing names.
func (p *pruning) sweep(ctx context.Context) error {
	for info, err := range p.repo.bucket.List(ctx, "objects/") {
		if err != nil {
			return away(err)
		}
		if p.named[info.Key] || strings.Count(info.Key, "/") != 2 {
			continue
		}
		p.Objects++
		p.Bytes += info.Size
		if err := p.delete(ctx, info.Key); err != nil {
			return err
		}
	}
	return nil
}

func (p *pruning) delete(ctx context.Context, key string) error {
	if !p.Applied {
		return nil
	}
	if err := p.note.still(ctx); err != nil {
		return err
	}
	return away(p.repo.bucket.Delete(ctx, key))
}
