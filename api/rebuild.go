package api

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/materializer"
)

// Rebuilt is what a node makes of the log and can make again.
type Rebuilt struct {
	Node     string `json:"node"`
	Sessions int    `json:"sessions"` // rows
	Shards   int    `json:"shards"`   // that are read from their beginning
	Messages uint64 `json:"messages"` // in them
	Done     bool   `json:"done"`     // false where it was only asked
}

// rebuild has the node forget what it made of the log and read that anew. With
// GET it says what that would be.
func (s *Server) rebuild(w http.ResponseWriter, r *http.Request) error {
	out := Rebuilt{Node: s.cfg.Node, Shards: s.cfg.Log.Shards()}
	for shard := range out.Shards {
		st, err := s.cfg.Log.State(r.Context(), shard)
		if err != nil {
			return err
		}
		out.Messages += st.Messages
	}
	if r.Method == http.MethodPost {
		if err := s.cfg.Materializer.Rebuild(r.Context()); err != nil {
			return err
		}
		out.Done = true
	}
	out.Sessions = s.cfg.Directory.Len()
	return answer(w, http.StatusOK, out)
}

// ToRebuild says what Rebuild would do.
func (c *Client) ToRebuild(ctx context.Context) (Rebuilt, error) {
	return get[Rebuilt](ctx, c, "/v1/rebuild", nil)
}

// Rebuild has the node drop all that it made of the log, rows and what searches
// need, and read the log anew; it returns when that is done. The log and the
// object store stay as they are. When ctx ends before, the node goes on.
func (c *Client) Rebuild(ctx context.Context) (Rebuilt, error) {
	return send[Rebuilt](ctx, c, http.MethodPost, "/v1/rebuild", nil, struct{}{})
}

// inTheWay says which session keeps a shard from being truncated, or nothing.
func inTheWay(w materializer.ShardWork) string {
	if len(w.InWay) == 0 {
		return ""
	}
	in := w.InWay[0]
	return "session " + string(in.Session) + " keeps the log from being truncated: " + in.Error
}
