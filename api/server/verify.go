package server

import (
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/verify"
)

func (s *Server) verifier() *verify.Verifier {
	return &verify.Verifier{
		Log: s.cfg.Log, Sessions: s.cfg.Sessions, Cache: s.cfg.Cache, Materializer: s.cfg.Materializer,
		Directory: s.cfg.Directory, Snapshots: s.cfg.Snapshots, Blobs: s.cfg.Blobs,
	}
}

// verifyLog looks at the shards, and names every session that they hold.
func (s *Server) verifyLog(w http.ResponseWriter, r *http.Request) error {
	sessions, problems, err := s.verifier().Shards(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.LogReport{Log: s.cfg.Log.Name(), Sessions: sessions, Problems: problems})
}

// verify reads all of a session anew.
func (s *Server) verify(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	found, err := s.verifier().Verify(r.Context(), id)
	if err != nil {
		return s.missing(id, err)
	}
	return answer(w, http.StatusOK, reportOf(found))
}

// repair is verify that mends what another copy can mend.
func (s *Server) repair(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	left, mended, err := s.verifier().Repair(r.Context(), id)
	if err != nil {
		return s.missing(id, err)
	}
	report := reportOf(left)
	report.Mended = mended
	return answer(w, http.StatusOK, report)
}

func reportOf(r *verify.Report) api.Report {
	out := api.Report{Verification: *r}
	if m := r.Snapshot; m != nil {
		snap := snapshotOf(m)
		out.Snapshot = &snap
	}
	return out
}

// examine looks at all that the node sees.
func (s *Server) doctor(w http.ResponseWriter, r *http.Request) error {
	report, err := s.cfg.Doctor.Examine(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

// treat is examine that mends what is safe to mend.
func (s *Server) doctorFix(w http.ResponseWriter, r *http.Request) error {
	report, err := s.cfg.Doctor.Treat(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

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

// truncationBlocker says which session keeps a shard from being truncated, or nothing.
func truncationBlocker(w materializer.ShardWork) string {
	if len(w.InWay) == 0 {
		return ""
	}
	in := w.InWay[0]
	return "session " + string(in.Session) + " keeps the log from being truncated: " + in.Error
}
