package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer/gc"
)

// mostGone bounds GCRequest.Gone.
const mostGone = 100

// collect looks for blobs that no session names. It reads every session.
func (s *Server) collect(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Collector == nil {
		return fmt.Errorf("this node collects no blobs: %w", core.ErrNotFound)
	}
	var q api.GCRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.By, q.Host, q.Why); err != nil {
		return err
	}
	if len(q.Gone) > mostGone {
		return fmt.Errorf("%d logs are said to be gone, %d are allowed in one request: %w", len(q.Gone), mostGone, core.ErrInvalid)
	}
	if len(q.Gone) > 0 && q.Apply && q.Why == "" {
		return fmt.Errorf("there is no why; say how it is known that the log is gone: %w", core.ErrInvalid)
	}
	run := gc.Request{Apply: q.Apply, By: q.By, Host: q.Host, Why: q.Why, Gone: q.Gone}
	if q.Grace != "" {
		var err error
		if run.Grace, err = time.ParseDuration(q.Grace); err != nil || run.Grace <= 0 {
			return fmt.Errorf("grace %q is no time such as 48h: %w", q.Grace, core.ErrInvalid)
		}
	}
	report, err := s.collectNow(r.Context(), run)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

// collectNow runs the collector, and records how that went where anything was
// done or was to be. That something is about to be deleted is recorded by whoever
// keeps the collector's own records.
func (s *Server) collectNow(ctx context.Context, q gc.Request) (*api.GCReport, error) {
	report, err := s.cfg.Collector.Run(ctx, q)
	if !q.Apply || s.cfg.Audit == nil {
		return report, err
	}
	detail := ""
	if len(q.Gone) > 0 {
		detail = fmt.Sprintf("gone for good: %q; ", q.Gone)
	}
	if err == nil {
		detail += fmt.Sprintf("run %s: %d blobs, %d bytes deleted; %d blobs moved to the trash, %d put back",
			report.Run, report.Deleted.Blobs, report.Deleted.Bytes, report.Moved.Blobs, report.PutBack.Blobs)
	}
	if err != nil || len(q.Gone) > 0 || report.Deleted.Blobs+report.Moved.Blobs+report.PutBack.Blobs > 0 {
		s.noteEnd(ctx, act{"gc", "", api.Notice{By: q.By, Host: q.Host, Why: q.Why}}, detail, err)
	}
	return report, err
}

// CollectBlobs collects blobs on behalf of the node itself.
func (s *Server) CollectBlobs(ctx context.Context) error {
	_, err := s.collectNow(ctx, gc.Request{Apply: true, By: "sessnode", Host: s.cfg.Node, Why: "blobs.collect is set"})
	return err
}
