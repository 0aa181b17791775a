package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/memory"
)

// limiterTimeout is how long a request waits at a limiter.
const limiterTimeout = 10 * time.Second

// A limiter bounds how much of a resource a node uses at once. A request that
// exceeds it waits for a while and is then rejected.
type limiter struct {
	what    string // for the error text
	limit   int64
	wait    time.Duration // 0 to refuse at once
	sem     *semaphore.Weighted
	used    atomic.Int64
	refused atomic.Int64
}

func newLimiter(what string, limit int64, wait time.Duration) *limiter {
	return &limiter{what: what, limit: limit, wait: wait, sem: semaphore.NewWeighted(limit)}
}

// acquire takes n, or the whole limit if n is larger. It returns
// core.ErrUnavailable if there is no room. The caller calls release once.
func (g *limiter) acquire(ctx context.Context, n int64) (release func(), err error) {
	n = min(n, g.limit)
	if !g.sem.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(ctx, g.wait)
		defer cancel()
		if err := g.sem.Acquire(ctx, n); err != nil {
			g.refused.Add(1)
			return nil, fmt.Errorf("this node is busy (%d %s): %w", g.used.Load(), g.what, core.ErrUnavailable)
		}
	}
	g.used.Add(n)
	return func() {
		g.used.Add(-n)
		g.sem.Release(n)
	}, nil
}

func (g *limiter) bound() api.Bound {
	return api.Bound{Used: g.used.Load(), Limit: g.limit, Refused: g.refused.Load()}
}

// limiters bound what callers can make a server hold.
type limiters struct {
	requests  *shares // that are being answered, followers not counted
	followers *limiter
	feeds     *limiter // followers of several sessions: each has the broker watch shards for it
	heavy     *limiter // answers that are built whole before they are sent
	dry       *limiter // dry runs: each loads the session for itself

	memory *memory.Budget // sessions, bodies larger than 1 MiB, and answers
	small  *memory.Budget // bodies up to 1 MiB
	sent   *memory.Budget // records on their way to followers
}

// smallBody is the size up to which a body counts as small: many large bodies do
// not delay small appends.
const smallBody = 1 << 20

// maxRequests is how many requests a node answers at a time.
const maxRequests = 1000

// newLimiters returns limiters with two small budgets beside b, so that those that use
// it up delay neither small appends nor followers.
func newLimiters(b *memory.Budget) limiters {
	_, bytes, _ := b.Stats()
	return limiters{
		requests:  newShares(newLimiter("requests", maxRequests, 0)),
		followers: newLimiter("followers", 1000, 0),
		feeds:     newLimiter("followers of several sessions", 50, 0),
		heavy:     newLimiter("answers being built", 32, limiterTimeout),
		dry:       newLimiter("dry runs", 4, limiterTimeout),
		memory:    b,
		small:     memory.NewBudget("small bodies", bytes/6),
		sent:      memory.NewBudget("records for followers", bytes/6),
	}
}

func (g limiters) bounds() map[string]api.Bound {
	return map[string]api.Bound{
		"requests": g.requests.bound(), "followers": g.followers.bound(), "feeds": g.feeds.bound(),
		"memory": boundOf(g.memory), "smallBytes": boundOf(g.small), "followerBytes": boundOf(g.sent),
		"heavy": g.heavy.bound(), "dry": g.dry.bound(),
	}
}

func boundOf(b *memory.Budget) api.Bound {
	used, limit, refused := b.Stats()
	return api.Bound{Used: used, Limit: limit, Refused: refused}
}

// holding answers with h while the sessions that it opens, and the blobs and rows that
// it reads, count against the node's memory.
func (s *Server) holding(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, end := s.cfg.Cache.Pin(r.Context())
		defer end()
		if rt := s.routeOf(r); rt.about == inPath || rt.about == within || rt.scope == access.Share { // others read one session after the other
			lease := s.limiters.memory.Lease()
			defer lease.Release()
			ctx = memory.With(ctx, lease)
		}
		return h(w, r.WithContext(ctx))
	}
}

// limited answers with h after it acquired a slot of g.
func limited(g *limiter, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		release, err := g.acquire(r.Context(), 1)
		if err != nil {
			return err
		}
		defer release()
		return h(w, r)
	}
}

// A shares divides a limiter among callers. A caller may use no more than what is
// free, so a single one gets at most half, and there is always room for another.
// Part of the limit is kept for callers with scope admin.
type shares struct {
	*limiter
	reserve int64

	mu sync.Mutex
	of map[string]int64 // what each caller uses
}

func newShares(l *limiter) *shares {
	return &shares{limiter: l, reserve: l.limit / 20, of: map[string]int64{}}
}

// acquire takes one for a caller. It returns core.ErrUnavailable if the caller has
// its share. The caller calls release once.
func (s *shares) acquire(caller string, isAdmin bool) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.limit - s.used.Load()
	if !isAdmin {
		free -= s.reserve
	}
	if s.of[caller] >= free {
		s.refused.Add(1)
		return nil, fmt.Errorf("this node is busy (%d %s, %d of this caller): %w", s.used.Load(), s.what, s.of[caller], core.ErrUnavailable)
	}
	s.used.Add(1)
	s.of[caller]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used.Add(-1)
		if s.of[caller]--; s.of[caller] == 0 {
			delete(s.of, caller)
		}
	}, nil
}

// full returns why only admins' requests are admitted, or nil.
func (s *shares) full() error {
	if used := s.used.Load(); used >= s.limit-s.reserve {
		return fmt.Errorf("this node is busy (%d %s)", used, s.what)
	}
	return nil
}

// shared answers with h after the caller got one of its share.
func (s *Server) shared(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		who := callerOf(r.Context())
		release, err := s.limiters.requests.acquire(who.account(r), who.isTrusted(r))
		if err != nil {
			return err
		}
		defer release()
		return h(w, r)
	}
}

// account names the caller that shares are counted for: its token or, if several
// clients use the same one from the node's configuration or none, the address.
func (c caller) account(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return cmp.Or(c.id, c.name+" "+host)
}

// isTrusted reports whether the caller has proved to be an admin, or is this node.
func (c caller) isTrusted(r *http.Request) bool {
	return isInproc(r.Context()) || c.name != "" && c.Scope == access.Admin
}
