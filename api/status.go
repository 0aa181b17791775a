package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// readyWait is how long a readiness check may take.
const readyWait = 3 * time.Second

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if err := s.ready(r.Context()); err != nil {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not ready: %v\n", err)
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}

// ready says why the node cannot serve now, or nil.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	if s.drain.Err() != nil {
		return fmt.Errorf("stopping")
	}
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(ctx); err != nil {
			return err
		}
	}
	_, err := s.cfg.Log.State(ctx, 0)
	return err
}

// store says why blobs and snapshots cannot be reached now, or nil. The node is
// ready without them.
func (s *Server) store(ctx context.Context) error {
	if s.cfg.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	return s.cfg.Store(ctx)
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) error {
	st := Status{
		Node:     s.cfg.Node,
		Version:  s.cfg.Version,
		Log:      s.cfg.Log.Name(),
		Healthy:  true,
		Summary:  "all is well",
		Uptime:   time.Since(s.started).Round(time.Millisecond).Seconds(),
		Sessions: s.cfg.Directory.Len(),
		Blobs:    s.cfg.BlobsAt,
		Shards:   []ShardStatus{},
		Losses:   s.cfg.Sessions.Losses(),
	}
	if st.Losses != (Losses{}) {
		st.Summary = "the log had lost records; what this node knew of them was put back. Look after its servers' disks"
	}
	if err := s.ready(r.Context()); err != nil {
		st.Healthy, st.Summary = false, "not ready: "+err.Error()
	}
	if err := s.store(r.Context()); err != nil {
		st.Healthy = false
		st.Summary = strings.TrimPrefix(st.Summary+"; ", "all is well; ") + "no object store: " + err.Error()
	}
	st.Cache.Sessions, st.Cache.Bytes, st.Cache.Limit = s.cfg.Cache.Stats()
	ctx, cancel := context.WithTimeout(r.Context(), readyWait) // for all of them
	defer cancel()
	for i := range s.cfg.Log.Shards() {
		sh, err := s.cfg.Log.State(ctx, i)
		if err != nil {
			st.Healthy, st.Summary = false, err.Error()
			continue
		}
		st.Shards = append(st.Shards, ShardStatus{
			Stream: sh.Stream, Leader: sh.Leader, Replicas: sh.Replicas, Messages: sh.Messages,
			Bytes: sh.Bytes, Sessions: sh.Sessions, Lag: uint64(max(sh.Last, s.cfg.Materializer.Seen(i)) - s.cfg.Materializer.Seen(i)),
		})
	}
	return answer(w, http.StatusOK, st)
}
