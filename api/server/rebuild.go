package server

import (
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/materializer"
)

// rebuild has the node forget what it made of the log and read that anew. With
// GET it says what that would be.
func (s *Server) rebuild(w http.ResponseWriter, r *http.Request) error {
	out := api.Rebuilt{Node: s.cfg.Node, Shards: s.cfg.Log.Shards()}
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

// inTheWay says which session keeps a shard from being truncated, or nothing.
func inTheWay(w materializer.ShardWork) string {
	if len(w.InWay) == 0 {
		return ""
	}
	in := w.InWay[0]
	return "session " + string(in.Session) + " keeps the log from being truncated: " + in.Error
}
