package server

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func TestLimiterRejectsAboveLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLimiter("things", 10, 5*time.Second)
		first, err := g.acquire(t.Context(), 6)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := g.acquire(t.Context(), 5); !errors.Is(err, core.ErrUnavailable) || time.Since(began) != 5*time.Second {
			t.Errorf("acquire above the limit, after %v: %v", time.Since(began), err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			second, err := g.acquire(t.Context(), 1000) // the whole limit
			if err != nil {
				t.Errorf("acquire after a release: %v", err)
				return
			}
			second()
		})
		time.Sleep(time.Second)
		first()
		wg.Wait()
		if b := g.bound(); b != (api.Bound{Used: 0, Limit: 10, Refused: 1}) {
			t.Errorf("at the end: %+v", b)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		all, _ := g.acquire(t.Context(), 10)
		if _, err := g.acquire(ended, 1); !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("a canceled caller: %v", err)
		}
		all()
	})
}
