package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
)

// maxAccounts bounds how many tokens a node keeps accounts of. Idle ones are
// dropped first, which costs at most one second's worth of requests in excess.
const maxAccounts = 20_000

// tokenUsage is what the callers of each token use of this node.
type tokenUsage struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]*account // by the token's id
}

type account struct {
	left      float64 // requests that may come at once
	at        time.Time
	followers int
}

// A rateError is a request that exceeds a token's limits.
type rateError struct {
	text  string
	after time.Duration // until another may come
}

func (e *rateError) Error() string { return e.text }

func (e *rateError) Unwrap() error { return api.ErrTooMany }

func newTokenUsage() *tokenUsage {
	return &tokenUsage{now: time.Now, of: map[string]*account{}}
}

// countRequest counts a request of the token called id. It returns a *rateError
// if the rate is exceeded.
func (u *tokenUsage) countRequest(id string, l access.Limits) error {
	if l.Rate == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.account(id)
	now, rate := u.now(), float64(l.Rate)
	if a.at.IsZero() {
		a.left = rate
	}
	a.left = min(rate, a.left+max(now.Sub(a.at).Seconds(), 0)*rate)
	a.at = now
	if a.left < 1 {
		wait := time.Duration((1 - a.left) / rate * float64(time.Second))
		return &rateError{fmt.Sprintf("this token may send %d requests a second to a node", l.Rate), wait}
	}
	a.left--
	return nil
}

// addFollower counts a stream of events of the token called id until done is
// called. It returns a *rateError if the token has as many as it may.
func (u *tokenUsage) addFollower(id string, l access.Limits) (done func(), err error) {
	if l.Followers == 0 {
		return func() {}, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.account(id)
	if a.followers >= l.Followers {
		return nil, &rateError{fmt.Sprintf("this token may have %d streams of events open at a node, and has", l.Followers), time.Second}
	}
	a.followers++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		a.followers--
	}, nil
}

// account returns the account of the token called id. The caller holds the lock.
func (u *tokenUsage) account(id string) *account {
	a := u.of[id]
	if a != nil {
		return a
	}
	if len(u.of) >= maxAccounts {
		for id, old := range u.of {
			if old.followers == 0 && u.now().Sub(old.at) > time.Second {
				delete(u.of, id)
			}
		}
	}
	a = &account{}
	u.of[id] = a
	return a
}

// setRetryAfter sets the header Retry-After, in whole seconds, for a *rateError and
// for what is not available now.
func setRetryAfter(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*rateError](err); ok {
		seconds := int64((e.after + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	} else if errors.Is(err, core.ErrUnavailable) {
		w.Header().Set("Retry-After", "1")
	}
}

// recheckInterval is how often the token of a follower is checked.
const recheckInterval = 500 * time.Millisecond

// following answers with h, counted as one of the caller's followers, while its
// token is valid.
func (s *Server) following(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		who := callerOf(r.Context())
		done, err := s.usage.addFollower(who.id, who.Limits)
		if err != nil {
			return err
		}
		defer done()
		if who.id == "" {
			return h(w, r)
		}
		ctx, cancel := s.whileAuthorized(r)
		defer cancel()
		return h(w, r.WithContext(ctx))
	}
}
