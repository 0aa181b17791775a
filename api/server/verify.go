package server

import (
	"errors"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer/verify"
)

func (s *Server) verifier() *verify.Verifier {
	return &verify.Verifier{
		Log: s.cfg.Log, Sessions: s.cfg.Sessions, Cache: s.cfg.Cache, Materializer: s.cfg.Materializer,
		Directory: s.cfg.Directory, Snapshots: s.cfg.Snapshots, Blobs: s.cfg.Blobs,
	}
}

// verifyLog checks the shards and lists every session that they hold.
func (s *Server) verifyLog(w http.ResponseWriter, r *http.Request) error {
	sessions, problems, err := s.verifier().Shards(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.LogReport{Log: s.cfg.Log.Name(), Sessions: sessions, Problems: problems})
}

// verify reads all of a session again.
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

// repair is verify and repairs what another copy allows. With acceptLoss, lost
// records no longer prevent writes.
func (s *Server) repair(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	accepts := r.URL.Query().Get("acceptLoss") == "true"
	if accepts {
		if err := s.verifier().AcceptLoss(r.Context(), id); err != nil {
			return err
		}
	}
	left, repaired, err := s.verifier().Repair(r.Context(), id)
	if accepts && errors.Is(err, core.ErrNotFound) { // the log has no record of it, only snapshots
		left, err = &report.Verification{Session: id, Problems: []report.Problem{}}, nil
	}
	if err != nil {
		return s.missing(id, err)
	}
	report := reportOf(left)
	report.Repaired = repaired
	return answer(w, http.StatusOK, report)
}

func reportOf(r *report.Verification) api.Report {
	out := api.Report{Verification: *r}
	if m := r.Snapshot; m != nil {
		snap := snapshotOf(m)
		out.Snapshot = &snap
	}
	return out
}

// doctor checks everything that the node can see.
func (s *Server) doctor(w http.ResponseWriter, r *http.Request) error {
	report, err := s.cfg.Doctor.Examine(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

// doctorFix is doctor and repairs what is safe to repair.
func (s *Server) doctorFix(w http.ResponseWriter, r *http.Request) error {
	report, err := s.cfg.Doctor.Treat(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

// rebuild drops what the node derived from the log and reads the log again. With
// GET it answers with what that would be.
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

// truncationBlocker names a session that prevents the truncation of a shard, or
// returns "".
func truncationBlocker(w report.ShardWork) string {
	if len(w.InWay) == 0 {
		return ""
	}
	in := w.InWay[0]
	return "session " + string(in.Session) + " keeps the log from being truncated: " + in.Error
}
