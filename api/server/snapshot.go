package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

// object sends a snapshot's object as it is stored.
func (s *Server) object(w http.ResponseWriter, r *http.Request) error {
	key, err := s.snapshotKey(r)
	if err != nil {
		return err
	}
	object, size, err := s.cfg.Snapshots.Object(r.Context(), key)
	if errors.Is(err, core.ErrNotFound) {
		return s.objectOfParts(w, r, key, err)
	}
	if err != nil {
		return err
	}
	defer object.Close()
	w.Header().Set("Content-Type", "application/zstd")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if _, err := io.Copy(w, object); err != nil {
		s.cfg.Logger.Warn("snapshot broke off", "object", key, "err", err)
		return errAborted
	}
	return nil
}

// objectOfParts sends the session's latest snapshot, stored in parts, as one
// object. It answers with absent if key does not name that snapshot.
func (s *Server) objectOfParts(w http.ResponseWriter, r *http.Request, key string, absent error) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	m, err := s.cfg.Sessions.Manifest(r.Context(), id)
	if err != nil {
		return err
	}
	if m == nil || m.Object != key || len(m.Parts) == 0 {
		return absent
	}
	if err := memory.Grow(r.Context(), 2*m.Size); err != nil {
		return err
	}
	packed, err := s.cfg.Snapshots.Packed(r.Context(), m)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zstd")
	w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
	if _, err := w.Write(packed); err != nil {
		return errAborted
	}
	return nil
}

// snapshotKey returns the key of the object that the path names.
func (s *Server) snapshotKey(r *http.Request) (string, error) {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return "", err
	}
	key := "snapshots/" + s.cfg.Log.Name() + "/" + string(id) + "/" + r.PathValue("name")
	if err := blobstore.CheckKey(key); err != nil {
		return "", fmt.Errorf("%v: %w", err, core.ErrInvalid)
	}
	return key, nil
}

func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	m, err := s.latestManifest(r.Context(), sess)
	if err != nil {
		return err
	}
	if err := memory.Grow(r.Context(), 2*m.Size); err != nil {
		return err
	}
	plain, err := s.cfg.Snapshots.Read(r.Context(), m)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set(api.HeaderSnapshot, m.Object)
	w.Header().Set(api.HeaderCursor, core.CursorOf(m.Seq, m.Chain).String())
	_, _ = w.Write(plain) // the caller may have left
	return nil
}

func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var behind bool
	_ = sess.View(func(st *core.State) error {
		behind = st.Checkpointed == 0 || st.Tail > 0
		return nil
	})
	if behind {
		if _, err := s.cfg.Materializer.Checkpoint(r.Context(), sess); err != nil {
			return err
		}
	}
	m, err := s.latestManifest(r.Context(), sess)
	if err != nil {
		return err
	}
	// If the existing snapshot is damaged, write it again.
	_, err = s.cfg.Snapshots.Read(r.Context(), m)
	if errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrNotFound) {
		m, err = s.cfg.Materializer.Checkpoint(r.Context(), sess)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, snapshotOf(m))
}

// latestManifest returns the manifest of the session's latest snapshot.
func (s *Server) latestManifest(ctx context.Context, sess *engine.Session) (*core.Manifest, error) {
	var base core.Pos
	var covered uint64
	_ = sess.View(func(st *core.State) error {
		base, covered = st.Base, st.Checkpointed
		return nil
	})
	if covered == 0 {
		return nil, fmt.Errorf("session %s has no snapshot yet (make one with: sessctl checkpoint %s): %w", sess.ID(), sess.ID(), core.ErrNotFound)
	}
	r, err := s.cfg.Log.At(ctx, sess.ID(), base)
	if err != nil {
		return nil, err
	}
	return r.Manifest()
}

func snapshotOf(m *core.Manifest) api.Snapshot {
	return api.Snapshot{Object: m.Object, Seq: m.Seq, Chain: m.Chain, Size: m.Size, SHA256: m.SHA256, Entries: m.Entries}
}
