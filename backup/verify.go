package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// Checked is the result of Verify.
type Checked struct {
	Run      string    `json:"run"`
	Sessions int       `json:"sessions"`
	Objects  int       `json:"objects"` // read and compared
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"`
}

// Verify reads all objects of a run and checks the digests, the chains of records,
// and the snapshots against their manifests. Corruption is reported in the result;
// an error is one of the bucket.
func (r *Repo) Verify(ctx context.Context, run *Run) (*Checked, error) {
	c := &checker{repo: r, seen: map[core.Digest]bool{}, Checked: Checked{Run: run.ID.String(), Problems: []Problem{}}}
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
			c.Problems = append(c.Problems, Problem{s.ID, fmt.Sprintf("blob %s was missing when the backup was made", d)})
		}
	}
	return &c.Checked, nil
}

type checker struct {
	Checked
	repo *Repo
	seen map[core.Digest]bool // objects already counted
}

func (c *checker) session(ctx context.Context, log string, s *Session) error {
	h, err := c.repo.History(ctx, log, s)
	if err != nil {
		return err
	}
	for _, p := range s.parts() {
		c.count(p)
	}
	for _, rec := range h.Records {
		if _, ok := h.blob(rec.Spill); !ok && !rec.Spill.IsZero() {
			return fmt.Errorf("session %s: the body of record %d, %s, is not in the list of blobs: %w", s.ID, rec.Seq, rec.Spill, core.ErrCorrupt)
		}
	}
	for _, p := range h.Blobs {
		if c.seen[p.Digest] {
			continue
		}
		if _, err := c.repo.Get(ctx, p); err != nil {
			return fmt.Errorf("session %s: blob: %w", s.ID, err)
		}
		c.count(p)
	}
	return nil
}

func (c *checker) count(p Part) {
	if !c.seen[p.Digest] {
		c.seen[p.Digest] = true
		c.Objects++
		c.Bytes += p.Size
	}
}
