package backup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
)

// Keep selects the runs that a prune keeps. At least one limit must be set; a run
// is kept if either limit includes it.
type Keep struct {
	Last   int           // the number of latest runs
	Within time.Duration // runs that began within this time
}

// Pruned is the result of Prune: what it deleted or, without apply, would delete.
type Pruned struct {
	Applied bool     `json:"applied"`
	Kept    int      `json:"kept"`    // number of runs
	Dropped []string `json:"dropped"` // runs, oldest first
	Objects int      `json:"objects"` // not referenced by a kept run
	Bytes   int64    `json:"bytes"`   // of these objects
}

// Prune deletes the runs that keep does not select, and then all objects that no
// kept run references. It always keeps the latest run. It first reads all kept
// runs and their lists of blobs, and deletes nothing if one is corrupt. It returns
// core.ErrConflict while a backup is running. Without apply it only reports. An
// interrupted Prune can be run again.
func (r *Repo) Prune(ctx context.Context, keep Keep, apply bool, now func() time.Time) (*Pruned, error) {
	if keep.Last < 0 || keep.Within < 0 || keep.Last == 0 && keep.Within == 0 {
		return nil, fmt.Errorf("set how many runs to keep, or for how long: %w", core.ErrInvalid)
	}
	p := &pruner{repo: r, referenced: map[string]bool{}, Pruned: Pruned{Applied: apply, Dropped: []string{}}}
	if apply {
		var err error
		if p.lock, err = r.lock(ctx, pruneLock, backupLock, now); err != nil {
			return nil, err
		}
		defer p.lock.release(ctx)
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
		if err := p.markRun(ctx, n); err != nil {
			return nil, fmt.Errorf("nothing was deleted: cannot read backup %s, which is to be kept: %w", n.ID, err)
		}
	}
	if err := p.markPartials(ctx); err != nil {
		return nil, err
	}
	// Delete runs first, so that no listed run lacks objects.
	for _, n := range drop {
		if err := p.delete(ctx, n.key); err != nil {
			return &p.Pruned, err
		}
	}
	return &p.Pruned, p.sweep(ctx)
}

type pruner struct {
	Pruned
	repo       *Repo
	lock       *lock           // nil unless Applied
	referenced map[string]bool // keys of objects to keep
}

// markRun marks the objects of a run as referenced.
func (p *pruner) markRun(ctx context.Context, n RunName) error {
	run, err := p.repo.Run(ctx, n)
	if err != nil {
		return err
	}
	for i := range run.Sessions {
		if p.Applied {
			if err := p.lock.refresh(ctx); err != nil {
				return err
			}
		}
		if err := p.markSession(ctx, &run.Sessions[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *pruner) markSession(ctx context.Context, s *Session) error {
	for _, piece := range s.Records {
		p.referenced[piece.Key()] = true
	}
	if s.Snapshot != nil {
		p.referenced[s.Snapshot.Key()] = true
	}
	if s.Blobs == nil || p.referenced[s.Blobs.Key()] { // the same list has the same blobs
		return nil
	}
	blobs, err := p.repo.list(ctx, *s.Blobs)
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	p.referenced[s.Blobs.Key()] = true
	for _, b := range blobs {
		p.referenced[b.Key()] = true
	}
	return nil
}

// markPartials marks the objects of unfinished runs, because the next backup
// reuses them. It ignores corrupt ones.
func (p *pruner) markPartials(ctx context.Context) error {
	names, err := p.repo.runs(ctx, partialPrefix)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := p.markRun(ctx, n); err != nil && !isSessionError(err) {
			return err
		}
	}
	return nil
}

// sweep deletes the unreferenced objects.
func (p *pruner) sweep(ctx context.Context) error {
	for info, err := range p.repo.bucket.List(ctx, "objects/") {
		if err != nil {
			return mapError(err)
		}
		if p.referenced[info.Key] || strings.Count(info.Key, "/") != 2 {
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

func (p *pruner) delete(ctx context.Context, key string) error {
	if !p.Applied {
		return nil
	}
	if err := p.lock.refresh(ctx); err != nil {
		return err
	}
	return mapError(p.repo.bucket.Delete(ctx, key))
}
