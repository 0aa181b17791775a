package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Checked says what a verification found.
type Checked struct {
	Run      string    `json:"run"`
	Sessions int       `json:"sessions"`
	Objects  int       `json:"objects"` // that were read and compared
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"`
}

// Verify reads everything that a run is made of, and proves it: digests, the
// chains of records, snapshots against their manifests. It needs nothing but the
// Repo. Damage is in the result, by session; the error is that of the bucket.
func (r *Repo) Verify(ctx context.Context, run *Run) (*Checked, error) {
	c := &checking{repo: r, seen: map[core.Digest]bool{}, Checked: Checked{Run: run.ID.String(), Problems: []Problem{}}}
	for i := range run.Sessions {
		s := &run.Sessions[i]
		c.Sessions++
		err := c.session(ctx, run.Log, s)
		if err != nil && !errors.Is(err, core.ErrCorrupt) {
			return nil, err
		}
		if err != nil {
			c.Problems = append(c.Problems, Problem{s.ID, err.Error()})
		}
		for _, d := range s.Missing {
			c.Problems = append(c.Problems, Problem{s.ID, fmt.Sprintf("blob %s was not to be had when the backup was taken", d)})
		}
	}
	return &c.Checked, nil
}

type checking struct {
	Checked
	repo *Repo
	seen map[core.Digest]bool // objects that were read, each once for all sessions
}

func (c *checking) session(ctx context.Context, log string, s *Session) error {
	h, err := c.repo.History(ctx, log, s)
	if err != nil {
		return err
	}
	for _, p := range s.parts() {
		c.saw(p)
	}
	for _, rec := range h.Records {
		if !rec.Spill.IsZero() && !h.hasBlob(rec.Spill) {
			return fmt.Errorf("session %s: the body of record %d, %s, is not in its list of blobs: %w", s.ID, rec.Seq, rec.Spill, core.ErrCorrupt)
		}
	}
	for _, p := range h.Blobs {
		if c.seen[p.Digest] {
			continue
		}
		if _, err := c.repo.Get(ctx, p); err != nil {
			return fmt.Errorf("session %s: blob: %w", s.ID, err)
		}
		c.saw(p)
	}
	return nil
}

func (c *checking) saw(p Part) {
	if !c.seen[p.Digest] {
		c.seen[p.Digest] = true
		c.Objects++
		c.Bytes += p.Size
	}
}

// parts are the objects of a session but its blobs.
func (s *Session) parts() []Part {
	var parts []Part
	for _, p := range s.Records {
		parts = append(parts, p.Part)
	}
	for _, p := range []*Part{s.Snapshot, s.Blobs} {
		if p != nil {
			parts = append(parts, *p)
		}
	}
	return parts
}

func (h *History) hasBlob(d core.Digest) bool {
	for _, p := range h.Blobs {
		if p.Digest == d {
			return true
		}
	}
	return false
}
