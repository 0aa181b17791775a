package embedded

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Behind returns an error that names a stream whose replica on this server lags
// behind the leader, or nil if none does. A single server never lags. A lagging
// member is still [Server.Ready], because it forwards requests; but until it has
// caught up, the loss of another member can stop the stream.
func (s *Server) Behind() error {
	if s.closed.Load() {
		return ErrClosed
	}
	if !s.IsClustered() {
		return nil
	}
	h := s.ns.Healthz(&server.HealthzOptions{Details: true})
	for _, e := range h.Errors {
		if e.Type == server.HealthzErrorStream && !slices.Contains(s.cfg.Volatile, e.Stream) {
			return fmt.Errorf("stream %s: %s", e.Stream, e.Error)
		}
	}
	return nil
}

// CatchUp waits until Behind returns nil. If ctx ends first, it returns the last error
// of Behind; if the directory is damaged, ErrDamaged.
func (s *Server) CatchUp(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if err := s.log.fatal(); err != nil {
			return err
		}
		err := s.Behind()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("embedded NATS server lags: %w (%w)", err, ctx.Err())
		}
	}
}
