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

func TestATokenHasItsRateAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSpending()
		l := access.Limits{Rate: 5}
		sent := func(id string) (n int) {
			for s.request(id, l) == nil {
				n++
			}
			return n
		}
		if n := sent("a"); n != 5 {
			t.Errorf("at once it sent %d", n)
		}
		var e *tooMany
		if err := s.request("a", l); !errors.As(err, &e) || !errors.Is(err, api.ErrTooMany) || !errors.Is(err, core.ErrUnavailable) || e.after != 200*time.Millisecond {
			t.Errorf("then: %v, again after %v", err, e.after)
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
			if err := s.request("free", access.Limits{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestATokenHasSoManyFollowers(t *testing.T) {
	t.Parallel()
	s := newSpending()
	l := access.Limits{Followers: 2}
	first, err := s.follow("a", l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.follow("a", l); err != nil {
		t.Fatal(err)
	}
	if _, err := s.follow("a", l); !errors.Is(err, api.ErrTooMany) {
		t.Errorf("a third: %v", err)
	}
	if _, err := s.follow("b", l); err != nil {
		t.Errorf("another token's: %v", err)
	}
	first()
	if _, err := s.follow("a", l); err != nil {
		t.Errorf("when one has gone: %v", err)
	}
}

func TestCallersThatAreNotHeardOfAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSpending()
		l := access.Limits{Rate: 1, Followers: 1}
		if _, err := s.follow("stays", l); err != nil {
			t.Fatal(err)
		}
		for i := range 3 * maxSpending {
			if i%(maxSpending/2) == 0 {
				time.Sleep(2 * time.Second)
			}
			if err := s.request(string(rune(i))+"x"+time.Duration(i).String(), l); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.of) > maxSpending {
			t.Errorf("%d are remembered", len(s.of))
		}
		if _, err := s.follow("stays", l); !errors.Is(err, api.ErrTooMany) {
			t.Errorf("one with a stream open was forgotten: %v", err)
		}
	})
}
