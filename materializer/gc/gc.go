package gc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

// Config configures a Collector.
type Config struct {
	Log      *stream.Log
	Sessions *engine.Sessions // of Log
	Bucket   blobstore.Bucket // where blobs and snapshots are
	Blobs    *blobstore.Blobs // in Bucket
	Node     string           // this node, for the records
	// Record stores a Deletion durably before it is carried out. If it fails,
	// nothing is deleted.
	Record func(context.Context, Deletion) error
	// Hold returns why no blob may be deleted now, or nil. Optional.
	Hold   func(context.Context) error
	Logger *slog.Logger     // default slog.Default()
	Now    func() time.Time // default time.Now
}

// A Collector collects the blobs of one log. Its methods may be called from several
// goroutines and on several nodes at once.
type Collector struct{ cfg Config }

// New returns a Collector.
func New(cfg Config) *Collector {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Collector{cfg}
}

// A Request says what to do, who asks, and why.
type Request struct {
	Apply bool          // do it; otherwise only report what would be done
	Grace time.Duration // 0 for that of the blobs; may be longer, not shorter
	By    string
	Host  string
	Why   string
	// Gone are signatures, keys that begin with "logs/", of logs that used the
	// bucket and no longer exist, such as the one that this log was restored from.
	// They are ignored, and with Apply they are removed.
	Gone []string
}

// Run marks and sweeps once. It returns core.ErrConflict if another log uses the
// bucket, or the error of a session that cannot be read. Then nothing was changed.
// After any other error, call it again to complete the run. It reads every session.
func (c *Collector) Run(ctx context.Context, q Request) (*report.GC, error) {
	least := c.cfg.Blobs.Grace()
	if q.Grace == 0 {
		q.Grace = least
	}
	if q.Grace < least {
		return nil, fmt.Errorf("a grace of %v is shorter than the %v that writers rely on (blobs.grace): %w", q.Grace, least, core.ErrInvalid)
	}
	// Before anything is read: what is referenced later is younger.
	began := c.cfg.Now().UTC()
	s := &sweep{c: c, q: q, before: began.Add(-q.Grace), run: ulid.Make().String()}
	s.report = report.GC{
		Run: s.run, Log: c.cfg.Log.Name(), Applied: q.Apply, Grace: q.Grace.String(), Began: began, Missing: []core.Digest{},
	}
	if err := c.checkAlone(ctx, q); err != nil {
		return nil, mapError(err)
	}
	if q.Apply && c.cfg.Hold != nil {
		if err := c.cfg.Hold(ctx); err != nil {
			return nil, err
		}
	}
	m, err := c.mark(ctx)
	if err != nil {
		return nil, err
	}
	s.marks = m
	if err := s.sweep(ctx); err != nil {
		return nil, fmt.Errorf("not all blobs were swept: repeat the request: %w", mapError(err))
	}
	s.report.Ended = c.cfg.Now().UTC()
	if q.Apply {
		c.cfg.Logger.Info("blobs swept", "run", s.run, "moved", s.report.Moved.Blobs, "putBack", s.report.PutBack.Blobs,
			"deleted", s.report.Deleted.Blobs, "bytes", s.report.Deleted.Bytes, "by", q.By, "why", q.Why)
	}
	return &s.report, nil
}

// mapError maps errors of the store to those of core.
func mapError(err error) error {
	if errors.Is(err, blobstore.ErrUnavailable) {
		return fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	return err
}
