package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/server"
)

// A starting node answers probes: it is alive, and not ready because of its current
// step. It refuses all other requests.
type starting struct {
	mu  sync.Mutex
	why func() string
}

// setStep sets the step that the node is at.
func (s *starting) setStep(why func() string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = why
}

func (s *starting) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		return "starting"
	}
	return s.why()
}

// ServeHTTP implements http.Handler.
func (s *starting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		_, _ = io.WriteString(w, "ok\n")
		return
	}
	why, status := s.reason(), http.StatusServiceUnavailable
	w.Header().Set("Retry-After", "1")
	switch {
	case r.URL.Path != "/readyz":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(api.Detail{
			Type: "urn:sesslog:unavailable", Code: "unavailable", Status: status, Title: "Not available now",
			Detail: "this node is not ready: " + why, Next: "Try again after a moment, or on another node.",
		})
	case strings.Contains(r.Header.Get("Accept"), "application/json"):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(server.Health{Checks: []server.Check{{Name: "running", Required: true, Why: why}}})
	default:
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "not ready: %s\n", why)
	}
}

// serve answers on ln, which raw is or is below, until stop is called, which leaves it
// open.
func (s *starting) serve(raw, ln net.Listener) (stop func()) {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(&sharedListener{ln, raw})
	}()
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-done
		setDeadline(raw, time.Time{})
	})
}

// A sharedListener stays open when its server closes it.
type sharedListener struct {
	net.Listener
	raw net.Listener
}

// Close makes Accept return.
func (l *sharedListener) Close() error {
	setDeadline(l.raw, time.Unix(1, 0))
	return nil
}

func setDeadline(ln net.Listener, t time.Time) {
	if d, ok := ln.(interface{ SetDeadline(time.Time) error }); ok {
		_ = d.SetDeadline(t)
	}
}

// warnInterval is how often a node that waits for something logs what for.
const warnInterval = 30 * time.Second

// logWaits logs why a node is not ready yet, every warnInterval until stop is called.
func (s *starting) logWaits(logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		tick := time.NewTicker(warnInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				logger.Warn("this node is not ready yet", "err", errors.New(s.reason()))
			case <-ctx.Done():
				return
			}
		}
	}()
	return cancel
}
