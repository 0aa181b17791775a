package server

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
)

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
