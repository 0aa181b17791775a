package server

import (
	"cmp"
	"net"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/internal/limiter"
	"github.com/sesslog/sesslog/internal/memory"
)

// limiterTimeout is how long a request waits at a limiter.
const limiterTimeout = 10 * time.Second

// limiters bound what callers can make a server hold.
type limiters struct {
	requests  *limiter.Limiter // that are being answered, followers not counted
	followers *limiter.Limiter
	feeds     *limiter.Limiter // followers of several sessions: each has the broker watch shards for it
	heavy     *limiter.Limiter // answers that are built whole before they are sent
	dry       *limiter.Limiter // dry runs: each loads the session for itself

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
		requests:  limiter.New("requests", maxRequests, maxRequests/20, 0),
		followers: limiter.New("followers", 2000, 0, 0),
		feeds:     limiter.New("followers of several sessions", 50, 0, 0),
		heavy:     limiter.New("answers being built", 32, 2, limiterTimeout),
		dry:       limiter.New("dry runs", 4, 0, limiterTimeout),
		memory:    b,
		small:     memory.NewBudget("small bodies", bytes/6),
		sent:      memory.NewBudget("records for followers", bytes/6),
	}
}

func (g limiters) bounds() map[string]api.Bound {
	return map[string]api.Bound{
		"requests": boundOf(g.requests), "followers": boundOf(g.followers), "feeds": boundOf(g.feeds),
		"memory": boundOf(g.memory), "smallBytes": boundOf(g.small), "followerBytes": boundOf(g.sent),
		"heavy": boundOf(g.heavy), "dry": boundOf(g.dry),
	}
}

type bounded interface {
	Stats() (used, limit, refused int64)
}

func boundOf(b bounded) api.Bound {
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

// limited answers with h after it acquired a slot of g for the caller.
func limited(g *limiter.Limiter, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		who := callerOf(r.Context())
		release, err := g.Acquire(r.Context(), who.account(r), who.isTrusted(r))
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
