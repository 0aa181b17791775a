package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/blobstore/s3blob"
	"github.com/sesslog/sesslog/config"
)

const (
	storeTime  = 10 * time.Second // how long one look at the object store may take
	storeAgain = 5 * time.Second  // between two looks while it does not answer
)

// A store is where blobs and snapshots are kept.
type store struct {
	bucket blobstore.Bucket
	where  string                      // for people
	ready  func(context.Context) error // nil where asking would tell nothing
	late   bool                        // it did not answer at the start
	logger *slog.Logger
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
		st.late = true
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

// run sees to a store that was late: the bucket may have to be made.
func (s *store) run(ctx context.Context) error {
	for s.late {
		select {
		case <-time.After(storeAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
		if s.look(ctx) == nil {
			s.late = false
			s.logger.Info("the object store answers", "at", s.where)
		}
	}
	return idle(ctx)
}

func (s *store) close() {
	if c, ok := s.bucket.(io.Closer); ok {
		_ = c.Close() // nothing is left to lose
	}
}
