package removal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// damage removes the session's snapshots, and the records that they cover.
func (p *place) damage(t *testing.T) {
	t.Helper()
	r := p.node(t)
	upTo, err := r.coveredBy(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Log.Forget(t.Context(), session, upTo); err != nil {
		t.Fatal(err)
	}
	if _, err := r.removeSnapshots(t.Context(), session, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedSessionIsErasedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t)
	p.damage(t)
	r := p.node(t)
	if _, err := r.Erase(t.Context(), session, ada, How{Now: true}); !errors.Is(err, core.ErrCorrupt) || !strings.Contains(err.Error(), "--damaged") {
		t.Errorf("without saying so: %v", err)
	}
	got, err := r.Erase(t.Context(), session, ada, How{Damaged: true})
	if err != nil || got.Removed.Records == 0 || got.Damaged == "" || got.Erased.By != "ada" {
		t.Errorf("%+v, %v", got, err)
	}
	if left := p.left(t, "swordfish"); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
	if _, err := p.node(t).Sessions.Open(t.Context(), session); !errors.Is(err, core.ErrDeleted) || !strings.Contains(err.Error(), "erased by ada") {
		t.Errorf("it opens with %v", err)
	}
	if got, err := p.node(t).Erase(t.Context(), session, ada, How{}); err != nil || got.Removed.Records > 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// A hold is not lost with unreadable data, whether it is in the log or only in a
// checkpoint.
func TestDamagedHeldSessionIsNotErased(t *testing.T) {
	t.Parallel()
	for _, covered := range []bool{false, true} {
		p := newPlace(t)
		p.create(t)
		r := p.node(t)
		s, err := r.Cache.Fresh(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Hold(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if covered {
			if _, err := r.Materializer.Checkpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		p.damage(t)
		if _, err := p.node(t).Erase(t.Context(), session, ada, How{Damaged: true}); !errors.Is(err, core.ErrHeld) {
			t.Errorf("covered %v: %v", covered, err)
		}
		if err := s.Unhold(t.Context(), ada); err != nil { // through a node that has it in memory
			t.Fatal(err)
		}
		if _, err := p.node(t).Erase(t.Context(), session, ada, How{Damaged: true}); err != nil {
			t.Errorf("released, covered %v: %v", covered, err)
		}
	}
}

// A removal must not rely on what a broker may still lose.
func TestEraseWaitsForFlush(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(context.Context, *Remover) error{
		"erase": func(ctx context.Context, r *Remover) error {
			_, err := r.Erase(ctx, session, ada, How{Now: true})
			return err
		},
		"redact": func(ctx context.Context, r *Remover) error {
			_, err := r.Redact(ctx, session, engine.Redaction{IDs: []string{"entry-1"}, Text: "gone", Notice: ada})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.create(t)
			before := p.left(t, "swordfish")
			p.flush = time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := p.node(t)
			r.waiting = cancel // it waits
			if err := remove(ctx, r); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("given up while it waits: %v", err)
			}
			if left := p.left(t, "swordfish"); len(left) < len(before) {
				t.Errorf("there is %v, there was %v", left, before)
			}
			p.flush = time.Millisecond
			if err := remove(t.Context(), p.node(t)); err != nil {
				t.Fatal(err)
			}
			if left := p.left(t, "swordfish"); len(left) >= len(before) {
				t.Errorf("there is still %v", left)
			}
		})
	}
}
