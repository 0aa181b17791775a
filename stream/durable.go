package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Durable waits until the messages of a stream up to pos are on disk; 0 stands for
// everything that the server answered before the call. It is called for positions
// that the server has reported. After an error, the messages may be lost.
//
// It is needed if the server answers before it flushes. The log then answers a write
// only after the flush, and a read returns nothing that a power cut could take back.
type Durable func(ctx context.Context, stream string, pos uint64) error

// written waits until a write at pos is durable; 0 is that of a purge. After an error
// it may be lost.
func (l *Log) written(ctx context.Context, shard int, pos core.Pos) error {
	if l.cfg.Durable == nil {
		return nil
	}
	return mapError(l.cfg.Durable(ctx, streamName(l.cfg.Name, shard), uint64(pos)))
}

// readable waits until what was read from a stream, up to pos, is durable.
func (l *Log) readable(ctx context.Context, stream string, pos core.Pos) error {
	if l.cfg.Durable == nil || pos == 0 {
		return nil
	}
	return mapFlushError(ctx, l.cfg.Durable(ctx, stream, uint64(pos)))
}

// mapFlushError maps an error of a Durable to those of a read.
func mapFlushError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	return fmt.Errorf("what was read is not durable yet: %v: %w", err, core.ErrUnavailable)
}
