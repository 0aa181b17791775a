package api

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/materializer/doctor"
)

// Examination is what a node found when it looked at everything.
type Examination = doctor.Report

// How bad a finding of an Examination is.
const (
	Note    = doctor.Note
	Warning = doctor.Warning
	Danger  = doctor.Danger
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

// Doctor has the node look at everything. With fix it mends what is safe to mend.
func (c *Client) Doctor(ctx context.Context, fix bool) (Examination, error) {
	if fix {
		return send[Examination](ctx, c, http.MethodPost, "/v1/doctor", nil, struct{}{})
	}
	return get[Examination](ctx, c, "/v1/doctor", nil)
}
