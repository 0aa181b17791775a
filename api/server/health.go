package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Health is an answer of GET /readyz, where JSON is asked for.
type Health struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

// A Check is one thing that a node needs.
type Check struct {
	Name     string `json:"name"` // "running", "nats", "log" or "store"
	OK       bool   `json:"ok"`
	Required bool   `json:"required"`      // without it the node is not ready
	Why      string `json:"why,omitempty"` // it is not OK
}

// healthz answers while the process does.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	if !wantsJSON(r) {
		_, _ = io.WriteString(w, "ok\n")
		return
	}
	_ = answer(w, http.StatusOK, map[string]any{"alive": true, "uptimeSeconds": time.Since(s.started).Round(time.Millisecond).Seconds()})
}

// readyz says whether the node can serve. Without its object store it can do most
// of what it is there for, and all nodes lack the same store, so that it is
// required only where the caller says so.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	h := s.health(r.Context(), r.URL.Query().Get("need") == "store")
	status := http.StatusOK
	if !h.Ready {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	if wantsJSON(r) {
		_ = answer(w, status, h)
		return
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, h.text())
}

func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

// health looks at what the node needs, at most for readyWait.
func (s *Server) health(ctx context.Context, storeRequired bool) Health {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	h := Health{Ready: true}
	h.add("running", true, s.running())
	if err := s.broker(ctx); err != nil {
		h.add("nats", true, err) // the log is nowhere else: asking it would only take time
	} else {
		h.add("nats", true, nil)
		_, err := s.cfg.Log.State(ctx, 0)
		h.add("log", true, err)
	}
	if s.cfg.StoreSeen != nil {
		h.add("store", storeRequired, s.cfg.StoreSeen())
	}
	return h
}

func (h *Health) add(name string, required bool, err error) {
	c := Check{Name: name, OK: err == nil, Required: required}
	if err != nil {
		c.Why = err.Error()
		h.Ready = h.Ready && !required
	}
	h.Checks = append(h.Checks, c)
}

// text is h in a line, for people and for probes that show what they got.
func (h Health) text() string {
	var why, without string
	for _, c := range h.Checks {
		switch {
		case c.OK:
		case c.Required && why == "":
			why = c.Why
		case c.Name == "store":
			without = c.Why
		}
	}
	switch {
	case !h.Ready:
		return fmt.Sprintf("not ready: %s\n", why)
	case without != "":
		return fmt.Sprintf("ready, but without its object store: %s\n", without)
	}
	return "ready\n"
}

// ready says why the node cannot serve now, or nil.
func (s *Server) ready(ctx context.Context) error {
	for _, c := range s.health(ctx, false).Checks {
		if !c.OK && c.Required {
			return errors.New(c.Why)
		}
	}
	return nil
}

func (s *Server) running() error {
	if s.drain.Err() != nil {
		return errors.New("stopping")
	}
	return nil
}

func (s *Server) broker(ctx context.Context) error {
	if s.cfg.Ready == nil {
		return nil
	}
	return s.cfg.Ready(ctx)
}
