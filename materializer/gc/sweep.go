package gc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// A sweep is the second phase of a run.
type sweep struct {
	c      *Collector
	q      Request
	run    string
	before time.Time // only blobs written before then are moved
	marks  *marks
	report report.GC
	doomed []blobstore.Trashed // not yet recorded
	spare  []bool              // of doomed
}

// doomedMost limits the deletions in one record.
const doomedMost = 1000

// sweep visits the trash, then the blobs.
func (s *sweep) sweep(ctx context.Context) error {
	s.report.Sessions, s.report.Erased = s.marks.sessions, s.marks.erased
	for t, err := range s.c.cfg.Blobs.Trash(ctx) {
		if err == nil {
			err = s.trashed(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	if err := s.purge(ctx); err != nil {
		return err
	}
	for b, err := range s.c.cfg.Blobs.List(ctx) {
		if err == nil {
			err = s.stored(ctx, b)
		}
		if err != nil {
			return err
		}
	}
	return s.missing(ctx)
}

// trashed moves a blob back if it is referenced and missing, and schedules the
// deletion of a copy that is old enough and not needed.
func (s *sweep) trashed(ctx context.Context, t blobstore.Trashed) error {
	s.report.Trash.Add(t.Size)
	_, err := s.c.cfg.Bucket.Stat(ctx, t.Ref.Key())
	spare := err == nil
	if err != nil && !errors.Is(err, blobstore.ErrNotFound) {
		return err
	}
	m := s.marks.named[core.Digest(t.Ref)]
	switch {
	case m != nil && !spare:
		return s.putBack(ctx, t, m)
	case !t.At.Before(s.before):
		return nil
	}
	s.doomed, s.spare = append(s.doomed, t), append(s.spare, spare)
	if len(s.doomed) == doomedMost {
		return s.purge(ctx)
	}
	return nil
}

// putBack leaves a corrupt copy where it is: another one may be intact.
func (s *sweep) putBack(ctx context.Context, t blobstore.Trashed, m *mark) error {
	if !s.q.Apply {
		if !m.there {
			s.report.PutBack.Add(t.Size)
		}
		m.there = true
		return nil
	}
	err := s.c.cfg.Blobs.Restore(ctx, t.Ref)
	if errors.Is(err, blobstore.ErrCorrupt) || errors.Is(err, blobstore.ErrNotFound) {
		s.c.cfg.Logger.Error("a blob that sessions reference is corrupt in the trash", "blob", t.Ref, "err", err)
		return nil
	}
	if err == nil {
		s.report.PutBack.Add(t.Size)
	}
	return err
}

// purge deletes what is scheduled, after recording it.
func (s *sweep) purge(ctx context.Context) error {
	if len(s.doomed) == 0 {
		return nil
	}
	if s.q.Apply {
		if err := s.c.cfg.Record(ctx, s.deletion()); err != nil {
			return fmt.Errorf("record what is to be deleted: %w", err)
		}
	}
	for _, t := range s.doomed {
		if s.q.Apply {
			if err := s.c.cfg.Blobs.Purge(ctx, t); err != nil {
				return err
			}
		}
		s.report.Deleted.Add(t.Size)
	}
	s.doomed, s.spare = nil, nil
	return nil
}

func (s *sweep) deletion() Deletion {
	d := Deletion{
		Run: s.run, Log: s.report.Log, Node: s.c.cfg.Node, Time: s.c.cfg.Now().UTC(),
		By: s.q.By, Host: s.q.Host, Why: s.q.Why, Grace: s.report.Grace,
	}
	for i, t := range s.doomed {
		d.Blobs = append(d.Blobs, Deleted{Digest: core.Digest(t.Ref), Size: t.Size, Trashed: t.At.UTC(), Spare: s.spare[i]})
	}
	return d
}

// stored counts a blob, and moves it to the trash if it is old and unreferenced.
func (s *sweep) stored(ctx context.Context, b blobstore.BlobInfo) error {
	r := &s.report
	r.Stored.Add(b.Size)
	if m := s.marks.named[core.Digest(b.Ref)]; m != nil {
		m.there = true
		r.Referenced.Add(b.Size)
		r.References += m.sessions
		r.Saved += (m.sessions - 1) * b.Size
		return nil
	}
	r.Unreferenced.Add(b.Size)
	if !b.Modified.Before(s.before) {
		r.Young.Add(b.Size)
		return nil
	}
	if !s.q.Apply {
		r.Moved.Add(b.Size)
		return nil
	}
	moved, err := s.c.cfg.Blobs.Discard(ctx, b.Ref, s.before)
	if moved {
		r.Moved.Add(b.Size)
	}
	return err
}

// missing lists the blobs that sessions need and that do not exist.
func (s *sweep) missing(ctx context.Context) error {
	for d, m := range s.marks.named {
		if m.there || !m.sure || len(s.report.Missing) == maxMissing {
			continue
		}
		_, err := s.c.cfg.Blobs.Stat(ctx, blobstore.Ref(d))
		if errors.Is(err, blobstore.ErrNotFound) {
			s.report.Missing = append(s.report.Missing, d)
		} else if err != nil {
			return err
		}
	}
	slices.SortFunc(s.report.Missing, func(a, b core.Digest) int { return bytes.Compare(a[:], b[:]) })
	return nil
}
