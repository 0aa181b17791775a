package server

import (
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
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
	out := api.Report{Report: *r}
	if m := r.Snapshot; m != nil {
		snap := snapshotOf(m)
		out.Snapshot = &snap
	}
	return out
}
