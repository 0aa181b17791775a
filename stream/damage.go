package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"

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

// The server's checksum of a message covers its headers and its data, but not the length
// of its headers. With a wrong length, the server adds its own headers at a wrong place.

// isDamaged reports whether the headers of a message of a direct get end at a wrong place:
// the first header of the server replaces the last two bytes before it, so it cannot be
// read unless those begin the last header of a record, which is part of the data then.
func (l *Log) isDamaged(id core.SessionID, m *nats.Msg) bool {
	isCut := m.Header.Get(hdrWriter) == "" && bytes.HasPrefix(m.Data, []byte(hdrWriter[2:]+": "))
	return isCut || m.Header.Get("Nats-Stream") != streamName(l.cfg.Name, l.Shard(id))
}

// lazyOrLeader parses the first message after a position, of a direct get. If it is
// corrupt, the record is that of the leader. Returns core.ErrNotFound if the leader has
// none, and a storage.RecordError if it is corrupt there, too.
func (l *Log) lazyOrLeader(ctx context.Context, id core.SessionID, m *nats.Msg, after core.Pos) (*storage.Lazy, error) {
	if !l.isDamaged(id, m) {
		z, err := l.lazy(id, m)
		if err == nil {
			return z, nil
		}
		if !errors.Is(err, core.ErrCorrupt) {
			pos, _ := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
			return nil, &storage.RecordError{Pos: core.Pos(pos), Err: err}
		}
	}
	z, err := l.get(ctx, id, map[string]any{"seq": uint64(after) + 1, "next_by_subj": l.subject(id)})
	if err != nil {
		return nil, fmt.Errorf("read session %s after %d: %w", id, after, err)
	}
	if p, ok := z.Packed.(*packed); ok && !p.frame.split { // only the replica is damaged
		z.Backfilled = true
		l.backfilled.Add(1)
	}
	return z, nil
}

// splitMessage returns the headers and the data of a stored message. Headers end at their
// only empty line. wasWrong reports that they did not.
func splitMessage(head, data []byte) (_, _ []byte, wasWrong bool) {
	if _, rest, ok := bytes.Cut(head, emptyLine); ok && len(rest) == 0 {
		return head, data, false
	}
	all := slices.Concat(head, data)
	n := bytes.Index(all, emptyLine)
	if n < 0 || !bytes.HasPrefix(all, []byte("NATS/1.0")) {
		return head, data, false
	}
	n += len(emptyLine)
	return all[:n], all[n:], true
}

var emptyLine = []byte("\r\n\r\n")
