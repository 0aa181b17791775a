package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Behind names a stream whose copy here lacks what the others have, as far as
// this server knows, and says what with it; nil where there is none. A single
// server is never behind. A member that is behind is [Server.Ready] all the
// same: it passes on what its clients want. But as long as it is, the loss of
// another member can stop what it lacks.
func (s *Server) Behind() error {
	if s.closed.Load() {
		return ErrClosed
	}
	if !s.IsClustered() {
		return nil
	}
	h := s.ns.Healthz(&server.HealthzOptions{Details: true})
	for _, e := range h.Errors {
		if e.Type == server.HealthzErrorStream {
			return fmt.Errorf("stream %s: %s", e.Stream, e.Error)
		}
	}
	return nil
}

// CatchUp waits until the server is not Behind. When ctx ends first, it returns
// what it is behind with.
func (s *Server) CatchUp(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := s.Behind()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("embedded NATS server is behind: %w (%w)", err, ctx.Err())
		}
	}
}
