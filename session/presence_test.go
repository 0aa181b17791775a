package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A recorder records heartbeats, and answers each with an error.
type recorder struct {
	mu    sync.Mutex
	heard []session.Presence
	left  []string
}

func (e *recorder) announcer() *session.Announcer {
	return &session.Announcer{Heartbeat: e.beat, Leave: e.leave}
}

func (e *recorder) beat(_ context.Context, p session.Presence) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, p)
	return errors.New("not received")
}

func (e *recorder) leave(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = append(e.left, id)
	return nil
}

// all returns what was recorded once all goroutines are blocked.
func (e *recorder) all() (heard []session.Presence, left []string) {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heard), slices.Clone(e.left)
}

// Heartbeats are sent while the process has claims, whether or not single ones
// arrive; after the last claim the process leaves.
func TestAnnouncerSendsHeartbeatsWhileThereAreClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var e recorder
		h := e.announcer()
		for round := range 2 {
			before, _ := e.all()
			h.Add("session-1", "main", core.Claim{Agent: "pi", Host: "laptop", Writer: "writer-1"})
			e.all()
			h.Add("session-2", "side", core.Claim{Agent: "pi", Writer: "writer-2"})
			heard, _ := e.all()
			heard = heard[len(before):]
			if len(heard) != 2 || len(heard[0].Holds) != 1 || len(heard[1].Holds) != 2 || heard[1].Host != "laptop" || heard[1].Check() != nil {
				t.Fatalf("round %d: heard %+v", round, heard)
			}
			time.Sleep(session.SilentAfter)
			if later, _ := e.all(); len(later) < len(before)+4 {
				t.Errorf("round %d: heard %d times in %v", round, len(later)-len(before), session.SilentAfter)
			}
			h.Drop(t.Context(), "writer-1")
			later, left := e.all()
			if last := later[len(later)-1]; len(last.Holds) != 1 || last.Holds[0].Writer != "writer-2" || len(left) > round {
				t.Errorf("round %d: heard %+v, left %v", round, last, left)
			}
			h.Drop(t.Context(), "writer-2")
			if _, left = e.all(); len(left) != round+1 || left[round] != heard[0].ID {
				t.Errorf("round %d: left %v", round, left)
			}
			h.Drop(t.Context(), "writer-2") // again
		}
	})
}

func TestAnnouncerListsLatestClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var e recorder
		h := e.announcer()
		for i := range session.MaxHolds + 10 {
			h.Add("session-1", "main", core.Claim{Writer: fmt.Sprintf("writer-%d", i)})
		}
		heard, _ := e.all()
		last := heard[len(heard)-1]
		if n := len(last.Holds); n != session.MaxHolds || last.Holds[n-1].Writer != "writer-73" || last.Check() != nil {
			t.Errorf("it lists %d claims, the last %+v", n, last.Holds[n-1])
		}
		if last.More != 10 {
			t.Errorf("More is %d", last.More)
		}
		for i := range session.MaxHolds {
			h.Drop(t.Context(), fmt.Sprintf("writer-%d", i+10))
		}
		heard, _ = e.all() // the older ones are listed again
		if last := heard[len(heard)-1]; len(last.Holds) != 10 || last.Holds[0].Writer != "writer-0" || last.More != 0 {
			t.Errorf("it lists %+v and %d more", last.Holds, last.More)
		}
		for i := range 10 {
			h.Drop(t.Context(), fmt.Sprintf("writer-%d", i))
		}
	})
}
