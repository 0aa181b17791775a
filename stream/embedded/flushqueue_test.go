package embedded

import (
	"errors"
	"testing"
)

func TestFlushQueue(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk error")
	// A step is an action on the queue, and the durable position after it.
	type step struct {
		do      func(t *testing.T, q *flushQueue)
		flushed uint64
	}
	ask := func(pos uint64) func(*testing.T, *flushQueue) {
		return func(t *testing.T, q *flushQueue) {
			if f, err := q.ask(pos); f == nil || err != nil {
				t.Errorf("ask(%d) = %v, %v; want a flush", pos, f, err)
			}
		}
	}
	durable := func(pos uint64) func(*testing.T, *flushQueue) {
		return func(t *testing.T, q *flushQueue) {
			if f, err := q.ask(pos); f != nil || err != nil {
				t.Errorf("ask(%d) = %v, %v; want nothing to wait for", pos, f, err)
			}
		}
	}
	failed := func(pos uint64) func(*testing.T, *flushQueue) {
		return func(t *testing.T, q *flushQueue) {
			if f, err := q.ask(pos); f != nil || !errors.Is(err, broken) {
				t.Errorf("ask(%d) = %v, %v; want the error", pos, f, err)
			}
		}
	}
	begin := func(t *testing.T, q *flushQueue) {
		if q.begin() == nil {
			t.Error("there is nothing to flush")
		}
	}
	idle := func(t *testing.T, q *flushQueue) {
		if q.begin() != nil {
			t.Error("a flush begins")
		}
	}
	end := func(err error) func(*testing.T, *flushQueue) {
		return func(_ *testing.T, q *flushQueue) { q.end(err) }
	}
	tests := map[string][]step{
		"nothing is flushed unasked":                          {{idle, 0}},
		"a flush covers all that asked before it began":       {{ask(3), 0}, {ask(5), 0}, {ask(4), 0}, {begin, 0}, {end(nil), 5}, {durable(5), 5}, {idle, 5}},
		"a flush does not cover what asks while it runs":      {{ask(3), 0}, {begin, 0}, {ask(4), 0}, {end(nil), 3}, {begin, 3}, {end(nil), 4}},
		"a lower position waits for the next flush, too":      {{ask(5), 0}, {begin, 0}, {ask(4), 0}, {end(nil), 5}, {durable(4), 5}, {begin, 5}, {end(nil), 5}},
		"one flush runs at a time":                            {{ask(3), 0}, {begin, 0}, {ask(4), 0}, {idle, 0}, {end(nil), 3}},
		"position 0 always waits":                             {{ask(9), 0}, {begin, 0}, {end(nil), 9}, {ask(0), 9}, {begin, 9}, {end(nil), 9}},
		"after a failure nothing more is durable":             {{ask(3), 0}, {begin, 0}, {end(broken), 0}, {failed(3), 0}, {failed(0), 0}, {idle, 0}},
		"a failure ends those that wait for the next flush":   {{ask(3), 0}, {begin, 0}, {ask(4), 0}, {end(broken), 0}, {idle, 0}},
		"what was durable before a failure can still be read": {{ask(3), 0}, {begin, 0}, {end(nil), 3}, {ask(4), 3}, {begin, 3}, {end(broken), 3}, {durable(3), 3}, {failed(4), 3}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var q flushQueue
			for i, s := range steps {
				s.do(t, &q)
				if q.flushed != s.flushed {
					t.Fatalf("after step %d, %d is durable, want %d", i, q.flushed, s.flushed)
				}
			}
		})
	}
}

func TestFlushQueueTellsWaiters(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk error")
	var q flushQueue
	first, _ := q.ask(1)
	q.begin()
	second, _ := q.ask(2)
	q.end(broken)
	for i, f := range []*flush{first, second} {
		select {
		case <-f.done:
			if !errors.Is(f.err, broken) {
				t.Errorf("flush %d ended with %v", i, f.err)
			}
		default:
			t.Errorf("flush %d has not ended", i)
		}
	}
}
