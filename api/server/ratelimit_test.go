package server

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
)

func TestTokenRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTokenUsage()
		l := access.Limits{Rate: 5}
		sent := func(id string) (n int) {
			for s.countRequest(id, l) == nil {
				n++
			}
			return n
		}
		if n := sent("a"); n != 5 {
			t.Errorf("the first burst was %d", n)
		}
		var e *rateError
		if err := s.countRequest("a", l); !errors.As(err, &e) || !errors.Is(err, api.ErrTooMany) || !errors.Is(err, core.ErrUnavailable) || e.after != 200*time.Millisecond {
			t.Errorf("after the burst: %v, retry after %v", err, e.after)
		}
		if n := sent("b"); n != 5 {
			t.Errorf("another token sent %d", n)
		}
		time.Sleep(200 * time.Millisecond)
		if n := sent("a"); n != 1 {
			t.Errorf("a fifth of a second later it sent %d", n)
		}
		time.Sleep(time.Hour)
		if n := sent("a"); n != 5 {
			t.Errorf("an hour later it sent %d", n)
		}
		for range 1000 {
			if err := s.countRequest("free", access.Limits{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestTokenFollowerLimit(t *testing.T) {
	t.Parallel()
	s := newTokenUsage()
	l := access.Limits{Followers: 2}
	first, err := s.addFollower("a", l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.addFollower("a", l); err != nil {
		t.Fatal(err)
	}
	if _, err := s.addFollower("a", l); !errors.Is(err, api.ErrTooMany) {
		t.Errorf("a third follower: %v", err)
	}
	if _, err := s.addFollower("b", l); err != nil {
		t.Errorf("another token's follower: %v", err)
	}
	first()
	if _, err := s.addFollower("a", l); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

func TestIdleCallersAreEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTokenUsage()
		l := access.Limits{Rate: 1, Followers: 1}
		if _, err := s.addFollower("stays", l); err != nil {
			t.Fatal(err)
		}
		for i := range 3 * maxAccounts {
			if i%(maxAccounts/2) == 0 {
				time.Sleep(2 * time.Second)
			}
			if err := s.countRequest(string(rune(i))+"x"+time.Duration(i).String(), l); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.of) > maxAccounts {
			t.Errorf("%d are remembered", len(s.of))
		}
		if _, err := s.addFollower("stays", l); !errors.Is(err, api.ErrTooMany) {
			t.Errorf("a caller with an open stream was forgotten: %v", err)
		}
	})
}
