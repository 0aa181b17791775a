package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer/gc"
)

// A GCRequest says what POST /v1/blobs/gc is to do, who asks, and why.
type GCRequest struct {
	Apply bool   `json:"apply,omitempty"` // do it; else only say what would be done
	Grace string `json:"grace,omitempty"` // such as "48h"; empty: the node's. Not shorter than that
	By    string `json:"by,omitempty"`
	Host  string `json:"host,omitempty"`
	Why   string `json:"why,omitempty"`
}

// GCReport is what a run found and did or, where it was not applied, would do.
type GCReport = gc.Report

// collect looks for blobs that no session names. It reads every session.
func (s *Server) collect(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Collector == nil {
		return fmt.Errorf("this node collects no blobs: %w", core.ErrNotFound)
	}
	var q GCRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.By, q.Host, q.Why); err != nil {
		return err
	}
	run := gc.Request{Apply: q.Apply, By: q.By, Host: q.Host, Why: q.Why}
	if q.Grace != "" {
		var err error
		if run.Grace, err = time.ParseDuration(q.Grace); err != nil || run.Grace <= 0 {
			return fmt.Errorf("grace %q is no time such as 48h: %w", q.Grace, core.ErrInvalid)
		}
	}
	var report *GCReport
	collect := func(ctx context.Context) (err error) {
		report, err = s.cfg.Collector.Run(ctx, run)
		return err
	}
	var err error
	if q.Apply {
		err = s.noted(r.Context(), act{"blobs-gc", "", Notice{By: q.By, Host: q.Host, Why: q.Why}}, collect)
	} else {
		err = collect(r.Context())
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

// CollectBlobs moves blobs that no session names to the trash and deletes those
// that lay there for a grace; without q.Apply it says what it would do. It takes a
// reading of all sessions.
func (c *Client) CollectBlobs(ctx context.Context, q GCRequest) (GCReport, error) {
	return send[GCReport](ctx, c, http.MethodPost, "/v1/blobs/gc", nil, q)
}
