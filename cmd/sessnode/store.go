package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/blobstore/s3blob"
	"github.com/sesslog/sesslog/config"
)

const (
	storeTime  = 10 * time.Second // how long one look at the object store may take
	storeLooks = 30 * time.Second // between two looks while all is well
	storeAgain = 5 * time.Second  // and while it is not
)

// A store is where blobs and snapshots are kept.
type store struct {
	bucket  blobstore.Bucket
	where   string                      // for people
	ready   func(context.Context) error // nil where asking would tell nothing
	logger  *slog.Logger
	trouble atomic.Pointer[error] // what the last look found; nil for none
}

// openStore returns the store that cfg names. An object store that does not
// answer keeps no node from starting: most of what a node does needs none. One
// that answers with a refusal does, for waiting mends no setting.
func openStore(ctx context.Context, cfg config.Config, logger *slog.Logger) (*store, error) {
	if cfg.Blobs.Store == "fs" {
		dir := filepath.Join(cfg.Data, "blobs")
		b, err := fsblob.Open(dir)
		return &store{bucket: b, where: dir}, err
	}
	s := cfg.Blobs.S3
	b, err := s3blob.New(s3blob.Config{
		Endpoint: s.Endpoint, Region: s.Region, Bucket: s.Bucket, Prefix: s.Prefix,
		AccessKey: s.AccessKey, SecretKey: s.SecretKey, CAFile: s.CA, PathStyle: s.PathStyle, Create: s.Create,
	})
	if err != nil {
		return nil, err
	}
	st := &store{bucket: b, where: s.Endpoint + "/" + s.Bucket + "/" + s.Prefix, ready: b.Ready, logger: logger}
	if err := st.look(ctx); errors.Is(err, blobstore.ErrUnavailable) {
		st.trouble.Store(&err)
		logger.Warn("the object store does not answer; starting without it: what needs it is refused until it does", "err", err)
	} else if err != nil {
		return nil, fmt.Errorf("object store %s: %w", s.Endpoint, err)
	}
	return st, nil
}

// look says whether the store answers.
func (s *store) look(ctx context.Context) error {
	if s.ready == nil {
		return nil
	}
	looking, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	err := s.ready(looking)
	if err != nil && looking.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s does not answer within %v: %w", s.where, storeTime, blobstore.ErrUnavailable)
	}
	return err
}

// seen says why the store could not be used when it was last looked at, or nil.
// It asks nobody.
func (s *store) seen() error {
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// run looks at the store now and then, and says when it goes and when it is
// back. Where it was late, the look also makes the bucket.
func (s *store) run(ctx context.Context) error {
	if s.ready == nil {
		return idle(ctx)
	}
	for {
		wait := storeLooks
		if s.seen() != nil {
			wait = storeAgain
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		err := s.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.note(err)
	}
}

// note keeps what a look found, and logs what has changed.
func (s *store) note(err error) {
	was := s.seen()
	switch {
	case err == nil && was != nil:
		s.trouble.Store(nil)
		s.logger.Info("the object store answers", "at", s.where)
	case err != nil:
		s.trouble.Store(&err)
		if was == nil {
			s.logger.Warn("the object store cannot be used; what needs it is refused until it can", "err", err)
		}
	}
}

func (s *store) close() {
	if c, ok := s.bucket.(io.Closer); ok {
		_ = c.Close() // nothing is left to lose
	}
}
