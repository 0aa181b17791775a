package embeddedtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream/embedded"
)

// startTimeout bounds the start of a cluster.
const startTimeout = time.Minute

// Start returns a single server that is ready. It has no TCP listener.
func Start(tb testing.TB) *embedded.Server {
	tb.Helper()
	s, err := embedded.Start(tb.Context(), embedded.Config{Dir: tb.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	closeAtEnd(tb, s)
	return s
}

// StartCluster returns n servers, named n0, n1 and so on, that form one cluster.
// All are ready and streams of up to n replicas can be made at once.
func StartCluster(tb testing.TB, n int) []*embedded.Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	for {
		servers, err := startAll(ctx, Configs(tb, n))
		if err == nil {
			closeAtEnd(tb, servers...)
			if err := AwaitCluster(ctx, servers); err != nil {
				tb.Fatal(err)
			}
			return servers
		}
		// Another process may have taken a port in the meantime.
		if !strings.Contains(err.Error(), "address already in use") || ctx.Err() != nil {
			tb.Fatal(err)
		}
	}
}

// Configs returns the configurations of a cluster of n servers on free ports. It
// starts none.
func Configs(tb testing.TB, n int) []embedded.Config {
	tb.Helper()
	routes := testkit.FreeAddrs(tb, n)
	cfgs := make([]embedded.Config, n)
	for i := range cfgs {
		cfgs[i] = embedded.Config{
			Dir:     tb.TempDir(),
			Name:    fmt.Sprintf("n%d", i),
			Cluster: &embedded.Cluster{Name: "test", Listen: routes[i], Routes: routes},
			Logger:  slog.New(slog.DiscardHandler),
		}
	}
	return cfgs
}

// Restart closes s and returns its successor on the same directory, and in a
// cluster on the same address. It does not wait for a cluster to be ready.
func Restart(tb testing.TB, s *embedded.Server) *embedded.Server {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	next, err := embedded.Start(tb.Context(), s.Config())
	if err != nil {
		tb.Fatal(err)
	}
	closeAtEnd(tb, next)
	return next
}

// AwaitCluster returns when every server is ready and the leader sees them all
// online, or with an error when ctx ends.
func AwaitCluster(ctx context.Context, servers []*embedded.Server) error {
	for _, s := range servers {
		if err := s.Ready(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.Config().Name, err)
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if slices.ContainsFunc(servers, func(s *embedded.Server) bool { return len(s.Peers()) == len(servers) }) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("no leader sees all %d members online: %w", len(servers), ctx.Err())
		}
	}
}

func startAll(ctx context.Context, cfgs []embedded.Config) ([]*embedded.Server, error) {
	var servers []*embedded.Server
	for _, cfg := range cfgs {
		s, err := embedded.Start(ctx, cfg)
		if err != nil {
			return nil, errors.Join(err, closeAll(servers))
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// closeAtEnd closes the servers together, so that none waits for another.
func closeAtEnd(tb testing.TB, servers ...*embedded.Server) {
	tb.Cleanup(func() {
		if err := closeAll(servers); err != nil {
			tb.Error(err)
		}
	})
}

func closeAll(servers []*embedded.Server) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
