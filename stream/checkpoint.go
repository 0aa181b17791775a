package stream

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sesslog/sesslog/core"
)

// errNotFresh asks commit for a state as fresh as the leader's.
var errNotFresh = errors.New("state is not known to be fresh")

// A Draft is a snapshot on its way: what a checkpoint is to name.
type Draft struct {
	Manifest *core.Manifest
	Plain    []byte // canonical JSONL

	at  core.Pos // of the record it covers
	gen uint64
}

// Draft takes a snapshot of the session as it is in memory. object names the
// key it will have, given its seq and the digest of its plain bytes.
func (s *Session) Draft(object func(seq uint64, sum core.Digest) string) *Draft {
	s.mu.RLock()
	defer s.mu.RUnlock()
	plain := s.st.Render()
	return &Draft{
		Manifest: s.st.Manifest(plain, object(s.st.Seq, core.DigestOf(plain))),
		Plain:    plain,
		at:       s.st.Pos,
		gen:      s.gen.Load(),
	}
}

// Checkpoint stores the record that names d's snapshot, which must be durable
// by now. Records may have come since the draft was taken. It stores nothing,
// and that is no error, when a checkpoint is there that covers as much, or when
// the session was loaded anew since.
func (s *Session) Checkpoint(ctx context.Context, d *Draft) error {
	body, err := json.Marshal(d.Manifest)
	if err != nil {
		return err
	}
	return s.write(ctx, func(st *core.State, fresh bool) (*core.Record, error) {
		if s.gen.Load() != d.gen || d.Manifest.Seq <= st.Checkpointed {
			return nil, nil
		}
		if st.Erased != nil || st.Alien != "" {
			return nil, st.Writable()
		}
		return &core.Record{Kind: core.KindCheckpoint, Head: core.MainHead, Writer: s.writer, Base: d.at, Body: body}, nil
	}, nil)
}
