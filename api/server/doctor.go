package server

import (
	"net/http"
)

// examine looks at all that the node sees.
func (s *Server) examine(w http.ResponseWriter, r *http.Request) error {
	report, err := s.cfg.Doctor.Examine(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

// treat is examine that mends what is safe to mend.
func (s *Server) treat(w http.ResponseWriter, r *http.Request) error {
	report, err := s.cfg.Doctor.Treat(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}
