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
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	storeTimeout  = 10 * time.Second // of one check
	storeInterval = 30 * time.Second // between checks
	storeRetry    = 5 * time.Second  // after a failed check
)

// A store is where blobs and snapshots are kept.
type store struct {
	bucket blobstore.Bucket
	where  string                      // for people
	ready  func(context.Context) error // nil if the store needs no checks
	logger *slog.Logger
	last   atomic.Pointer[error] // of the last check; nil if it succeeded
}

// openStore opens the configured store. The node also starts if the object store
// is unavailable, because most requests do not need it; but not if the store
// rejects the settings.
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
	if err := st.check(ctx); errors.Is(err, blobstore.ErrUnavailable) {
		st.last.Store(&err)
		logger.Warn("the object store is unavailable; requests that need it fail until it is back", "err", err)
	} else if err != nil {
		return nil, fmt.Errorf("object store %s: %w", s.Endpoint, err)
	}
	return st, nil
}

// check returns why the store cannot be used now, or nil.
func (s *store) check(ctx context.Context) error {
	if s.ready == nil {
		return nil
	}
	checking, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := s.ready(checking)
	if err != nil && checking.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s did not respond within %v: %w", s.where, storeTimeout, blobstore.ErrUnavailable)
	}
	return err
}

// lastError returns the result of the last check, without I/O.
func (s *store) lastError() error {
	if err := s.last.Load(); err != nil {
		return *err
	}
	return nil
}

// run checks the store periodically and logs changes, until ctx ends. If the store
// was unavailable at the start, a check also creates the bucket.
func (s *store) run(ctx context.Context) error {
	if s.ready == nil {
		return idle(ctx)
	}
	for {
		wait := storeInterval
		if s.lastError() != nil {
			wait = storeRetry
		}
		if err := retry.Wait(ctx, wait); err != nil {
			return err
		}
		err := s.check(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.record(err)
	}
}

// record keeps the result of a check, and logs a change.
func (s *store) record(err error) {
	before := s.lastError()
	switch {
	case err == nil && before != nil:
		s.last.Store(nil)
		s.logger.Info("the object store is available again", "at", s.where)
	case err != nil:
		s.last.Store(&err)
		if before == nil {
			s.logger.Warn("the object store is unavailable; requests that need it fail until it is back", "err", err)
		}
	}
}

func (s *store) close() {
	if c, ok := s.bucket.(io.Closer); ok {
		_ = c.Close() // acknowledged writes are durable
	}
}
