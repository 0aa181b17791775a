package stream

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
)

// A server that cannot read the last message of a session answers as if there were
// none, but it still counts the message.

// lastOrDamage returns the last record of a session whose leader answered that there
// is none. If the leader counts records of the session, its disk is corrupt: another
// server takes its place, and without one the error is a storage.EndError. Otherwise it
// returns notFound.
func (l *Log) lastOrDamage(ctx context.Context, id core.SessionID, notFound error) (*storage.Lazy, error) {
	n, err := l.countRecords(ctx, id)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, notFound
	}
	z, err := l.lastStored(ctx, id) // it may have been stored meanwhile
	if errors.Is(err, core.ErrNotFound) && l.replaceLeader(ctx, l.Shard(id), math.MaxInt64) {
		z, err = l.lastStored(ctx, id)
	}
	if !errors.Is(err, core.ErrNotFound) {
		return z, err
	}
	return nil, l.endDamage(ctx, id, n)
}

// countRecords returns how many records of a session its leader counts, whether it
// can read them or not.
func (l *Log) countRecords(ctx context.Context, id core.SessionID) (uint64, error) {
	info, err := l.streamInfo(ctx, l.Shard(id), l.subject(id))
	if err != nil {
		return 0, fmt.Errorf("records of session %s: %w", id, err)
	}
	return info.State.Subjects[l.subject(id)], nil
}

// endDamage returns the storage.EndError of a session with n records.
func (l *Log) endDamage(ctx context.Context, id core.SessionID, n uint64) error {
	var last core.Record
	for z, err := range l.Scan(ctx, id, 0, math.MaxInt64) {
		if _, bad := errors.AsType[*storage.RecordError](err); bad {
			break
		}
		if err != nil {
			return err
		}
		last = z.Record
	}
	return &storage.EndError{After: last.Pos, Err: fmt.Errorf("session %s: the last of its %d messages, after record %d at %d, cannot be read: %w",
		id, n, last.Seq, last.Pos, core.ErrCorrupt)}
}
